"""The games and their ROMs: names, options, and one sentence for each error."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia.envs.atari import PAPER, GameEnv, GameVectorEnv, games, roms
from policy_inertia.envs.making import make_env, make_vector
from policy_inertia.envs.registry import TASKS
from policy_inertia.errors import InputError
from policy_inertia.run_settings import settings


def test_the_papers_games_are_tasks_and_every_rom_has_a_name() -> None:
    assert {f"policy_inertia/{name}-v0" for name in PAPER} < set(TASKS)
    assert PAPER.items() < games().items()
    assert len(games()) == 104
    assert {f"policy_inertia/{name}-v0" for name in games()} < set(gym.registry)
    assert games()["Breakout"] == "breakout"
    assert games()["TicTacToe3D"] == "tic_tac_toe_3d"


@pytest.mark.slow
def test_every_game_can_be_played() -> None:
    for name in games():
        env: Any = make_env(f"policy_inertia/{name}-v0", {"render_mode": "rgb_array"})
        env.reset(seed=0)
        obs, *_ = env.step(0)
        assert obs.shape == (4, 84, 84), name
        assert env.render().shape[1:] == (160, 3), name
        env.close()


def test_an_id_of_ale_py_is_our_game_with_sticky_actions() -> None:
    env: Any = make_env("ALE/Jamesbond-v5")
    assert env.spec.id == "policy_inertia/JamesBond-v0"
    assert env.spec.kwargs["repeat_action_probability"] == 0.25
    env = make_env("ALE/Jamesbond-v5", {"repeat_action_probability": 0.0})
    assert env.spec.kwargs == {"game": "jamesbond", "repeat_action_probability": 0.0}
    vector, spaces = make_vector("ALE/Jamesbond-v5", 2)
    assert isinstance(vector.unwrapped, GameVectorEnv)
    assert vector.unwrapped.options.repeat_action_probability == 0.25
    assert spaces.obs_shape == (4, 84, 84)


@pytest.mark.parametrize(
    "env", ["policy_inertia/Qbert-v0", "policy_inertia/Pong-v0", "ALE/Pong-v5"]
)
def test_games_are_evaluated_by_their_scores_whatever_training_uses(env: str) -> None:
    tricks = {"reward_clipping": True, "episodic_life": True, "noop_max": 5}
    run = settings("dqn", env, env_kwargs=tricks)
    assert run.env_kwargs == tricks
    assert run.test_kwargs == {"reward_clipping": False, "episodic_life": False, "noop_max": 5}
    assert settings("dqn", "CartPole-v1").test_kwargs == {}


@pytest.mark.parametrize(
    ("env", "kwargs", "says"),
    [
        ("policy_inertia/Brekout-v0", {}, "did you mean 'policy_inertia/Breakout-v0'"),
        ("policy_inertia/Jamesbond-v0", {}, "did you mean 'policy_inertia/JamesBond-v0'"),
        ("Breakout-v5", {}, "did you mean 'ALE/Breakout-v5'"),
        ("ALE/JamesBond-v5", {}, "did you mean 'ALE/Jamesbond-v5'"),
        ("ALE/Combat-v5", {}, "there is no env 'ALE/Combat-v5'"),
        ("policy_inertia/Pong-v0", {"stiky": 0.1}, "no option 'stiky'"),
        ("policy_inertia/Pong-v0", {"frame_skip": 4}, "did you mean 'frameskip'"),
        ("policy_inertia/Pong-v0", {"frameskip": 0}, "frameskip is 0: it must be from 1 to 1000"),
        ("policy_inertia/Pong-v0", {"frameskip": (2, 5)}, r"frameskip is \(2, 5\).*whole number"),
        ("policy_inertia/Pong-v0", {"stack": True}, "stack is True: it must be a whole number"),
        ("policy_inertia/Pong-v0", {"noop_max": -1}, "noop_max is -1: it must be from 0 to"),
        ("policy_inertia/Pong-v0", {"episodic_life": "no"}, "episodic_life is 'no'.*True or False"),
        ("policy_inertia/Pong-v0", {"repeat_action_probability": 1}, "from 0 to"),
        ("policy_inertia/Pong-v0", {"repeat_action_probability": np.nan}, "from 0 to"),
        ("policy_inertia/Pong-v0", {"repeat_action_probability": "a lot"}, "a number"),
        ("policy_inertia/Pong-v0", {"game": "pongg"}, "no game 'pongg': did you mean 'pong'"),
        ("policy_inertia/Pong-v0", {"game": "combat"}, "there is no game 'combat'"),
    ],
)
def test_a_wrong_name_or_option_is_refused_in_one_sentence(
    env: str, kwargs: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says) as caught:
        make_vector(env, 2, kwargs)
    assert "\n" not in str(caught.value)


def test_a_missing_or_damaged_rom_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALE_ROMS_DIR", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"ROM of qbert cannot be read.*install ale-py again"):
        GameEnv("qbert")
    monkeypatch.setenv("ALE_ROMS_DIR", str(tmp_path))
    with pytest.raises(InputError, match=r"ROM of qbert cannot be read \(.*No such file"):
        GameEnv("qbert")
    (tmp_path / "qbert.bin").write_bytes(b"not a game")
    with pytest.raises(InputError, match=r"ROM of qbert cannot be read \(The hash") as caught:
        GameEnv("qbert")
    assert "\n" not in str(caught.value)


def test_an_old_ale_py_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    roms.library.cache_clear()
    with monkeypatch.context() as context:
        context.setattr(roms, "version", lambda name: "0.11.2")
        with pytest.raises(InputError, match=r"ale-py 0\.12\.1 or later, found 0\.11\.2"):
            roms.library()
    roms.library()


WITHOUT = """
import sys
sys.modules["ale_py"] = None  # as if it were not installed
from policy_inertia.envs.making import make_vector
from policy_inertia.envs.registry import TASKS
from policy_inertia.errors import InputError
for name in sys.argv[1:]:
    try:
        make_vector(name, 2)
    except InputError as error:
        print(error)
"""


def test_without_ale_py_the_error_says_what_to_install() -> None:
    names = ["policy_inertia/Qbert-v0", "ALE/Pong-v5", "policy_inertia/Pong-v0"]
    process = subprocess.run(
        [sys.executable, "-c", WITHOUT, *names], capture_output=True, text=True, check=True
    )
    lines = process.stdout.splitlines()
    needs = "Atari games need ale-py: pip install 'policy-inertia[atari]'"
    assert lines[:2] == [needs, needs]
    assert "there is no env 'policy_inertia/Pong-v0'" in lines[2]
    assert "known with ale-py only: pip install 'policy-inertia[atari]'" in lines[2]
    assert len(lines) == 3
