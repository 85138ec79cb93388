import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from tensorboardX.proto.event_pb2 import Event

from policy_inertia import InputError, Policy, evaluate, train
from policy_inertia.training import RunConfig, Session, run, settings
from tests import probes

FAST = {"learning_rate": 3e-3, "target_rate": 0.05}
NESTED = {**FAST, "pic_learning_rate": 3e-3, "core": FAST}
SHORT = {"steps": 2_000, "eval_every": 500, "eval_episodes": 4, "final_episodes": 4}


def learn(method: str, env, steps: int, **changes) -> Policy:
    session = Session(settings(method, "probe", learning_starts=200, **changes), env)
    while session.step < steps:
        session.advance()
    return session.policy()


# probe environments: each can be solved by one thing only ---------------------------------------


def test_inertia_is_high_where_repeating_is_optimal():
    policy = learn("nsac", probes.Repeat, 6_000, **NESTED)
    assert policy.inertia(np.zeros((2, 1)), [0, 1]).min() > 0.9
    assert evaluate(policy, probes.Repeat, 20).summary()["oscillation_ratio"] < 0.05


def test_inertia_is_low_where_switching_is_optimal():
    policy = learn("nsac", probes.Switch, 6_000, **NESTED)
    assert policy.inertia(np.zeros((2, 1)), [0, 1]).max() < 0.1


def test_inertia_depends_on_the_state_where_both_are_needed():
    policy = learn("nsac", probes.Both, 8_000, **NESTED)
    lights = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    mu = policy.inertia(lights, [0, 1, 0, 1])
    assert mu[:2].min() > 0.9
    assert mu[2:].max() < 0.1


@pytest.mark.parametrize(("env", "worth"), [(probes.TimeLimit, 2.0), (probes.Death, 1.0)])
def test_values_go_on_through_a_time_limit_and_end_at_death(env, worth):
    policy = learn(
        "dqn", env, 4_000, gamma=0.5, learning_rate=3e-3, target_period=20, epsilon_decay=1e-3
    )
    q = policy.acting(np.zeros((1, 1), np.float32), np.array([-1])).scores
    np.testing.assert_allclose(q, worth, atol=0.05)


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("dqn", {"learning_rate": 3e-3, "target_period": 20, "epsilon_decay": 1e-3}),
        ("sac", FAST),
        ("nsac", NESTED),
        ("ndqn", {**NESTED, "core": {"learning_rate": 3e-3, "target_period": 20}}),
        ("dqn-repeat", {"learning_rate": 3e-3, "target_period": 20, "epsilon_decay": 1e-3}),
    ],
)
def test_delayed_reward_is_found(method, changes):
    policy = learn(method, probes.Delayed, 4_000, **changes)
    assert evaluate(policy, probes.Delayed, 20, deterministic=True).summary()["return"] == 1


def test_penalty_teaches_not_to_switch_and_is_not_part_of_evaluation():
    policy = learn("sac", probes.Probe, 3_000, penalty=0.5, **FAST, temperature=0.01)
    figures = evaluate(policy, probes.Probe, 20, deterministic=True).summary()
    assert figures["oscillation_ratio"] == 0
    assert figures["return"] == 0


# counting ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["sac", "nsac"])
def test_one_env_and_eight_count_steps_and_updates_alike(method):
    counts = []
    for envs in (1, 8):
        session = Session(settings(method, "CartPole-v1", envs=envs), "CartPole-v1")
        while session.step < 1_200:
            session.advance()
        counts.append((session.step, session.replay.added, session.updates))
    assert counts[0] == counts[1] == (1_200, 1_200, 100)


def test_repetition_counts_primitive_steps_and_updates_by_transitions():
    session = Session(settings("sac-repeat", "CartPole-v1", learning_starts=100), "CartPole-v1")
    while session.step < 1_600:
        session.advance()
    assert session.step == 1_600
    assert 1_600 / 8 < session.replay.added < 1_600
    assert session.updates == sum(t % 2 == 0 for t in range(101, session.replay.added + 1))
    for k in (1, 2, 4, 8):
        assert np.isclose(session.replay.state()["discount"], 0.99**k).any()


def test_epsilon_follows_the_updates():
    session = Session(
        settings("ndqn", "CartPole-v1", learning_starts=0, core={"epsilon_decay": 1e-3}),
        "CartPole-v1",
    )
    assert session.epsilon == 1
    while session.step < 400:
        session.advance()
    assert session.epsilon == pytest.approx(1 - 1e-3 * 200)


# settings ---------------------------------------------------------------------------------------


def test_defaults_are_the_papers_and_variants_are_rows():
    config = settings("nsac", "Somewhere-v0")
    assert (config.gamma, config.batch_size, config.buffer_size) == (0.99, 64, 200_000)
    assert (config.eval_every, config.eval_episodes) == (5_000, 20)
    nested = config.config
    assert (nested.temperature, nested.pic_learning_rate, nested.mu0) == (0.01, 3e-4, 0)
    assert (nested.target_rate, nested.train_interval, nested.hidden) == (0.002, 2, (64, 64))
    assert settings("sac-repeat", "X").repeats == (1, 2, 4, 8)
    assert settings("nsac-ip", "X").penalty == 0.05


def test_settings_survive_json():
    config = settings("nsac", "CartPole-v1", mu0=0.2, core={"temperature": 0.3}, seed=4)
    assert RunConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"steps": 0}, "steps is 0: it must be at least 1"),
        ({"envs": 0}, "envs is 0"),
        ({"gamma": 1.5}, "gamma is 1.5"),
        ({"repeats": (0, 1)}, "different whole numbers"),
        ({"seed": -1}, "seed is -1"),
        ({"mu": 0.1}, "'mu' is no setting of NestedConfig: did you mean 'mu0'"),
        ({"core": {"temprature": 1}}, "did you mean 'temperature'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, says):
    with pytest.raises(InputError, match=says):
        settings("nsac", "CartPole-v1", **changes)


# run folders ------------------------------------------------------------------------------------

REPRODUCIBLE = ("policy.safetensors", "best.safetensors", "metrics.jsonl", "result.json")


def contents(path: Path) -> dict[str, bytes]:
    return {name: (path / name).read_bytes() for name in REPRODUCIBLE}


def test_same_seed_same_bits_and_another_seed_others(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train("nsac", "CartPole-v1", tmp_path / name, seed=seed, **SHORT)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert contents(tmp_path / "a") != contents(tmp_path / "c")


def test_run_folder_holds_what_it_should(tmp_path):
    out = tmp_path / "run"
    policy = train("nsac", "CartPole-v1", out, **SHORT)
    about = json.loads((out / "run.json").read_text())
    assert RunConfig.from_dict(about["config"]).steps == 2_000
    assert about["versions"]["jax"] == jax.__version__
    records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [r["step"] for r in records] == [0, 504, 1_000, 1_504, 2_000]
    expected = {
        "eval/mean_reward",
        "eval/mean_ep_length",
        "eval/oscillation_ratio",
        "eval/switch_mixed_minus_core",
        "rollout/ep_rew_mean",
        "rollout/ep_len_mean",
        "train/mu_mean",
        "train/mu_under_0.05",
        "train/mu_over_0.95",
        "train/n_updates",
        "train/critic_loss",
        "train/pic_loss",
    }
    assert expected <= records[-1].keys()
    result = json.loads((out / "result.json").read_text())
    assert {"sampled", "greedy", "core"} <= result.keys()
    again = Policy.load(out)
    obs = np.ones((3, 4), np.float32)
    np.testing.assert_array_equal(again.probabilities(obs, 0), policy.probabilities(obs, 0))
    assert tensorboard_tags(out) >= expected | {"time/fps", "time/total_timesteps"}


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
    words = f"train {method} CartPole-v1 --steps 6000 --eval-every 400 --eval-episodes 4"
    words += f" --final-episodes 4 --checkpoint-seconds 0 --quiet --resume --out {out}"
    return [sys.executable, "-m", "policy_inertia", *words.split()]


@pytest.mark.parametrize("method", ["nsac", "dqn-repeat"])
def test_killed_run_ends_bit_for_bit_like_one_that_was_not(method, tmp_path):
    subprocess.run(command(tmp_path / "whole", method), check=True, capture_output=True)
    killed, kills = tmp_path / "killed", []
    rng = np.random.default_rng(0)
    while len(kills) < 3:
        process = subprocess.Popen(command(killed, method), stdout=subprocess.DEVNULL)
        before = kills[-1] if kills else -1
        while process.poll() is None and step_of(killed) <= before:
            time.sleep(0.01)
        time.sleep(rng.random() * 0.3)  # anywhere between two checkpoints, or inside one
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        kills.append(step_of(killed))
    assert kills[0] < kills[-1] < 6_000
    subprocess.run(command(killed, method), check=True, capture_output=True)
    assert contents(killed) == contents(tmp_path / "whole")


def step_of(out: Path) -> int:
    """The step of the latest checkpoint."""
    try:
        return int(json.loads((out / "latest.json").read_text())["checkpoint"].split("-")[1])
    except FileNotFoundError:
        return -1


def test_finished_run_is_not_run_again_and_can_be_made_longer(tmp_path):
    train("sac", "CartPole-v1", tmp_path / "run", **SHORT)
    before = contents(tmp_path / "run")
    train("sac", "CartPole-v1", tmp_path / "run", resume=True, **SHORT)
    assert contents(tmp_path / "run") == before
    train("sac", "CartPole-v1", tmp_path / "run", resume=True, **{**SHORT, "steps": 3_000})
    train("sac", "CartPole-v1", tmp_path / "long", **{**SHORT, "steps": 3_000})
    assert contents(tmp_path / "run") == contents(tmp_path / "long")


def test_env_that_cannot_be_restored_is_said_and_the_run_goes_on(tmp_path):
    config = settings("sac", "Lottery", **SHORT, checkpoint_seconds=0)
    said = []
    run(config, tmp_path / "r", probes.Lottery, warn=said.append)
    assert not said
    longer = settings("sac", "Lottery", **{**SHORT, "steps": 2_500}, checkpoint_seconds=0)
    run(longer, tmp_path / "r", probes.Lottery, resume=True, warn=said.append)
    assert "did not come back" in said[0]
    assert json.loads((tmp_path / "r" / "result.json").read_text())["step"] == 2_504


def test_other_versions_are_said_when_a_run_goes_on(tmp_path):
    config = settings("sac", "CartPole-v1", **SHORT)
    run(config, tmp_path / "r")
    path = tmp_path / "r" / "run.json"
    path.write_text(path.read_text().replace(f'"jax": "{jax.__version__}"', '"jax": "0.0.1"'))
    said = []
    run(config, tmp_path / "r", resume=True, warn=said.append)
    assert f"jax 0.0.1 -> {jax.__version__}" in said[0]


# bad input --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    train("sac", "CartPole-v1", out, **SHORT)
    return out


def copy_of(finished: Path, tmp_path: Path) -> Path:
    import shutil

    return Path(shutil.copytree(finished, tmp_path / "run"))


def resume(out: Path, **changes) -> None:
    train("sac", "CartPole-v1", out, resume=True, **{**SHORT, **changes})


def test_folder_with_a_run_is_not_overwritten(finished):
    before = contents(finished)
    with pytest.raises(InputError, match="holds a run already: add --resume"):
        train("sac", "CartPole-v1", finished, **SHORT)
    assert contents(finished) == before


def test_folder_with_something_else_is_not_touched(tmp_path):
    (tmp_path / "thesis.txt").write_text("dear")
    with pytest.raises(InputError, match="is not empty and holds no run"):
        train("sac", "CartPole-v1", tmp_path, **SHORT)
    assert sorted(p.name for p in tmp_path.iterdir()) in (["thesis.txt"], [".lock", "thesis.txt"])


def test_run_goes_on_only_with_its_own_settings(finished):
    with pytest.raises(InputError, match=r"started with config.temperature=0.1, not 0.2"):
        resume(finished, temperature=0.2)


def test_folder_in_use_is_refused(finished):
    import fcntl

    with open(finished / ".lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="in use by another process"):
            resume(finished)


def test_place_that_cannot_be_written_is_refused():
    with pytest.raises(InputError, match=r"cannot write /proc/run .*choose another place"):
        train("sac", "CartPole-v1", "/proc/run", **SHORT)


def test_full_disk_loses_nothing_that_was_saved(finished, tmp_path, monkeypatch):
    out = copy_of(finished, tmp_path)
    pointer = (out / "latest.json").read_bytes()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(InputError, match="No space left on device"):
        resume(out, steps=2_600)
    assert (out / "latest.json").read_bytes() == pointer
    monkeypatch.undo()
    resume(out, steps=2_600)
    assert json.loads((out / "result.json").read_text())["step"] == 2_600


def test_damaged_checkpoints_are_refused(finished, tmp_path):
    out = copy_of(finished, tmp_path)
    (folder,) = out.glob("checkpoint-*")
    for name, says in (
        ("replay.npy", "damaged"),
        ("state.safetensors", "truncated"),
        ("state.json", "cannot be read"),
    ):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(InputError, match=says):
            resume(out, steps=3_000)
        (folder / name).write_bytes(whole)


def test_newer_checkpoint_is_refused(finished, tmp_path):
    out = copy_of(finished, tmp_path)
    (path,) = out.glob("checkpoint-*/state.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 7}))
    with pytest.raises(InputError, match=r"format 7 .* upgrade"):
        resume(out, steps=3_000)


def test_checkpoint_cannot_run_code(finished, tmp_path):
    out = copy_of(finished, tmp_path)
    (folder,) = out.glob("checkpoint-*")
    with open(folder / "replay.npy", "wb") as file:
        np.save(file, np.array([os.system], object), allow_pickle=True)
    with pytest.raises(InputError, match="cannot be read"):
        resume(out, steps=3_000)


@pytest.mark.parametrize("where", ["reward", "observation"])
def test_nan_from_the_env_ends_the_run_and_keeps_the_checkpoint(where, tmp_path):
    config = settings("sac", "Broken", **SHORT, checkpoint_seconds=0)
    with pytest.raises(InputError, match=f"NaN {where}"):
        run(config, tmp_path / "r", lambda: probes.Broken(where))


def test_divergence_is_said(tmp_path):
    config = settings("sac", "Probe", **SHORT, learning_rate=1e30)
    with pytest.raises(InputError, match=r"training diverged before step .* learning rate"):
        run(config, tmp_path / "r", probes.Probe)


def test_bad_env_leaves_no_folder_behind(tmp_path):
    with pytest.raises(InputError, match="Discrete"):
        train("sac", "Pendulum-v1", tmp_path / "r")
    assert not (tmp_path / "r").exists()
