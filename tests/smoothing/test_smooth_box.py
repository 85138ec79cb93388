"""`smooth` for continuous actions: which filter keeps the budget, and what it costs."""

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import (
    ContinuousCore,
    Exponential,
    InputError,
    Limit,
    MovementLimit,
    evaluate,
    load_core,
    smooth,
)
from policy_inertia.metrics.measures import FLUCTUATION, MEASURES
from policy_inertia.policies.action_filters.rule_table import FILTERS
from policy_inertia.seeds import Stream, stream_seed
from policy_inertia.smoothing.smoothed import Smoothed
from tests.support.chase import Chase, follow
from tests.support.cores import jittery
from tests.support.probes import DeadZone

FEW: dict[str, Any] = {"episodes": 8, "calibration_episodes": 4, "hysteresis_only": True}
BUDGET = 0.04


def lazy(obs: np.ndarray) -> np.ndarray:
    """A policy that hardly moves."""
    return 0.01 * np.clip(obs, -2, 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("smooth") / "run"


@pytest.fixture(scope="module")
def result(folder: Path) -> Smoothed:
    return smooth(follow, Chase, max_fluctuation=BUDGET, out=folder, **FEW)


def test_best_filter_keeps_the_budget_on_held_out_episodes(result: Smoothed) -> None:
    assert next(iter(result.candidates)) == "core"
    assert len(result.candidates) == 2
    core, best = result.candidates.values()
    assert result.recommended == best.name == result.policy.rule.name
    assert best.figures["action_fluctuation"] <= BUDGET < core.figures["action_fluctuation"]
    held_out = evaluate(result.policy, Chase, 8, stream_seed(0, Stream.HELD_OUT), True)
    assert held_out.summary() == best.figures


def test_filter_is_the_one_with_the_best_return_on_the_episodes_of_calibration(
    result: Smoothed,
) -> None:
    assert list(result.frontiers) == [rule.name for rule in FILTERS]
    returns = {}
    for name, curve in result.frontiers.items():
        assert len(curve.rows) == 25
        assert curve.episodes == 4
        if curve.rows[-1].fluctuation_bound <= BUDGET:
            returns[name] = curve.within(BUDGET).figures["return"] or 0.0
    assert len(returns) >= 4
    assert result.recommended == max(returns, key=lambda name: returns[name])
    assert result.policy.setting == result.frontiers[result.recommended].within(BUDGET).setting


def test_text_says_how_bad_it_is_which_filter_and_what_it_costs(result: Smoothed) -> None:
    text = str(result)
    assert "within the budget of 0.04" in text
    assert " of its range per step" in text
    assert "of what the core gains over random actions" in text
    for name in ("sign_reversals", "jerk", "caps_smoothness"):
        assert MEASURES[name].title in text
    assert "0.04 <-" in text
    assert "Nothing was trained. --train trains a controller nevertheless." in text
    assert result.verdict.met


def test_folder_holds_the_verdict_every_curve_and_the_policy(
    result: Smoothed, folder: Path
) -> None:
    about = json.loads((folder / "smooth.json").read_text())
    assert about["recommended"] == result.recommended
    assert about["candidates"][result.recommended]["filter"]["name"] == result.recommended
    assert set(about["frontiers"]) == {rule.name for rule in FILTERS}
    loaded = ContinuousCore.load(folder, load_core(follow, Chase))
    assert (loaded.rule, loaded.task) == (result.policy.rule, "Chase")
    obs = np.ones((3, 2), np.float32)
    np.testing.assert_array_equal(loaded.predict(obs)[0], result.policy.predict(obs)[0])
    with pytest.raises(InputError, match="holds a smoothed policy already: add --resume"):
        smooth(follow, Chase, BUDGET, out=folder, **FEW)
    with pytest.raises(InputError, match="was started around follow and the core is now lazy"):
        smooth(lazy, Chase, BUDGET, out=folder, resume=True, **FEW)


def test_policy_within_the_budget_is_left_alone() -> None:
    result = smooth(lazy, Chase, max_fluctuation=0.05, **FEW)
    assert list(result.candidates) == ["core"]
    assert result.frontiers == {}
    assert "it already meets the budget of 0.05" in str(result)
    assert result.policy.rule is None


def test_budget_is_half_of_what_the_policy_does_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("policy_inertia.smoothing.movement_goal.FILTERS", (Exponential(1.0),))
    result = smooth(follow, Chase, **FEW)
    core = result.candidates["core"].figures["action_fluctuation"]
    assert result.budget == core / 2
    assert result.recommended == "exponential"


def test_filter_that_costs_too_much_is_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("policy_inertia.smoothing.movement_goal.FILTERS", FILTERS[3:])

    class Flicker(Chase):
        """The target jumps to the other side at every step."""

        def _target(self) -> np.ndarray:
            return np.full(2, 1.9 if self.t % 2 else -1.9, np.float32)

    result = smooth(follow, Flicker, max_fluctuation=0.05, **FEW)
    assert result.recommended == "core"
    assert not result.verdict.met
    assert "the budget of 0.05 is not met by any policy that is as good as the core" in str(result)


@pytest.mark.parametrize("budget", [None, 0.04])
def test_limit_is_kept_by_every_policy_but_the_core(
    budget: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    filters = (Exponential(1.0),)
    monkeypatch.setattr("policy_inertia.smoothing.movement_goal.FILTERS", filters)
    limit = MovementLimit(0.05, 0.1)
    result = smooth(follow, Chase, budget, limit=limit, **FEW)
    assert list(result.candidates) == ["core", "limit", "exponential"]
    assert "moves by at most 0.1 + 0.05 n of its range in n steps, always" in str(result)
    assert ("within the budget of 0.04" in str(result)) == (budget is not None)
    for name in ("limit", "exponential"):
        policy = result.candidates[name].policy
        assert policy.limit == limit
        for episode in evaluate(policy, Chase, 3).episodes:
            moves = np.abs(np.diff(episode.actions, axis=0)).mean(1) / 2
            for start in range(len(moves)):
                movement = np.cumsum(moves[start:])
                assert (movement <= 0.1 + 0.05 * np.arange(1, len(movement) + 1) + 1e-9).all()


def test_limit_alone_sets_a_filter_by_its_return(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("policy_inertia.smoothing.movement_goal.FILTERS", (Exponential(1.0),))
    result = smooth(follow, Chase, limit=(0.2, 0.5), **FEW)
    assert result.limit == MovementLimit(0.2, 0.5)
    rows: Any = result.frontiers["exponential"].rows
    best = max(rows, key=lambda row: row.figures["return"] or 0.0)
    assert result.candidates["exponential"].policy.setting == best.setting


def test_declared_dimensions_hold_for_the_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("policy_inertia.smoothing.movement_goal.FILTERS", (Exponential(1.0),))
    result = smooth(follow, Chase, 0.07, dimensions=("absolute", "untouched"), **FEW)
    assert result.policy.dimensions == ("absolute", "untouched")
    run = evaluate(result.policy, Chase, 4)
    moved = np.mean([np.abs(np.diff(e.actions, axis=0)).mean(0) for e in run.episodes], axis=0)
    assert moved[0] < 0.5 * moved[1]


class OneStep(Chase):
    """An episode is a single step."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        *rest, _, info = super().step(action)
        return *rest, True, info


class Narrow(Chase):
    action_space: gym.Space[Any] = gym.spaces.Box(-3, 3, (2,), np.float32)


@pytest.mark.parametrize(
    ("core", "env", "options", "says"),
    [
        (follow, Chase, {"budget": 5}, "the budget is 5: give a share of the range per step"),
        (follow, Chase, {"budget": 0.1, "max_fluctuation": 0.1}, "give one of them"),
        (follow, Chase, {"train": True}, "train and hysteresis_only contradict each other"),
        (follow, Chase, {"mu": True}, "mu asks for the paper's inertia, which has no budget of mo"),
        (follow, Chase, {"limit": Limit(0.1)}, r"for these actions give MovementLimit\(rate, b"),
        (follow, Chase, {"limit": (0.1, 0.0)}, "the burst of a limit is 0"),
        (follow, Chase, {"dimensions": ["delta"]}, "1 dimensions are declared and an action has 2"),
        (follow, OneStep, {}, "an episode has a single step, so its action fluctuation is not"),
        (jittery, DeadZone, {"max_fluctuation": 0.1}, "the actions are Discrete: give budget"),
        (jittery, DeadZone, {"dimensions": ["delta"]}, "the actions of jittery are Discrete"),
        (jittery, DeadZone, {"limit": MovementLimit(0.1)}, r"give Limit\(rate, burst\)"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(
    core: Any, env: Any, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        smooth(core, env, **options, **FEW)


def test_policy_with_a_filter_or_for_other_bounds_is_refused() -> None:
    core = load_core(follow, Chase)
    with pytest.raises(InputError, match="depends on its last action: give it without its filters"):
        smooth(core.with_filter(Exponential(0.5)), Chase, 0.1, **FEW)
    with pytest.raises(InputError, match=r"from -2 to 2.*and Narrow has .*from -3 to 3"):
        smooth(core, Narrow, 0.1, **FEW)


def test_policy_that_breaks_down_in_mid_episode_is_refused_in_one_sentence() -> None:
    def diverging(obs: np.ndarray) -> np.ndarray:
        return np.where(abs(obs) > 1.5, np.nan, np.clip(obs, -2, 2))

    core = ContinuousCore("diverging", load_core(follow, Chase).spaces, diverging)
    with pytest.raises(InputError, match=r"diverging gave nan as number . of an action"):
        smooth(core, Chase, 0.1, **FEW)


def test_measure_of_the_budget_is_the_one_that_is_drawn(result: Smoothed) -> None:
    assert result.stakes.wording.measure is FLUCTUATION
