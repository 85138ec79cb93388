"""A limit on switching is kept, whatever the policy, the env and the changes of the limit."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy_inertia import InputError, Limit, Policy, evaluate, load_core
from policy_inertia.actions.bucket import TOKEN
from policy_inertia.actions.discrete import Discrete
from policy_inertia.policies.memory import PREVIOUS_ACTION, State, memory_of
from policy_inertia.policies.token_bucket import TOKENS, TokenBucket
from tests.support.pair_actions import Pairs
from tests.support.policies import OBS, fresh
from tests.support.recording_env import Loud
from tests.support.switch_counter import violations, violations_of_episodes

METHODS = ("dqn", "sac", "nsac", "ndqn", "dial-dqn", "gate-sac", "limit-dqn", "limit-sac")
LIMITS = st.tuples(
    st.one_of(st.sampled_from([0.0, 0.1, 0.3, 1.0]), st.floats(0, 1)),
    st.one_of(st.integers(1, 5), st.floats(1, 5)),
)


def take(limit: Limit, choices: np.ndarray, state: State, actions: Any) -> State:
    """One step of a bucket; the memory after it."""
    action, fields = TokenBucket(limit, actions).step(choices, choices, state)
    return {**fields, PREVIOUS_ACTION: action}


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_no_stretch_of_steps_holds_more_switches_than_the_limit_allows(data: Any) -> None:
    """Random choices of random envs, with limits that change in mid-episode."""
    draw, n_actions = data.draw, data.draw(st.integers(2, 4))
    n, steps = draw(st.integers(1, 3)), draw(st.integers(1, 40))
    carry = draw(st.booleans())
    limits = [draw(LIMITS)]
    choices = draw(
        st.lists(
            st.lists(st.integers(0, n_actions - 1), min_size=n, max_size=n),
            min_size=steps,
            max_size=steps,
        )
    )
    space = Discrete(n_actions)
    state: State | None = None
    log: list[list[int]] = []
    starts: list[set[int]] = [{0} for _ in range(n)]
    for t, choice in enumerate(choices):
        if t:
            limits.append(draw(LIMITS) if draw(st.integers(0, 9)) == 0 else limits[-1])
        rate, burst = limits[-1]
        limit = Limit(rate, burst, carry)
        ends = np.array([draw(st.integers(0, 14)) == 0 for _ in range(n)]) if t else None
        memory = memory_of(space, (TokenBucket(limit, space),))
        state = take(limit, np.array(choice), memory.at(state, n, ends), space)
        for i in range(n):
            if ends is not None and ends[i]:
                starts[i].add(t)
        log.append(state[PREVIOUS_ACTION].tolist())
    for i in range(n):
        actions = [row[i] for row in log]
        if carry:  # one bucket for all episodes
            assert violations(actions, limits, starts[i]) == []
        else:
            ends_of = [*sorted(starts[i]), steps]
            for first, last in itertools.pairwise(ends_of):
                assert violations(actions[first:last], limits[first:last]) == []


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("rate", "burst"), [(0.0, 1), (0.1, 2), (0.3, 1.5)])
def test_every_method_keeps_its_limit_in_every_episode(
    method: str, rate: float, burst: float
) -> None:
    policy = fresh(method)
    free, limited = (
        [e.actions.tolist() for e in evaluate(p, Loud, 4).episodes]
        for p in (policy, policy.with_limit(rate, burst))
    )
    assert violations_of_episodes(limited, rate, burst) == []
    assert violations_of_episodes(free, rate, burst)  # so there was something to limit


def test_counter_finds_the_stretch_with_too_many_switches() -> None:
    assert violations([0, 1, 1, 0], [(0.5, 1)] * 4) == []
    assert violations([0, 1, 0, 1], [(0.5, 1)] * 4) == [(1, 3, 3)]
    assert violations([0, 1, 0, 1], [(0.5, 2)] * 4) == []
    assert violations([0, 1, 0, 1], [(0.5, 2), *[(0.5, 1)] * 3]) == [(1, 3, 3)]
    assert violations([0, 1, 0, 1], [(0.5, 1)] * 4, starts=(0, 2)) == []


def test_without_a_token_the_last_action_is_repeated() -> None:
    limit, space = Limit(0.25, 1), Discrete(2)
    state = memory_of(space, (TokenBucket(limit, space),)).initial(1)
    actions, levels = [], []
    for choice in (0, 1, 0, 0, 0, 0, 1):
        levels.append(state[TOKENS][0] / TOKEN)
        state = take(limit, np.array([choice]), state, space)
        actions.append(int(state[PREVIOUS_ACTION][0]))
    assert actions == [0, 1, 1, 1, 1, 0, 0]
    assert levels == [1, 1, 0.25, 0.5, 0.75, 1, 0.25]


def test_one_env_is_held_as_the_same_env_in_a_batch() -> None:
    rng, limit, space = np.random.default_rng(0), Limit(0.3, 2), Discrete(3)
    tokens, previous = rng.integers(0, 3 * TOKEN, 200), rng.integers(-1, 3, 200)
    choices = rng.integers(0, 3, 200)
    batch = take(limit, choices, {TOKENS: tokens, PREVIOUS_ACTION: previous}, space)
    for i in range(200):
        row = slice(i, i + 1)
        one = {TOKENS: tokens[row], PREVIOUS_ACTION: previous[row]}
        one = take(limit, choices[row], one, space)
        assert {k: v.tolist() for k, v in one.items()} == {k: [v[i]] for k, v in batch.items()}


def test_actions_of_two_numbers_spend_what_their_space_says() -> None:
    space, limit = Pairs(3), Limit(0, 1)
    state = memory_of(space, (TokenBucket(limit, space),)).initial(2)
    choices = np.array([[[0, 0], [0, 0]], [[0, 1], [1, 1]], [[1, 1], [0, 0]], [[0, 0], [1, 0]]])
    for choice in choices:
        state = take(limit, choice, state, space)
    # one number at a time costs half a token, both at once a whole one
    assert state[PREVIOUS_ACTION].tolist() == [[1, 1], [1, 1]]
    assert state[TOKENS].tolist() == [0, 0]


@pytest.mark.parametrize("method", ["dqn", "limit-dqn"])
def test_tokens_are_part_of_the_state(method: str) -> None:
    policy = fresh(method).with_limit(0.1, 2)
    _, state = policy.predict(OBS[:3])
    assert state[TOKENS].tolist() == [2 * TOKEN] * 3  # a full bucket holds no more
    state[PREVIOUS_ACTION] = 1 - policy.predict(OBS[:3], state)[1][PREVIOUS_ACTION]
    empty = {**state, TOKENS: np.zeros(3, int)}
    action, after = policy.predict(OBS[:3], empty, deterministic=True)
    np.testing.assert_array_equal(action, state[PREVIOUS_ACTION])
    assert after[TOKENS].tolist() == [TOKEN // 10] * 3


def test_new_episode_starts_with_a_full_bucket_unless_tokens_are_carried_over() -> None:
    state = {PREVIOUS_ACTION: np.array([0, 0]), TOKENS: np.array([5, 5])}
    for carry, expected in ((False, [2 * TOKEN, 5 + TOKEN // 10]), (True, [5 + TOKEN // 10] * 2)):
        policy = fresh("dqn").with_limit(0.1, 2, carry)
        _, after = policy.predict(OBS[:2], state, [True, False])
        assert after[TOKENS].tolist() == expected


def test_limit_may_change_in_mid_episode() -> None:
    policy = fresh("dqn").with_limit(0.1, 4)
    _, state = policy.predict(OBS[:2])
    state[PREVIOUS_ACTION] = policy.predict(OBS[:2], state)[0]
    _, smaller = policy.with_limit(0, 2).predict(OBS[:2], state)
    assert max(smaller[TOKENS]) == 2 * TOKEN  # tokens are kept, up to the new burst
    _, larger = policy.with_limit(0, 5).predict(OBS[:2], state)
    assert max(larger[TOKENS]) == 4 * TOKEN
    free = fresh("dqn").predict(OBS[:2])[1]
    assert TOKENS not in free
    _, new = policy.predict(OBS[:2], free)  # a limit that is new starts with a full bucket
    assert min(new[TOKENS]) >= 3 * TOKEN


def test_state_of_another_number_of_envs_is_refused() -> None:
    policy = fresh("dqn").with_limit(0.1, 2)
    _, state = policy.predict(OBS[:3])
    with pytest.raises(InputError, match="rows for 3 envs and there are 2 observations"):
        policy.predict(OBS[:2], state)


def test_limit_around_a_method_that_holds_its_actions_is_refused() -> None:
    with pytest.raises(InputError, match="dqn-repeat holds its actions by itself: put a limit"):
        fresh("dqn-repeat").with_limit(0.1, 2)


@pytest.mark.parametrize("method", ["dqn", "nsac", "limit-sac"])
def test_file_keeps_the_limit(method: str, tmp_path: Path) -> None:
    policy = fresh(method).with_limit(0.1, 2.5, True)
    policy.save(tmp_path / "p.safetensors")
    loaded = Policy.load(tmp_path / "p.safetensors")
    assert loaded.limit == Limit(0.1, 2.5, True)
    assert str(loaded) == str(policy)
    assert "limit=0.1 per step, burst 2.5, carried over" in str(policy)
    for ours, theirs in zip(run(policy), run(loaded), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def run(policy: Policy) -> list[np.ndarray]:
    """The tokens of a few steps."""
    state, tokens = None, []
    for t in range(8):
        _, state = policy.predict(np.roll(OBS, t, 0), state, deterministic=True)
        tokens.append(state[TOKENS])
    return tokens


def test_core_of_another_program_keeps_a_limit_without_learning() -> None:
    core = load_core(lambda obs: int(obs[0] * 1e3) % 2, "CartPole-v1").with_limit(0.1, 2)
    assert core.kind == "action"  # a filter needs no scores
    episodes = [e.actions.tolist() for e in evaluate(core, "CartPole-v1", 5).episodes]
    assert violations_of_episodes(episodes, 0.1, 2) == []
    assert "limit=0.1 per step, burst 2" in str(core)
    with pytest.raises(InputError, match="depends on its previous action"):
        load_core(fresh("dqn").with_limit(0.1, 2), "CartPole-v1")


def test_hysteresis_decides_before_the_limit() -> None:
    policy = fresh("dqn").with_limit(0.1, 2).with_hysteresis(0.0)
    state = {PREVIOUS_ACTION: np.zeros(16, int), TOKENS: np.zeros(16, int)}
    assert not policy.predict(OBS, state, deterministic=True)[0].any()
    full = {**state, TOKENS: np.full(16, TOKEN)}
    action, after = policy.predict(OBS, full, deterministic=True)
    assert action.sum() > 0
    huge = fresh("dqn").with_hysteresis(1e9).with_limit(0.1, 2)
    _, unspent = huge.predict(OBS, full, deterministic=True)
    assert (unspent[TOKENS] == TOKEN + TOKEN // 10).all()  # what hysteresis holds costs nothing
    assert (after[TOKENS] == TOKEN // 10)[action == 1].all()


def test_policy_without_its_controller_stays_within_the_limit() -> None:
    policy = fresh("limit-dqn").with_limit(0.1, 2)
    assert policy.core().limit == policy.limit
    assert policy.within(None).limit is None
