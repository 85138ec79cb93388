"""Policies that were trained with action masks: no masked action is ever taken or repeated."""

import base64
import json
import pickle
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from policy_inertia import (
    InputError,
    Limit,
    Policy,
    SmoothActions,
    evaluate,
    export,
    export_c,
    export_numpy,
    load_core,
    smooth,
)
from policy_inertia.evaluation.recording import record
from policy_inertia.interop.numpy_runtime import Policy as NumpyPolicy
from policy_inertia.policies.cores import Core
from policy_inertia.smoothing.vec_smooth_actions import VecSmoothActions
from tests.support import probes
from tests.support.masked_env import Doors
from tests.support.sb3_zips import data_of, with_data

Masked = tuple[Any, Path]


@pytest.fixture(scope="module")
def maskable(tmp_path_factory: pytest.TempPathFactory) -> Masked:
    """A live MaskablePPO that sb3-contrib trained for a few hundred steps, and its zip."""
    from sb3_contrib import MaskablePPO

    model = MaskablePPO("MlpPolicy", Doors(), device="cpu", seed=0, n_steps=128, n_epochs=4)
    path = tmp_path_factory.mktemp("maskable") / "doors.zip"
    model.learn(400).save(path)
    return model, path


@pytest.fixture(scope="module")
def core(maskable: Masked) -> Core:
    return load_core(maskable[1], Doors)


def actions_of(policy: Any, episodes: int = 5) -> list[list[int]]:
    """Greedy actions; `Doors` raises where one of them is masked."""
    return [e.actions.tolist() for e in evaluate(policy, Doors, episodes, 0, True).episodes]


@pytest.mark.parametrize("which", [0, 1])
def test_core_acts_as_sb3_contrib_does(maskable: Masked, which: int) -> None:
    core = load_core(maskable[which], Doors)
    assert core.masked
    assert core.layers is not None
    assert actions_of(core) == actions_of(maskable[0])


def test_sampled_actions_are_allowed(core: Core) -> None:
    assert len(evaluate(core, Doors, 10).episodes) == 10  # `Doors` raises at a closed door


def test_hysteresis_repeats_no_masked_action(core: Core) -> None:
    stubborn = core.with_hysteresis(np.inf)  # it switches only where it must
    assert 0 < sum(map(_switches, actions_of(stubborn))) < sum(map(_switches, actions_of(core)))


def test_limit_gives_way_to_the_mask_and_the_switches_are_counted(core: Core) -> None:
    limited = core.with_limit(0.0, 1)
    episodes = evaluate(limited, Doors, 5, 0, True).episodes
    assert [e.forced for e in episodes] == [max(e.switches - 1, 0) for e in episodes]
    summary = evaluate(limited, Doors, 5, 0, True).summary()
    assert summary["forced_switches"] == np.mean([e.forced for e in episodes])
    assert evaluate(core, Doors, 5, 0, True).summary()["forced_switches"] is None


def test_forced_switch_takes_what_is_left_and_no_more(core: Core) -> None:
    limited = core.with_limit(0.25, 1)
    obs, only = np.zeros((1, 5), np.float32), np.eye(4, dtype=bool)
    state, tokens = None, []
    for door in (0, 1, 2, 2, 2):
        action, state = limited.predict(obs, state, None, True, action_masks=only[door])
        assert action == [door]
        tokens.append(int(state["tokens"][0]))
    assert tokens == [1_000_000, 250_000, 250_000, 500_000, 750_000]
    assert state is not None
    assert state["forced_switches"] == [1]


def test_mask_that_allows_nothing_allows_all(core: Core) -> None:
    obs = np.zeros((2, 5), np.float32)
    nothing = core.probabilities(obs, np.zeros((2, 4), bool))
    np.testing.assert_array_equal(nothing, core.probabilities(obs))


CONTROLLERS: dict[str, dict[str, Any]] = {"dial": {}, "limit": {"limit": (0.1, 2)}, "mu": {"mu": 1}}


@pytest.fixture(scope="module")
def controller(
    core: Core, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Any, Policy]]:
    """`controller("dial")` gives the result of `smooth` and the controller that it trained."""
    done: dict[str, tuple[Any, Policy]] = {}

    def get(name: str) -> tuple[Any, Policy]:
        if name not in done:
            result = smooth(
                core,
                Doors,
                steps=200,
                train=True,
                episodes=4,
                calibration_episodes=2,
                out=tmp_path_factory.mktemp(name) / "out",
                **CONTROLLERS[name],
            )
            done[name] = result, result.candidates["controller"].policy
        return done[name]

    return get


@pytest.mark.parametrize("name", CONTROLLERS)
def test_controllers_train_and_act_within_the_masks(
    controller: Callable[[str], tuple[Any, Policy]], tmp_path: Path, name: str
) -> None:
    result, policy = controller(name)
    policy.save(tmp_path / "policy.safetensors")
    again = Policy.load(tmp_path / "policy.safetensors")
    assert again.masked
    assert actions_of(again) == actions_of(policy)
    forced = result.limit is not None
    assert ("that action masks forced" in str(result)) == forced
    assert len(record(again, Doors, frames=False)) == 1


@pytest.mark.parametrize("name", ["core", "hysteresis", "bucket", *CONTROLLERS])
def test_exported_files_take_the_same_actions_over_whole_episodes(
    core: Core, controller: Callable[[str], tuple[Any, Policy]], tmp_path: Path, name: str
) -> None:
    plain = {
        "core": core,
        "hysteresis": core.with_hysteresis(0.3),
        "bucket": core.with_hysteresis(0.1).with_limit(0.05, 1),
    }
    policy = plain[name] if name in plain else controller(name)[1]
    export(policy, tmp_path / "policy.onnx")
    export_numpy(policy, tmp_path / "policy.npz")
    session = onnxruntime.InferenceSession(tmp_path / "policy.onnx")
    assert [i.name for i in session.get_inputs()][:2] == ["observation", "action_masks"]
    outputs = [o.name for o in session.get_outputs()]
    names = [i.name for i in session.get_inputs()][2:]
    in_numpy, env = NumpyPolicy(str(tmp_path / "policy.npz")), Doors()
    for seed in range(3):
        obs, _ = env.reset(seed=seed)
        state, done = None, False
        memory = {field: np.full(1, -1 if field == "previous_action" else 0) for field in names}
        in_numpy.reset()
        while not done:
            mask = env.action_masks()
            action, state = policy.predict(obs, state, None, True, action_masks=mask)
            feed = {"observation": obs[None], "action_masks": mask[None], **memory}
            values = dict(zip(outputs, session.run(outputs, feed), strict=True))
            assert values["action"] == [action]
            assert in_numpy.act(obs, mask=mask) == action
            memory = {f: values["action" if f == "previous_action" else f"next_{f}"] for f in names}
            assert all((memory[f] == state[f]).all() for f in names)
            obs, _, terminated, truncated, _ = env.step(action)
            done = terminated or truncated


def test_wrapped_envs_repeat_no_masked_action(core: Core) -> None:
    doors = Doors()
    env = SmoothActions(doors, core, hysteresis=np.inf, limit=Limit(0, 1))
    _, _ = env.reset(seed=0)
    done, rng, switches, previous = False, np.random.default_rng(0), 0, -1
    while not done:  # `Doors` raises where a masked action is repeated
        agent = int(rng.choice(np.flatnonzero(doors.action_masks())))
        _, _, terminated, truncated, info = env.step(agent)
        switches += previous not in (-1, info["action_taken"])
        previous, done = info["action_taken"], terminated or truncated
    assert 1 < switches < 19


def test_vectorised_envs_repeat_no_masked_action() -> None:
    from stable_baselines3.common.vec_env import DummyVecEnv

    inner = DummyVecEnv([Doors, Doors])
    env, rng = VecSmoothActions(inner, limit=Limit(0, 1)), np.random.default_rng(0)
    env.seed(0)
    env.reset()
    for _ in range(45):
        masks = np.stack(inner.env_method("action_masks"))
        env.step(np.array([rng.choice(np.flatnonzero(row)) for row in masks]))


def test_any_core_can_be_masked() -> None:
    def last_door(obs: np.ndarray) -> np.ndarray:
        return np.full(len(obs), 3)

    masked = load_core(last_door, Doors, masks=True)
    assert len(actions_of(masked)) == 5
    with pytest.raises(ValueError, match="door 3 is closed"):
        evaluate(load_core(last_door, Doors), Doors, 5)


def test_what_cannot_be_masked_says_so(core: Core, tmp_path: Path) -> None:
    class NoMasks(Doors):
        action_masks = None  # type: ignore[assignment]

    with pytest.raises(InputError, match=r"NoMasks does not say which are: give it a method"):
        evaluate(core, NoMasks, 1)
    with pytest.raises(InputError, match=r"masks have shape \(3,\) and type bool: doors.zip expec"):
        core.predict(np.zeros(5), action_masks=np.ones(3, bool))
    with pytest.raises(InputError, match="which C files do not know: export it as ONNX"):
        export_c(core, tmp_path / "policy.c")
    plain = load_core(lambda obs: np.zeros(len(obs)), probes.Repeat)
    with pytest.raises(InputError, match="was trained without action masks"):
        plain.predict(np.zeros(1), action_masks=np.ones(2, bool))


def test_poisoned_zip_runs_nothing(maskable: Masked, tmp_path: Path) -> None:
    target = tmp_path / "poisoned"
    poison = base64.b64encode(pickle.dumps(_Poison(target))).decode()
    data = data_of(maskable[1])
    for value in data.values():
        if isinstance(value, dict) and ":serialized:" in value:
            value[":serialized:"] = poison
    bad = with_data(maskable[1], tmp_path / "bad.zip", data)
    assert poison in json.dumps(data)
    assert actions_of(load_core(bad, Doors)) == actions_of(maskable[0])
    assert not target.exists()


class _Poison:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return Path.write_text, (self.target, "poisoned")


def _switches(actions: list[int]) -> int:
    return sum(a != b for a, b in pairwise(actions))
