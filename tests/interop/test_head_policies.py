"""Policies whose actions have several heads: MultiDiscrete and MultiBinary."""

import base64
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from policy_inertia import (
    InputError,
    Limit,
    Policy,
    evaluate,
    export,
    export_c,
    export_numpy,
    load_core,
    measure,
    smooth,
    train,
)
from policy_inertia.interop.numpy_runtime import Policy as NumpyPolicy
from policy_inertia.policies.cores import Core
from tests.support.heads_env import FromZero, MaskedMixer, Mixer, Switches
from tests.support.sb3_zips import data_of, with_data

Trained = tuple[Any, Path]
KINDS: dict[str, tuple[str, type[Mixer]]] = {
    "MultiDiscrete": ("PPO", FromZero),
    "MultiBinary": ("A2C", Switches),
    "masked": ("MaskablePPO", MaskedMixer),
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Trained]:
    """`trained("MultiBinary")` gives a live model that its own library trained, and its zip."""
    import sb3_contrib
    import stable_baselines3

    folder, models = tmp_path_factory.mktemp("heads"), dict[str, Trained]()

    def get(kind: str) -> Trained:
        if kind not in models:
            algorithm, env = KINDS[kind]
            library: Any = sb3_contrib if algorithm == "MaskablePPO" else stable_baselines3
            short = {} if algorithm == "A2C" else {"n_steps": 128, "n_epochs": 4}
            cls = getattr(library, algorithm)
            model = cls("MlpPolicy", env(), device="cpu", seed=0, **short).learn(400)
            model.save(folder / f"{kind}.zip")
            models[kind] = model, folder / f"{kind}.zip"
        return models[kind]

    return get


def core_of(trained: Callable[[str], Trained], kind: str) -> Core:
    return load_core(trained(kind)[1], KINDS[kind][1])


def actions_of(policy: Any, env: type[Mixer]) -> list[Any]:
    return [e.actions.tolist() for e in evaluate(policy, env, 5, 0, True).episodes]


@pytest.mark.parametrize("kind", KINDS)
def test_cores_act_as_their_own_library_does(trained: Callable[[str], Trained], kind: str) -> None:
    (model, path), env = trained(kind), KINDS[kind][1]
    for source in (model, path):
        core = load_core(source, env)
        assert core.layers is not None
        assert actions_of(core, env) == actions_of(model, env)


def test_sampled_actions_follow_the_probabilities_of_each_head(
    trained: Callable[[str], Trained],
) -> None:
    core = core_of(trained, "MultiDiscrete")
    obs = np.tile(np.array([0.3, -0.8, 0.1], np.float32), (4_000, 1))
    core.seed(0)
    actions, pi = core.predict(obs)[0], core.probabilities(obs[:1])[0]
    frequencies = [np.bincount(actions[:, i], minlength=n) / 4_000 for i, n in enumerate([3, 2, 4])]
    np.testing.assert_allclose(np.concatenate(frequencies), pi, atol=0.03)


def test_switches_are_counted_per_head_and_overall(trained: Callable[[str], Trained]) -> None:
    evaluation = evaluate(core_of(trained, "MultiDiscrete"), FromZero, 5, 0, True)
    changes = [e.actions[1:] != e.actions[:-1] for e in evaluation.episodes]
    summary, heads = evaluation.summary(), np.mean([c.sum(0) / 20 for c in changes], axis=0)
    assert summary["oscillation_ratio"] == pytest.approx(
        np.mean([c.any(1).sum() / 20 for c in changes])
    )
    assert summary["head_oscillation"] == pytest.approx(heads.mean())
    measured = measure(evaluation.episodes).summary()
    assert measured["oscillation_per_head"] == pytest.approx(heads.tolist())
    assert measured["oscillation_ratio"] == summary["oscillation_ratio"]


def test_hysteresis_holds_each_head_for_itself(trained: Callable[[str], Trained]) -> None:
    core = core_of(trained, "MultiDiscrete")
    bare, held = (
        measure(evaluate(policy, FromZero, 5, 0, True).episodes).oscillation_per_head
        for policy in (core, core.with_hysteresis((0.0, np.inf, 0.0)))
    )
    assert held[1] == 0 < bare[1]
    assert held[[0, 2]].tolist() == bare[[0, 2]].tolist()


def test_limit_is_kept_overall_or_in_each_head(trained: Callable[[str], Trained]) -> None:
    core = core_of(trained, "MultiDiscrete")
    for per_head in (False, True):
        limited = core.with_limit(0.1, 1, per_head=per_head)
        for episode in evaluate(limited, FromZero, 10, 0, True).episodes:
            changes = episode.actions[1:] != episode.actions[:-1]
            counted = changes if per_head else changes.any(1, keepdims=True)
            for start in range(20):
                for end in range(start + 1, 20):
                    assert (counted[start:end].sum(0) <= 1 + 0.1 * (end - start)).all()
            assert per_head or changes.any(1).sum() <= 2


def test_smooth_recommends_and_the_file_acts_the_same(
    trained: Callable[[str], Trained], tmp_path: Path
) -> None:
    core = core_of(trained, "MultiBinary")
    quick: dict[str, Any] = {"episodes": 10, "calibration_episodes": 5, "hysteresis_only": True}
    result = smooth(core, Switches, 0.2, **quick)
    result.policy.save(tmp_path / "policy.safetensors")
    again = Policy.load(tmp_path / "policy.safetensors")
    assert actions_of(again, Switches) == actions_of(result.policy, Switches)
    limit = Limit(0.2, 1, per_head=True)
    limited = smooth(core, Switches, limit=limit, **quick)
    assert "in each head" in str(limited)
    assert limited.policy.limit == limit
    both = limited.policy.with_hysteresis((0.1, 0.2, 0.3))
    both.save(tmp_path / "policy.safetensors")
    assert Policy.load(tmp_path / "policy.safetensors").hysteresis == (0.1, 0.2, 0.3)


FILTERS: dict[str, Callable[[Core], Any]] = {
    "core": lambda core: core,
    "hysteresis": lambda core: core.with_hysteresis(0.1),
    "thresholds": lambda core: core.with_hysteresis((0.1, 0.0, 0.3)),
    "limit": lambda core: core.with_hysteresis(0.05).with_limit(0.1, 2),
    "limits": lambda core: core.with_limit(0.1, 1, per_head=True),
}


@pytest.mark.parametrize("filtered", FILTERS)
@pytest.mark.parametrize("kind", KINDS)
def test_exported_files_take_the_same_actions_over_whole_episodes(
    trained: Callable[[str], Trained], tmp_path: Path, kind: str, filtered: str
) -> None:
    policy = FILTERS[filtered](core_of(trained, kind))
    env: Any = KINDS[kind][1]()
    export(policy, tmp_path / "policy.onnx")
    export_numpy(policy, tmp_path / "policy.npz")
    session = onnxruntime.InferenceSession(tmp_path / "policy.onnx")
    outputs = [o.name for o in session.get_outputs()]
    names = [i.name for i in session.get_inputs() if i.name not in ("observation", "action_masks")]
    in_numpy = NumpyPolicy(str(tmp_path / "policy.npz"))
    for seed in range(2):
        obs, _ = env.reset(seed=seed)
        state, done = None, False
        memory = {name: 0 * rows - 1 for name, rows in policy.memory.initial(1).items()}
        in_numpy.reset()
        while not done:
            masks = {"action_masks": env.action_masks()} if kind == "masked" else {}
            action, state = policy.predict(obs, state, None, True, **masks)
            feed = {"observation": obs[None], **{k: v[None] for k, v in masks.items()}, **memory}
            values = dict(zip(outputs, session.run(outputs, feed), strict=True))
            np.testing.assert_array_equal(values["action"], [action])
            np.testing.assert_array_equal(in_numpy.act(obs, mask=masks.get("action_masks")), action)
            memory = {f: values["action" if f == "previous_action" else f"next_{f}"] for f in names}
            assert all((memory[f] == state[f]).all() for f in names)
            obs, _, terminated, truncated, _ = env.step(action)
            done = terminated or truncated


def test_masks_force_switches_of_heads_and_they_are_counted(
    trained: Callable[[str], Trained],
) -> None:
    core = core_of(trained, "masked")
    for policy in (core.with_limit(0, 1), core.with_limit(0, 1, per_head=True)):
        evaluation = evaluate(policy, MaskedMixer, 5, 0, True)  # it raises at a masked action
        assert evaluation.summary()["forced_switches"] > 0


def test_functions_and_other_first_numbers_are_read() -> None:
    def middle(obs: np.ndarray) -> np.ndarray:
        return np.tile([1, 2, 2], (len(obs), 1))

    core = load_core(middle, Mixer)  # its second head counts from 1
    assert core.predict(np.zeros(3, np.float32))[0].tolist() == [1, 2, 2]
    assert evaluate(core, Mixer, 2).summary()["oscillation_ratio"] == 0
    logits = load_core(lambda obs: np.zeros((len(obs), 9)), Mixer, output="logits")
    assert logits.probabilities(np.zeros((1, 3)))[0].tolist() == pytest.approx(
        [1 / 3] * 3 + [1 / 2] * 2 + [1 / 4] * 4
    )


def test_what_heads_cannot_do_is_refused(trained: Callable[[str], Trained], tmp_path: Path) -> None:
    core = core_of(trained, "MultiDiscrete")
    with pytest.raises(InputError, match="one for each of the 3 heads"):
        core.with_hysteresis((0.1, 0.2))
    with pytest.raises(InputError, match="cannot be written as C: export it as ONNX"):
        export_c(core, tmp_path / "policy.c")
    with pytest.raises(InputError, match="chooses among 9 actions and the env has 6"):
        load_core(trained("MultiDiscrete")[1], Switches)
    plain = load_core(lambda obs: np.zeros((len(obs), 2)), "CartPole-v1", output="logits")
    with pytest.raises(InputError, match="only MultiDiscrete and MultiBinary actions have heads"):
        plain.with_limit(0.1, per_head=True)
    with pytest.raises(InputError, match="several thresholds are for actions with several heads"):
        plain.with_hysteresis((0.1, 0.2))
    with pytest.raises(InputError, match="the method learns Discrete ones: train branching-dqn"):
        train("dqn", FromZero, tmp_path / "run", steps=100)
    with pytest.raises(InputError, match=r"gave actions of shape .*: expected \(\d, 3\)"):
        load_core(lambda obs: np.zeros((len(obs), 2)), Mixer, output="action")


@pytest.mark.parametrize("kind", ["MultiDiscrete", "MultiBinary"])
def test_poisoned_zip_runs_nothing(
    trained: Callable[[str], Trained], tmp_path: Path, kind: str
) -> None:
    (model, path), env, target = trained(kind), KINDS[kind][1], tmp_path / "poisoned"
    data = data_of(path)
    for value in data.values():
        if isinstance(value, dict) and ":serialized:" in value:
            value[":serialized:"] = base64.b64encode(pickle.dumps(_Poison(target))).decode()
    bad = with_data(path, tmp_path / "bad.zip", data)
    assert actions_of(load_core(bad, env), env) == actions_of(model, env)
    assert not target.exists()


class _Poison:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return Path.write_text, (self.target, "poisoned")
