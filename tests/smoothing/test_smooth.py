"""A policy that somebody has, made smooth: it stays as it is, and nothing is made worse."""

import json

import numpy as np
import pytest

from policy_inertia import InputError, Policy, evaluate, load_core, smooth
from policy_inertia.calibration.sweep import CALIBRATION
from policy_inertia.envs.vector import episode_seed
from policy_inertia.interop.onnx_in import session
from policy_inertia.interop.onnx_out import export
from policy_inertia.networks import layers as network
from policy_inertia.policies.spaces_with_core import (
    SpacesWithCore,
    core_identity,
    restore_core,
    store_core,
)
from policy_inertia.settings import settings
from policy_inertia.smoothing.smooth import HELD_OUT
from policy_inertia.smoothing.smooth_actions import SmoothActions
from policy_inertia.smoothing.verdict import Candidate, decide, interval
from policy_inertia.training.session import EVALUATION, FINAL, TRAINING, Session
from tests.support import probes

SHORT = {"steps": 4_000, "episodes": 40, "calibration_episodes": 20, "learning_rate": 1e-3}


def jittery(obs: np.ndarray) -> np.ndarray:
    """Right at the ends of `DeadZone`, and needlessly to and fro in between: actions."""
    at = obs[:, 0].round().astype(int)
    return np.where(abs(at) == 2, at > 0, at % 2 == 0).astype(int)


def unsure(obs: np.ndarray) -> np.ndarray:
    """The same as probabilities: sure at the ends, and not in between."""
    at, action = abs(obs[:, 0].round()), jittery(obs)
    sure = np.where(at == 2, 0.99, 0.6)
    return np.stack([np.where(action == 0, sure, 1 - sure), np.where(action, sure, 1 - sure)], 1)


def light(obs: np.ndarray) -> np.ndarray:
    return (obs[:, 0] > 0.5).astype(int)


def around(core, env, method="smooth", **changes) -> Session:
    """A run around a core, in memory."""
    core = load_core(core, env)
    config = settings(method, env.__name__, core=core_identity(core).__dict__, **changes)
    return Session(config, env, SpacesWithCore.of_core(core))


def test_needless_switching_is_trained_away_at_full_return(tmp_path):
    result = smooth(jittery, probes.DeadZone, 0.1, out=tmp_path / "run", **SHORT)
    assert list(result.candidates) == ["core", "controller"]  # actions alone: no hysteresis
    core, controller = (result.candidates[name].figures for name in ("core", "controller"))
    assert core["oscillation_ratio"] > 0.3
    assert core["return"] == 20
    assert result.recommended == "controller"
    assert controller["oscillation_ratio"] <= 0.1
    assert controller["return"] >= 19.9
    assert "within the budget of 0.1" in str(result)
    assert "describe this core only" in str(result)
    kept = json.loads((tmp_path / "run" / "smooth.json").read_text())
    assert kept["recommended"] == "controller"
    assert kept["seconds"] > 0
    assert kept["memory_mb"] > 10
    # the file holds our part; the function must be given again, and be the same
    path = tmp_path / "run" / "recommended.safetensors"
    with pytest.raises(InputError, match=r"trained around jittery.*give it again"):
        Policy.load(path)
    with pytest.raises(InputError, match="acts differently"):
        Policy.load(path, load_core(light, probes.DeadZone))
    loaded = Policy.load(path, load_core(jittery, probes.DeadZone))
    again = evaluate(loaded, probes.DeadZone, 40, episode_seed(0, HELD_OUT), deterministic=True)
    assert again.summary()["return"] == controller["return"]
    assert again.summary()["oscillation_ratio"] == controller["oscillation_ratio"]
    assert loaded.price == result.policy.price
    assert loaded.at(0).price == 0
    assert loaded.with_budget(0.1).price == loaded.price
    with pytest.raises(InputError, match=r"the network inside jittery is not known"):
        export(loaded, tmp_path / "p.onnx")
    env = SmoothActions(probes.DeadZone(), loaded)
    env.reset(seed=0)
    assert "held" in env.step(1)[4]


def test_where_switching_is_needed_the_bare_core_is_recommended(tmp_path):
    result = smooth(light, probes.Lights, 0.1, out=tmp_path / "run", **SHORT)
    core, controller = (result.candidates[name].figures for name in ("core", "controller"))
    assert core["crash_rate"] == 0
    assert core["return"] == 20
    assert controller["oscillation_ratio"] < 0.2
    assert controller["return"] < 15
    assert result.recommended == "core"
    assert "the budget of 0.1 is not met by any policy that is as good" in str(result)
    assert "controller is out, since its return is" in str(result)
    assert result.policy.predict(np.array([1.0], np.float32), deterministic=True)[0] == 1


def test_hysteresis_alone_needs_no_training(tmp_path):
    how = {"hysteresis_only": True, "episodes": 40, "calibration_episodes": 20}
    result = smooth(unsure, probes.DeadZone, 0.1, out=tmp_path / "h", **how)
    assert list(result.candidates) == ["core", "hysteresis"]
    assert result.recommended == "hysteresis"
    assert result.candidates["hysteresis"].figures["return"] == 20
    assert sorted(p.name for p in (tmp_path / "h").iterdir()) == [
        ".lock",
        "recommended.safetensors",
        "smooth.json",
    ]
    # the core's own filter at that threshold does the same
    tau = result.policy.hysteresis
    filtered = load_core(unsure, probes.DeadZone).with_hysteresis(tau)
    seed = episode_seed(0, HELD_OUT)
    same = evaluate(filtered, probes.DeadZone, 40, seed, deterministic=True).summary()
    assert same == result.candidates["hysteresis"].figures
    # without a budget it is half of what the core does
    free = smooth(unsure, probes.DeadZone, **how)
    assert free.budget == free.candidates["core"].figures["oscillation_ratio"] / 2


def test_papers_inertia_can_be_trained_instead(tmp_path):
    result = smooth(unsure, probes.DeadZone, 0.1, mu=True, out=tmp_path / "run", **SHORT)
    policy = result.candidates["controller"].policy
    assert policy.method == "smooth-mu"
    assert policy.price is None
    inertia = policy.inertia(np.zeros((1, 1), np.float32), 1)
    assert 0 < inertia[0] < 1
    core = load_core(unsure, probes.DeadZone)
    obs = np.array([[-2.0], [0.0], [2.0]], np.float32)
    np.testing.assert_allclose(policy.core_probabilities(obs), core.probabilities(obs), rtol=1e-6)


def test_sb3_model_goes_through_to_one_onnx_file(sb3_model, tmp_path):
    model, path = sb3_model("DQN", "CartPole-v1")
    before = {k: v.clone() for k, v in model.policy.state_dict().items()}
    how = {**SHORT, "steps": 2_000, "out": tmp_path / "run"}
    result = smooth(model, "CartPole-v1", 0.2, **how)
    after = model.policy.state_dict()
    assert all((before[k] == after[k]).all() for k in before)
    assert set(result.candidates) == {"core", "hysteresis", "controller"}
    policy = result.candidates["controller"].policy
    policy.save(tmp_path / "c.safetensors")
    loaded = Policy.load(tmp_path / "c.safetensors")  # the network is in the file
    figures = [evaluate(p, "CartPole-v1", 10, 3).summary() for p in (policy, loaded)]
    assert figures[0] == figures[1]
    core = load_core(path, "CartPole-v1")
    seed = episode_seed(0, HELD_OUT)
    bare = evaluate(core, "CartPole-v1", how["episodes"], seed, deterministic=True).summary()
    assert bare == result.candidates["core"].figures
    written = export(loaded, tmp_path / "c.onnx")
    assert written.difference < 1e-5
    rng = np.random.default_rng(0)
    obs, prev = rng.normal(0, 1, (10_000, 4)).astype(np.float32), rng.integers(-1, 2, 10_000)
    (action,) = session(written.path).run(["action"], {"observation": obs, "previous_action": prev})
    ours, _ = policy.predict(obs, (prev,), deterministic=True)
    assert (action != ours).mean() < 1e-3  # at ties
    assert load_core(loaded, "CartPole-v1").name == result.policy.spaces.core.name
    export(result.candidates["hysteresis"].policy, tmp_path / "h.onnx")


def test_layers_of_every_kind_come_back_from_their_arrays():
    rng = np.random.default_rng(0)
    layers = (
        network.Rescale(np.float32(0), np.full(3, 2.0), 5.0),
        network.ChannelsFirst(),
        network.Conv(rng.normal(size=(2, 3, 2, 2)), rng.normal(size=(2, 1, 1))[:, 0, 0], 2),
        network.Activation("Tanh"),
        network.Flatten(),
        network.Linear(rng.normal(size=(8, 2)), np.zeros(2)),
    )
    arrays, kinds = network.store(layers)
    again = network.restore(arrays, json.loads(json.dumps(kinds)))
    obs = rng.normal(size=(5, 4, 4, 3)).astype(np.float32)
    np.testing.assert_array_equal(network.run(again, obs), network.run(layers, obs))
    (one,) = network.restore(*network.store((network.OneHot(3, 1),)))
    assert one == network.OneHot(3, 1)


@pytest.mark.parametrize("broken", [{"kind": "system"}, {"layers": [{"kind": "Popen"}]}])
def test_damaged_core_in_a_file_is_refused(broken, sb3_model, tmp_path):
    spaces = SpacesWithCore.of_core(load_core(sb3_model("DQN", "CartPole-v1")[1], "CartPole-v1"))
    arrays, known = store_core(spaces.core)
    about = {"core": {**known, **broken}}
    with pytest.raises(InputError, match="holds a core that cannot be read"):
        restore_core(spaces.without_core, arrays, about, None, tmp_path / "p")


def test_learner_never_asks_the_core():
    asked = []

    def counting(obs: np.ndarray) -> np.ndarray:
        asked.append(len(obs))
        return light(obs)

    run = around(counting, probes.Lights, envs=4, learning_starts=50, warmup=200)
    asked.clear()
    before = run.envs.episode.sum()
    for _ in range(100):
        run.advance()
    assert run.updates > 100
    begun = run.envs.episode.sum() - before
    assert sum(asked) == 4 * 100 + begun  # each observation once, when the env gave it
    # and what was stored is what it says
    stored = run.replay.records[:400]
    for name in ("obs", "next_obs"):
        answers = stored[name][:, 1:3].argmax(1)
        np.testing.assert_array_equal(answers, light(stored[name]))


def test_core_is_watched_first_and_then_the_controller_opens():
    run = around(light, probes.Lights, envs=4, warmup=1_000, noise=0.25)
    assert [run.algorithm.opening(n) for n in (0, 1_000, 1_500, 2_000, 9_000)] == [0, 0, 0.5, 1, 1]
    assert (run.drawn == -1).all()
    obs = run.spaces.encode(np.array([[1.0], [1.0], [0.0]]))
    previous, u = np.array([0, -1, 0]), np.full(3, -1.0)
    pi = np.exp(run.algorithm.behave(run.learner.acting, obs, previous, u))
    np.testing.assert_allclose(pi, [[0.25, 0.75], [0, 1], [1, 0]], atol=1e-6)
    shares = []
    for _ in range(5):
        for _ in range(150):
            run.advance()
        shares.append((run.drawn >= 0).mean())
    assert shares[0] == 0
    assert shares[-1] == 1


def alternating(obs: np.ndarray) -> np.ndarray:
    return obs[:, 0].round().astype(int) % 2


@pytest.mark.parametrize("watching", [True, False])
def test_while_it_is_watched_the_critics_learn_what_the_core_is_worth(watching):
    """A core that alternates where repeating pays: worth 0; repeat once, and its next action
    repeats as well: 1 + gamma. A gate that went on repeating would be worth far more."""
    changes = {"warmup": 10**6} if watching else {}
    run = around(
        alternating,
        probes.Clock,
        gamma=0.5,
        learning_rate=3e-3,
        target_rate=0.05,
        learning_starts=200,
        train_interval=2,
        **changes,
    )
    for _ in range(700):
        run.advance()
    policy = run.policy()
    obs = policy.spaces.encode(np.array([[1.0]]))
    q = policy.acting(obs, np.array([0])).scores[0]  # at price 0: U
    if watching:
        np.testing.assert_allclose(q, [1.5, 0.0], atol=0.25)
    else:
        np.testing.assert_allclose(q, [2.0, 1.0], atol=0.25)


def test_stopped_run_goes_on_and_ends_the_same(tmp_path):
    def stop(step, figures, speed):
        if step >= 1_500:
            raise KeyboardInterrupt

    how = {**SHORT, "steps": 2_000, "checkpoint_seconds": 0, "eval_every": 500}
    smooth(jittery, probes.DeadZone, 0.1, out=tmp_path / "a", **how)
    with pytest.raises(KeyboardInterrupt):
        smooth(jittery, probes.DeadZone, 0.1, out=tmp_path / "b", progress=stop, **how)
    with pytest.raises(InputError, match=r"started with config.core.*resume with its own"):
        smooth(light, probes.DeadZone, 0.1, out=tmp_path / "b", resume=True, **how)
    smooth(jittery, probes.DeadZone, 0.1, out=tmp_path / "b", resume=True, **how)
    for name in ("policy.safetensors", "recommended.safetensors", "metrics.jsonl"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_held_out_episodes_have_seeds_of_their_own():
    assert len({TRAINING, EVALUATION, FINAL, CALIBRATION, HELD_OUT}) == 5


def candidate(name: str, oscillation: float, total: float, crashes: float = 0.0) -> Candidate:
    values = {
        "oscillation_ratio": np.full(100, oscillation),
        "return": np.full(100, total),
        "crash_rate": (np.arange(100) < 100 * crashes).astype(float),
    }
    figures = {key: float(v.mean()) for key, v in values.items()}
    return Candidate(name, None, figures, {k: interval(v) for k, v in values.items()}, values)


@pytest.mark.parametrize(
    ("hysteresis", "controller", "chosen", "why"),
    [
        ((0.1, 9.7), (0.1, 9.9), "controller", "within the budget of 0.1"),
        ((0.1, 9.9), (0.1, 9.9), "hysteresis", "within the budget"),  # as good, and simpler
        ((0.1, 9.9), (0.1, 12.0, 0.2), "hysteresis", "it crashes in 20% of the episodes"),
        ((0.1, 9.4), (0.1, 9.6), "controller", "hysteresis is out, since its return is 9.4"),
        ((0.1, 5.0), (0.1, 9.0), "core", "not met by any policy that is as good"),
        ((0.2, 9.9), (0.3, 9.9), "hysteresis", "not met by any policy"),
        ((0.2, 9.9), (0.1, 9.8), "controller", "hysteresis switches at 0.2"),
        ((0.1, 9.9), (0.1, 9.95, 0.02), "controller", "within"),  # 2 more crashes are not resolved
    ],
)
def test_best_within_the_budget_without_more_crashes_is_recommended(
    hysteresis, controller, chosen, why
):
    found = {
        "core": candidate("core", 0.5, 10.0),
        "hysteresis": candidate("hysteresis", *hysteresis),
        "controller": candidate("controller", *controller),
    }
    verdict = decide(found, 0.1, 0.05)
    assert verdict.name == chosen
    assert why in str(verdict)


def test_interval_of_a_mean_is_that_of_the_normal_law_for_many_episodes():
    values = np.random.default_rng(1).normal(3, 2, 400)
    low, high = interval(values)
    half = 1.96 * values.std() / 20
    assert abs(low - (values.mean() - half)) < 0.03
    assert abs(high - (values.mean() + half)) < 0.03


def gives_nan_later(obs: np.ndarray) -> np.ndarray:
    return np.where(obs[:, :1] > 0.5, np.nan, 0.5) * np.ones((1, 2))


@pytest.mark.parametrize(
    ("core", "env", "changes", "message"),
    [
        (lambda obs: np.full((len(obs), 2), np.nan), probes.Lights, {}, "gave NaN or infinity"),
        (lambda obs: np.full((len(obs), 3), 1 / 3), probes.Lights, {}, r"shape \(3, 3\)"),
        (lambda obs: np.full(len(obs), 7), probes.Lights, {}, "the action spaces differ"),
        (light, probes.Lights(), {}, "several copies of it are needed"),
        (light, probes.Lights, {"budget": 1.5}, "lies from 0 to 1"),
        (light, probes.Lights, {"warmup": 2}, "warmup is 2: it must be from 0 to 1"),
        (light, probes.Lights, {"no_such": 2}, "'no_such' is no setting of DialConfig"),
        (light, probes.Lights, {"buffer_size": 10**9}, "GB of replay"),
    ],
)
def test_bad_input_gets_one_sentence(core, env, changes, message, tmp_path):
    with pytest.raises(InputError, match=message):
        smooth(core, env, out=tmp_path / "run", **{**SHORT, **changes})
    assert not (tmp_path / "run").exists()


def test_core_that_fails_on_the_way_is_told(tmp_path):
    with pytest.raises(InputError, match="gives_nan_later gave NaN or infinity"):
        smooth(
            gives_nan_later,
            probes.Lights,
            out=tmp_path / "run",
            core_options={"output": "probabilities"},
            **SHORT,
        )


def test_core_of_another_env_or_with_memory_is_refused(tmp_path):
    core = load_core(unsure, probes.DeadZone)
    with pytest.raises(InputError, match="without its hysteresis"):
        smooth(core.with_hysteresis(0.1), probes.DeadZone, out=tmp_path / "x")
    with pytest.raises(InputError, match="give the env that it was trained on"):
        smooth(core, "CartPole-v1", out=tmp_path / "x")


def test_frozen_core_cannot_be_trained_without_one():
    with pytest.raises(InputError, match="needs a policy that you have"):
        Session(settings("smooth", "CartPole-v1"), "CartPole-v1")


def test_command_smooths_a_zip_and_the_other_commands_take_what_it_made(
    sb3_model, tmp_path, monkeypatch, capfd
):
    _, path = sb3_model("DQN", "CartPole-v1")
    out = tmp_path / "run"
    words = ("smooth", path, "CartPole-v1", "--out", out, "--episodes", 10)
    short = ("--steps", 800, "--budget", 0.3, "--set", "calibration_episodes=4", "eval_every=400")
    code, text, _ = call(monkeypatch, capfd, *words, *short)
    assert code == 0
    assert "Recommended: " in text
    assert "over 10 held-out episodes of CartPole-v1" in text
    assert " MB at most" in text
    policy = out / "recommended.safetensors"
    code, text, _ = call(monkeypatch, capfd, "evaluate", policy, "--episodes", 2)
    assert code == 0
    code, text, _ = call(monkeypatch, capfd, "export", policy)
    assert code == 0
    assert (out / "recommended.onnx").exists()
    only = ("--hysteresis-only", "--set", "calibration_episodes=4")
    code, text, _ = call(monkeypatch, capfd, *words[:4], tmp_path / "h", "--episodes", 5, *only)
    assert code == 0
    assert "hysteresis" in text
    assert "controller" not in text
    code, _, error = call(monkeypatch, capfd, *words)
    assert code == 2
    assert "--resume" in error
