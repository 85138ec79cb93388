"""Switches that do not all cost the same, and actions that are held for a while."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import onnxruntime
import pytest

from policy_inertia import InputError, Policy, evaluate, export, export_numpy, load_core
from policy_inertia.actions.switching import Switching
from policy_inertia.interop.numpy_runtime import Policy as NumpyPolicy
from policy_inertia.networks.layers import Linear
from policy_inertia.policies.core_policy import core_policy
from policy_inertia.policies.cores import Core
from policy_inertia.policies.probing import read_spaces
from tests.support.heads_env import FromZero
from tests.support.masked_env import Doors

COSTS = ((0, 1, 3), (1, 0, 1), (3, 1, 0))
"""Forward, coast and reverse: to reverse costs three times as much as to coast."""


class Track(gym.Env):
    """Three numbers that wander; only its spaces and its length matter."""

    observation_space = gym.spaces.Box(-3, 3, (3,), np.float32)
    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.t = 0
        return self._see(), {}

    def _see(self) -> np.ndarray:
        return self.np_random.normal(0, 1, 3).astype(np.float32)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.t += 1
        return self._see(), 0.0, False, self.t >= 30, {}


@pytest.fixture(scope="module")
def core() -> Core:
    """A core whose Q-values are the observation."""
    space, spaces = read_spaces(Track)
    layers = (Linear(np.eye(3, dtype=np.float32), np.zeros(3, np.float32)),)
    return Core.from_layers("identity", spaces, "q", layers, space=space)


def taken(policy: Any, rows: Sequence[Sequence[float]]) -> list[int]:
    """The actions for these scores, one after the other."""
    state, actions = None, []
    for row in rows:
        action, state = policy.predict(np.array(row, np.float32), state, None, True)
        actions.append(int(action))
    return actions


def test_threshold_is_multiplied_by_the_cost_of_the_switch(core: Core) -> None:
    priced = core.with_costs(COSTS).with_hysteresis(0.5)
    assert taken(priced, [[1, 0, 0], [0, 0.4, 0]]) == [0, 0]
    assert taken(priced, [[1, 0, 0], [0, 0.5, 0]]) == [0, 1]
    assert taken(priced, [[1, 0, 0], [0, 0, 1.4]]) == [0, 0]
    assert taken(priced, [[1, 0, 0], [0, 0, 1.5]]) == [0, 2]
    # to reverse is not worth its cost, to coast is
    assert taken(priced, [[1, 0, 0], [0, 0.9, 1.4]]) == [0, 1]


def test_equal_costs_are_ordinary_hysteresis(core: Core) -> None:
    plain = core.with_hysteresis(0.3)
    priced = plain.with_costs(1 - np.eye(3))
    for episode, other in zip(
        *(evaluate(p, Track, 5, 0, True).episodes for p in (plain, priced)), strict=True
    ):
        assert episode.actions.tolist() == other.actions.tolist()


def test_switch_takes_as_many_tokens_as_it_costs(core: Core) -> None:
    limited = core.with_costs(COSTS).with_limit(0.0, 3)
    assert taken(limited, [[1, 0, 0], [0, 0, 1], [0, 1, 0]]) == [0, 2, 2]
    assert taken(limited, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]) == [0, 1, 2, 2]


def test_actions_are_held_for_the_dwell(core: Core) -> None:
    held = core.with_dwell(3)
    rows = [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1]]
    assert taken(held, rows) == [0, 0, 0, 1, 1, 1, 2]
    for episode in evaluate(held, Track, 10).episodes:
        ends = np.flatnonzero(np.diff(episode.actions)) + 1
        assert (np.diff(ends, prepend=0) >= 3).all()


def test_dwell_counts_what_a_limit_let_through(core: Core) -> None:
    both = core.with_dwell(3).with_limit(0.25, 1)
    for episode in evaluate(both, Track, 10).episodes:
        ends = np.flatnonzero(np.diff(episode.actions)) + 1
        assert (np.diff(ends, prepend=0)[:-1] >= 3).all()
        assert episode.switches <= 1 + 0.25 * 30


def test_mask_ends_a_dwell() -> None:
    core = load_core(lambda obs: np.zeros((len(obs), 4)), Doors, output="logits", masks=True)
    held = core.with_dwell(20)
    episodes = evaluate(held, Doors, 5, 0, True).episodes  # `Doors` raises at a masked action
    assert sum(e.switches for e in episodes) > 0


def test_heads_are_held_each_for_itself() -> None:
    core = load_core(lambda obs: np.zeros((len(obs), 9)), FromZero, output="logits")
    for episode in evaluate(core.with_dwell(4), FromZero, 5).episodes:
        for head in episode.actions.T:
            ends = np.flatnonzero(np.diff(head)) + 1
            assert (np.diff(ends, prepend=0) >= 4).all()
            assert len(ends) > 1


RULES = {
    "costs": lambda core: core.with_costs(COSTS).with_hysteresis(0.4),
    "tokens": lambda core: core.with_costs(COSTS).with_limit(0.3, 3),
    "dwell": lambda core: core.with_dwell(3),
    "all": lambda core: (
        core.with_costs(COSTS).with_hysteresis(0.2).with_dwell(2).with_limit(0.4, 4)
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_files_keep_the_rules_over_whole_episodes(core: Core, tmp_path: Path, rule: str) -> None:
    policy = core_policy(RULES[rule](core), "Track")
    policy.save(tmp_path / "policy.safetensors")
    again = Policy.load(tmp_path / "policy.safetensors")
    assert again.switching == policy.switching
    export(policy, tmp_path / "policy.onnx")
    export_numpy(policy, tmp_path / "policy.npz")
    session = onnxruntime.InferenceSession(tmp_path / "policy.onnx")
    outputs = [o.name for o in session.get_outputs()]
    in_numpy, env = NumpyPolicy(str(tmp_path / "policy.npz")), Track()
    for seed in range(3):
        obs, _ = env.reset(seed=seed)
        state, done = None, False
        memory = {name: rows * 0 - 1 for name, rows in policy.memory.initial(1).items()}
        in_numpy.reset()
        while not done:
            action, state = again.predict(obs, state, None, True)
            values = session.run(outputs, {"observation": obs[None], **memory})
            results = dict(zip(outputs, values, strict=True))
            assert results["action"] == [action]
            assert in_numpy.act(obs) == action
            memory = {
                name: results["action" if name == "previous_action" else f"next_{name}"]
                for name in memory
            }
            obs, _, _, done, _ = env.step(action)


def test_wrong_rules_are_refused(core: Core) -> None:
    for costs, reason in {
        ((0, 1), (1, 0)): "the costs are for 2 actions",
        ((0, 1, 1), (1, 0)): "row 0 of the costs has 3 numbers: give a square table",
        ((0, 1, 1), (1, 1, 1), (1, 1, 0)): "0 on the diagonal",
        ((0, -1, 1), (1, 0, 1), (1, 1, 0)): "finite numbers from 0 on",
        "abc": "give a table of numbers",
    }.items():
        with pytest.raises(InputError, match=reason):
            core.with_costs(costs)
    with pytest.raises(InputError, match="the dwell is 0"):
        core.with_dwell(0)
    with pytest.raises(InputError, match="costs up to 3 tokens, and the bucket holds 1"):
        core.with_costs(COSTS).with_limit(0.1, 1)
    assert str(Switching.of(COSTS, 3)) == "held for 3 steps at least, switches cost up to 3"
