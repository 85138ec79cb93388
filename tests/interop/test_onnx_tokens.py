"""A limit in an exported file: the file spends the same tokens as the policy."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_inertia import export, load_core
from policy_inertia.actions.bucket import TOKEN
from policy_inertia.interop.onnx_in import session
from policy_inertia.policies.memory import PREVIOUS_ACTION
from policy_inertia.policies.token_bucket import TOKENS
from tests.support.policies import fresh
from tests.support.switch_counter import violations

OBS = np.random.default_rng(3).normal(0, 20, (60, 3, 4)).astype(np.float32)
"""Sixty steps of three envs, with observations large enough to change the best action."""


def run_file(path: Path, tokens: np.ndarray, restart: int) -> tuple[np.ndarray, np.ndarray]:
    """The actions and the tokens of a file over all steps; an episode starts again at `restart`."""
    run, previous, log = session(path), np.full(3, -1), []
    for t, obs in enumerate(OBS):
        if t == restart:
            previous = np.full(3, -1)
        feed = {"observation": obs, "previous_action": previous, "tokens": tokens}
        previous, tokens = run.run(["action", "next_tokens"], feed)
        log.append((previous, tokens))
    actions, levels = zip(*log, strict=True)
    return np.array(actions), np.array(levels)


def run_policy(policy: Any, restart: int) -> tuple[np.ndarray, np.ndarray]:
    state, log = None, []
    for t, obs in enumerate(OBS):
        starts = np.full(3, t == restart) if t else None
        action, state = policy.predict(obs, state, starts, deterministic=True)
        log.append((action, state[TOKENS]))
    actions, levels = zip(*log, strict=True)
    return np.array(actions), np.array(levels)


@pytest.mark.parametrize("limit", [(0.1, 2), (0.3, 1.5, True), (0, 3)])
@pytest.mark.parametrize("method", ["dqn", "nsac", "dial-sac", "limit-dqn", "limit-sac"])
def test_file_spends_the_same_tokens_as_the_policy(
    method: str, limit: tuple[float, ...], tmp_path: Path
) -> None:
    policy = fresh(method).with_limit(*limit)  # type: ignore[arg-type]
    assert policy.limit is not None
    export(policy, tmp_path / "p.onnx")
    # at the start of an episode the bucket is full, whatever is given, unless it is carried over
    tokens = np.full(3, policy.limit.burst_units if policy.limit.carry_over else 0)
    actions, levels = run_file(tmp_path / "p.onnx", tokens, restart=30)
    expected = run_policy(policy, restart=30)
    np.testing.assert_array_equal(actions, expected[0])
    np.testing.assert_array_equal(levels, expected[1])
    for env in actions[:30].T.tolist():
        assert violations(env, [limit[:2]] * 30) == []  # type: ignore[list-item]
    assert (np.diff(actions, axis=0) != 0).any()  # something was switched ...
    free = run_policy(fresh(method).with_limit(1), restart=30)[0]
    assert (free != actions).any()  # ... and something was held


def test_core_is_exported_with_its_limit(tmp_path: Path) -> None:
    policy = fresh("dqn")
    core = load_core(policy, "CartPole-v1").with_limit(0.1, 2)
    export(core, tmp_path / "p.onnx")
    actions, levels = run_file(tmp_path / "p.onnx", np.zeros(3, int), restart=30)
    expected = run_policy(core, restart=30)
    np.testing.assert_array_equal(actions, expected[0])
    np.testing.assert_array_equal(levels, expected[1])


def test_limit_has_the_last_word_after_hysteresis(tmp_path: Path) -> None:
    policy = fresh("sac").with_hysteresis(0.001).with_limit(0.2, 2)
    export(policy, tmp_path / "p.onnx")
    actions, levels = run_file(tmp_path / "p.onnx", np.zeros(3, int), restart=30)
    expected = run_policy(policy, restart=30)
    np.testing.assert_array_equal(actions, expected[0])
    np.testing.assert_array_equal(levels, expected[1])


def test_more_tokens_than_the_bucket_holds_are_taken_as_a_full_bucket(tmp_path: Path) -> None:
    policy = fresh("limit-dqn").with_limit(0.1, 2)
    export(policy, tmp_path / "p.onnx")
    state = {PREVIOUS_ACTION: np.zeros(3, int), TOKENS: np.full(3, 100 * TOKEN)}
    action, after = policy.predict(OBS[0], state, deterministic=True)
    feed = {
        "observation": OBS[0],
        "previous_action": state[PREVIOUS_ACTION],
        "tokens": state[TOKENS],
    }
    theirs, tokens = session(tmp_path / "p.onnx").run(["action", "next_tokens"], feed)
    np.testing.assert_array_equal(theirs, action)
    np.testing.assert_array_equal(tokens, after[TOKENS])
    assert after[TOKENS].max() == 2 * TOKEN
