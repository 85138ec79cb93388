import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from tensorboardX.proto.event_pb2 import Event

from policy_inertia import InputError, Policy, train
from policy_inertia.run_settings import RunConfig, settings
from policy_inertia.training.loggers import SB3_TAGS, read_metrics
from policy_inertia.training.loop import run
from tests.support import probes
from tests.support.runs import SHORT, contents, flip_bit, newest


def test_same_seed_same_bits_and_another_seed_others(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train("nsac", "CartPole-v1", tmp_path / name, seed=seed, **SHORT)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert contents(tmp_path / "a") != contents(tmp_path / "c")


def test_run_folder_holds_what_it_should(tmp_path: Path) -> None:
    out = tmp_path / "run"
    policy = train("nsac", "CartPole-v1", out, **SHORT)
    about = json.loads((out / "run.json").read_text())
    assert RunConfig.from_dict(about["config"]).steps == 2_000
    assert about["versions"]["jax"] == jax.__version__
    records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [r["step"] for r in records] == [0, 504, 1_000, 1_504, 2_000]
    expected = {
        "eval/return",
        "eval/length",
        "eval/oscillation_ratio",
        "eval/switch_mixed_minus_core",
        "rollout/return",
        "rollout/length",
        "eval/mu_mean",
        "eval/mu_under_0.05",
        "eval/mu_over_0.95",
        "train/updates",
        "train/critic_loss",
        "train/pic_loss",
    }
    assert expected <= records[-1].keys()
    result = json.loads((out / "result.json").read_text())
    assert {"sampled", "greedy", "core"} <= result.keys()
    again = Policy.load(out)
    obs = np.ones((3, 4), np.float32)
    np.testing.assert_array_equal(again.probabilities(obs, 0), policy.probabilities(obs, 0))
    tags = {SB3_TAGS.get(name, name) for name in expected}
    assert "eval/mean_reward" in tags
    assert tensorboard_tags(out) >= tags | {"time/fps", "time/total_timesteps"}


def test_dial_is_looked_at_in_three_places_and_calibrated_at_the_end(tmp_path: Path) -> None:
    policy = train("dial-dqn", "CartPole-v1", tmp_path / "r", **SHORT, calibration_episodes=2)
    last = json.loads((tmp_path / "r" / "metrics.jsonl").read_text().splitlines()[-1])
    places = [f"_at_{share}" for share in ("0", "0.1", "1")]
    expected = {f"dial/{name}{p}" for p in places for name in ("return", "oscillation_ratio")}
    assert expected | {"dial/largest_price"} <= last.keys()
    assert last["dial/largest_price"] == policy.largest_price
    assert policy.largest_price is not None
    assert policy.largest_price > 0
    assert expected <= tensorboard_tags(tmp_path / "r")
    table = Policy.load(tmp_path / "r").calibration
    assert table == policy.calibration
    assert (table.setting_name, table.episodes) == ("price", 2)
    settings = [row.setting for row in table.rows]
    assert -policy.largest_price in settings  # the core itself
    assert max(settings) >= policy.largest_price  # and on, until it hardly switches
    assert table.rows[-1].oscillation_ratio <= 0.01


def tensorboard_tags(out: Path) -> set[str]:
    import struct

    (path,) = out.glob("events.*")
    data, at, tags = path.read_bytes(), 0, set()
    while at < len(data):
        (size,) = struct.unpack("<Q", data[at : at + 8])
        event = Event.FromString(data[at + 12 : at + 12 + size])
        tags |= {value.tag for value in event.summary.value}
        at += 12 + size + 4
    return tags


def command(out: Path, method: str) -> list[str]:
    words = f"train {method} --steps 3000 --eval-every 400 --eval-episodes 4"
    words += " --final-episodes 4 --calibration-episodes 2 --checkpoint-seconds 0 --quiet"
    words += f" --resume --out {out}"
    return [sys.executable, "-m", "policy_inertia", *words.split()]


# the most state, and decisions of several steps
KILLED = ["dial-sac CartPole-v1", "dqn-repeat CartPole-v1"]


@pytest.mark.parametrize("method", KILLED)
def test_killed_run_ends_bit_for_bit_like_one_that_was_not(method: str, tmp_path: Path) -> None:
    subprocess.run(command(tmp_path / "whole", method), check=True, capture_output=True)
    killed, kills, before = tmp_path / "killed", 0, 500
    for delay in (0.0, 0.03, 0.1):  # anywhere between two checkpoints, or inside one
        process = subprocess.Popen(command(killed, method), stdout=subprocess.DEVNULL)
        while process.poll() is None and step_of(killed) <= before:
            time.sleep(0.005)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        if process.wait() != -signal.SIGKILL:
            break  # a machine so fast that it was done
        kills, before = kills + 1, step_of(killed)
    assert kills >= 1
    replay = min(newest(killed).glob("replay*.npy"))
    flip_bit(replay)  # the older checkpoint must do as well
    resumed = subprocess.run(command(killed, method), check=True, capture_output=True, text=True)
    assert f"{replay.name} is damaged" in " ".join(resumed.stderr.split())
    assert contents(killed) == contents(tmp_path / "whole")


CRASHED = ["nsac", "limit-dqn", "dqn", "sac", "temporl", "lagrangian-dqn"]
BOX = ("sac", "Pendulum-v1", {"hidden": (8, 8), "batch_size": 16})


@pytest.mark.parametrize(
    ("method", "env", "changes"), [*((name, "CartPole-v1", {}) for name in CRASHED), BOX]
)
@pytest.mark.usefixtures("quick_compiler")
def test_run_that_crashes_ends_bit_for_bit_like_one_that_did_not(
    method: str, env: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    """What a method keeps beside its networks comes back, from either checkpoint."""
    config = settings(
        method,
        env,
        steps=1_500,
        eval_every=200,
        eval_episodes=2,
        final_episodes=2,
        calibration_episodes=2,
        checkpoint_seconds=0,
        learning_starts=300,
        **changes,
    )
    run(config, tmp_path / "whole")
    out, warnings = tmp_path / "crashed", list[str]()
    for moment in (200, 700, 1_100):

        def crash(step: int, *_: Any, moment: int = moment) -> None:
            if step > moment:
                raise RuntimeError("crashed")

        with pytest.raises(RuntimeError, match="crashed"):
            run(config, out, progress=crash, resume=moment > 200)
        assert step_of(out) >= moment - 200
    replay = min(newest(out).glob("replay*.npy"))
    flip_bit(replay)  # the older checkpoint must do as well
    run(config, out, resume=True, warn=warnings.append)
    assert f"{replay.name} is damaged" in warnings[0]
    assert contents(out) == contents(tmp_path / "whole")


def step_of(out: Path) -> int:
    """The step of the latest checkpoint."""
    try:
        return int(json.loads((out / "latest.json").read_text())["checkpoint"].split("-")[1])
    except FileNotFoundError:
        return -1


def test_finished_run_is_not_run_again_and_can_be_made_longer(tmp_path: Path) -> None:
    train("sac", "CartPole-v1", tmp_path / "run", **SHORT)
    before = contents(tmp_path / "run")
    train("sac", "CartPole-v1", tmp_path / "run", resume=True, **SHORT)
    assert contents(tmp_path / "run") == before
    train("sac", "CartPole-v1", tmp_path / "run", resume=True, **{**SHORT, "steps": 3_000})
    train("sac", "CartPole-v1", tmp_path / "long", **{**SHORT, "steps": 3_000})
    assert contents(tmp_path / "run") == contents(tmp_path / "long")


def test_env_that_cannot_be_restored_is_said_and_the_run_goes_on(tmp_path: Path) -> None:
    config = settings("sac", "Lottery", **SHORT, checkpoint_seconds=0)
    warnings: list[str] = []
    run(config, tmp_path / "r", probes.Lottery, warn=warnings.append)
    assert not warnings
    longer = settings("sac", "Lottery", **{**SHORT, "steps": 2_500}, checkpoint_seconds=0)
    run(longer, tmp_path / "r", probes.Lottery, resume=True, warn=warnings.append)
    assert "did not come back" in warnings[0]
    assert json.loads((tmp_path / "r" / "result.json").read_text())["step"] == 2_504


def test_other_versions_are_said_when_a_run_goes_on(tmp_path: Path) -> None:
    config = settings("sac", "CartPole-v1", **SHORT)
    run(config, tmp_path / "r")
    path = tmp_path / "r" / "run.json"
    path.write_text(path.read_text().replace(f'"jax": "{jax.__version__}"', '"jax": "0.0.1"'))
    warnings: list[str] = []
    run(config, tmp_path / "r", resume=True, warn=warnings.append)
    assert f"jax 0.0.1 -> {jax.__version__}" in warnings[0]


@pytest.mark.parametrize("where", ["reward", "observation"])
def test_nan_from_the_env_ends_the_run_and_keeps_the_checkpoint(where: str, tmp_path: Path) -> None:
    config = settings("sac", "Broken", **SHORT, checkpoint_seconds=0)
    with pytest.raises(InputError, match=f"NaN {where}"):
        run(config, tmp_path / "r", lambda: probes.Broken(where))


def test_divergence_is_said(tmp_path: Path) -> None:
    config = settings("sac", "Probe", **SHORT, learning_rate=1e30)
    with pytest.raises(InputError, match=r"training diverged before step .* learning rate"):
        run(config, tmp_path / "r", probes.Probe)


def test_bad_env_leaves_no_folder_behind(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Discrete"):
        train("dqn", "Pendulum-v1", tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_env_is_made_with_its_arguments_in_training_and_in_evaluation(tmp_path: Path) -> None:
    policy = train(
        "dqn",
        "tests.support.registered:Wage-v0",
        tmp_path / "r",
        steps=200,
        eval_every=200,
        env_kwargs={"wage": 2.0},
        eval_env_kwargs={"wage": 3.0},
    )
    record = read_metrics(tmp_path / "r")[-1]
    assert (record["rollout/return"], record["eval/return"]) == (20.0, 30.0)
    assert policy.env_kwargs == Policy.load(tmp_path / "r").env_kwargs == {"wage": 3.0}
    with pytest.raises(InputError, match=r"Wage-v0 cannot be made with .*wages"):
        train("dqn", "tests.support.registered:Wage-v0", tmp_path / "s", env_kwargs={"wages": 2.0})
