import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from policy_inertia import InputError, Limit, Policy, calibrate, evaluate, train
from policy_inertia.calibration.budget import best_setting
from policy_inertia.calibration.measurements import Episodes
from policy_inertia.calibration.sweep import _best_rows, _extended, _refined, refine
from policy_inertia.metrics.calibration_table import Calibration, Row
from policy_inertia.metrics.estimates import upper_bound
from policy_inertia.metrics.measures import MEASURES, Figures
from policy_inertia.seeds import Stream, stream_seed
from tests.support import probes
from tests.support.calibrations import reaching, row
from tests.support.policies import fresh
from tests.support.runs import SHORT


def rows_of(policy: Policy) -> tuple[Row, ...]:
    assert policy.calibration is not None
    return policy.calibration.rows


def test_row_holds_every_measure_of_an_evaluation_on_the_calibration_seeds() -> None:
    policy = calibrate(fresh("sac", probes.Both, hidden=(8,)), probes.Both, episodes=5, seed=7)
    rows = rows_of(policy)
    for each in (rows[0], rows[len(rows) // 2]):
        filtered, seed = policy.with_hysteresis(each.setting), stream_seed(7, Stream.CALIBRATION)
        figures = evaluate(filtered, probes.Both, 5, seed, deterministic=True).summary()
        assert each.figures == {name: figures[name] for name in MEASURES}
    assert [each.setting for each in rows] == sorted(each.setting for each in rows)
    assert rows[0].setting == 0


def test_default_env_is_the_task_of_the_policy() -> None:
    policy = fresh("dqn")
    given = calibrate(policy, "CartPole-v1", episodes=2, settings=[0.0, 1.0])
    assert calibrate(policy, episodes=2, settings=[1.0, 0.0]).calibration == given.calibration
    with pytest.raises(InputError, match="on which task it was trained: give env"):
        calibrate(policy.replace(task=""))


def test_more_settings_go_where_the_oscillation_ratio_changes_most() -> None:
    def line(setting: float) -> Row:
        return row(setting, max(0.1 - 0.1 * setting, 0))

    rows = _refined([line(0.0), line(1.0), line(4.0)], line)
    settings = [each.setting for each in rows]
    assert settings == [0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1, 4]


def test_small_movements_are_measured_as_closely_as_large_ones() -> None:
    def moving(scale: float) -> list[float]:
        def line(setting: float) -> Row:
            figures: Figures = dict.fromkeys(MEASURES, 0.0)
            figures["action_fluctuation"] = scale * (4 - setting)
            return Row(setting, figures, measure="action_fluctuation")

        return [each.setting for each in _refined([line(0.0), line(4.0)], line)]

    assert moving(0.001) == moving(0.1)
    assert len(moving(0.001)) > 10


def test_cliff_gets_no_more_settings_than_show_it() -> None:
    def cliff(setting: float) -> Row:
        return row(setting, 0.5 * (setting < 0.7))

    rows = _refined([cliff(0.0), cliff(1.0)], cliff)
    below = max(each.setting for each in rows if each.oscillation_ratio)
    above = min(each.setting for each in rows if not each.oscillation_ratio)
    assert 0 < above - below < 0.01
    assert len(rows) < 12
    assert _refined([cliff(0.0)], cliff) == [cliff(0.0)]


def test_any_policy_keeps_a_budget_by_hysteresis_without_training(tmp_path: Path) -> None:
    policy = calibrate(fresh("dqn"), "CartPole-v1", episodes=10)
    policy.save(tmp_path / "p.safetensors")
    loaded = Policy.load(tmp_path / "p.safetensors")
    assert loaded.calibration == policy.calibration
    assert loaded.calibration is not None
    assert loaded.calibration.setting_name == "threshold"
    for budget in (0.0, 0.2):
        filtered = loaded.with_budget(budget)
        seed = stream_seed(0, Stream.CALIBRATION)
        figures = evaluate(filtered, "CartPole-v1", 10, seed, deterministic=True).summary()
        assert figures["oscillation_ratio"] <= budget + 0.01 * (budget == 0)
        assert filtered.hysteresis == loaded.calibration.within(budget).setting


def test_policy_that_holds_its_actions_is_not_calibrated() -> None:
    with pytest.raises(InputError, match="holds its actions by itself"):
        calibrate(fresh("dqn-repeat"), "CartPole-v1")


def test_run_of_a_dial_ends_with_its_calibration(tmp_path: Path) -> None:
    settings = {**SHORT, "steps": 96, "calibration_episodes": 2}
    policy = train("dial-dqn", "CartPole-v1", tmp_path / "r", **settings)
    result = json.loads((tmp_path / "r" / "result.json").read_text())
    assert Calibration.from_dict(result["calibration"]) == policy.calibration


@pytest.mark.parametrize("price", [-2.1, float("nan"), float("inf")])
def test_price_out_of_range_is_refused(price: float) -> None:
    policy = reaching(fresh("dial-dqn"), 2.0)
    with pytest.raises(InputError, match=f"the price is {price}: give a number from -2"):
        policy.at(price)


def test_dial_without_a_largest_price_has_no_margins() -> None:
    policy = fresh("dial-dqn")
    assert policy.largest_price == 0
    with pytest.raises(InputError, match=r"give a number from 0 \(the core itself\)"):
        policy.at(-1e-9)


@pytest.mark.parametrize("method", ["dial-dqn", "gate-sac"])
def test_sweep_of_a_dial_contains_its_core(method: str) -> None:
    policy = calibrate(reaching(fresh(method), 2.0), "CartPole-v1", episodes=5, seed=3)
    rows = rows_of(policy)
    settings = [each.setting for each in rows]
    assert -2 in settings
    assert any(setting >= 0 for setting in settings)
    loosest = rows[settings.index(-2)]
    seed = stream_seed(3, Stream.CALIBRATION)
    core = evaluate(policy.core(), "CartPole-v1", 5, seed, deterministic=True).summary()
    of_actions = [name for name in MEASURES if core[name] is not None]  # the core has no mu
    assert {"return", "oscillation_ratio", "length"} <= set(of_actions)
    assert [loosest.figures[name] for name in of_actions] == [core[name] for name in of_actions]


def test_cliff_between_two_margins_gets_no_more_settings_than_show_it() -> None:
    def cliff(setting: float) -> Row:
        return row(setting, 0.5 * (setting < -0.7))

    rows = _refined([cliff(-1.0), cliff(0.0)], cliff)
    below = max(each.setting for each in rows if each.oscillation_ratio)
    above = min(each.setting for each in rows if not each.oscillation_ratio)
    assert above - below < 0.01
    assert len(rows) < 11


def test_price_beyond_the_largest_is_charged_for_the_decision_at_hand_alone() -> None:
    policy = reaching(fresh("dial-dqn", largest=4.0), 2.0)
    obs, last = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32), np.arange(9) % 2
    at, beyond = (policy.at(price).acting(obs, last).scores for price in (2.0, 3.0))
    expected = at + (3 - 2) * (last[:, None] == np.arange(2))
    np.testing.assert_allclose(beyond, expected, atol=1e-6)


@pytest.mark.parametrize("method", ["sac", "nsac"])
def test_policy_without_a_dial_has_no_price(method: str) -> None:
    with pytest.raises(InputError, match=r"has no dial: train dial-dqn"):
        fresh(method).at(0.1)


class Preferring(probes.Both):
    """Each step with the good action earns 1."""

    good = 0

    def step(self, action: int) -> Any:
        obs, _, terminated, truncated, info = super().step(action)
        return obs, float(action == self.good), terminated, truncated, info


@pytest.mark.parametrize("good", [0, 1])
def test_calibration_returns_the_better_way_to_start_an_episode(
    good: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The core always prefers action 0, the critics always prefer action 1.

    The policy repeats its first action, so only the task decides which start is better.
    """
    policy = reaching(fresh("gate-dqn", probes.Both), 2.0)
    biased = np.array([[9.0, 0.0]], np.float32)
    policy.params.core[-1]["b"] = biased
    policy.params.controller.critics[-1]["b"] = np.stack([biased[:, ::-1]] * 2)
    core, critics = policy.modes()
    monkeypatch.setattr(Preferring, "good", good)
    best = calibrate(policy, Preferring, episodes=2)
    assert float(best.params.controller.dial.critics_begin) == good
    priced = [each for each in rows_of(best) if each.setting >= 0]  # without a margin for the core
    assert {each.figures["return"] for each in priced} == {
        evaluate(best.at(0.5), Preferring, 1).summary()["length"]
    }
    worse = evaluate((critics, core)[good].at(0.5), Preferring, 2, seed=3).summary()
    assert worse["return"] == 0
    best.save(tmp_path / "policy.safetensors")
    loaded = Policy.load(tmp_path / "policy.safetensors").with_budget(0.5)
    assert float(loaded.params.controller.dial.critics_begin) == good


class Restless(probes.Both):
    """Pays for switching, or for not switching."""

    pays = True

    def pay(self, action: int) -> float:
        return float((action != self.previous) == self.pays)


@pytest.mark.parametrize(("pays", "mode"), [(True, "any action"), (False, "follows its core")])
def test_calibration_returns_the_better_mode(
    pays: bool, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The core never switches, the critics prefer to switch at every step.

    A gate has nothing to switch to, so only the task decides which mode is better.
    """
    policy = reaching(fresh("dial-dqn", probes.Both), 2.0)
    core, controller = policy.params.core, policy.params.controller
    core, critics = (jax.tree.map(np.zeros_like, part) for part in (core, controller.critics))
    core[-1]["b"][:] = [[9.0, 0.0]]
    for a in range(2):  # U(s, a_prev, a) = -9 if a is a_prev
        critics[0]["w"][:, 1 + a, a] = 1  # after the one observation
        critics[1]["w"][:, a, a] = 1
        critics[2]["w"][:, a, a] = -9
    params = policy.params._replace(core=core, controller=controller._replace(critics=critics))
    monkeypatch.setattr(Restless, "pays", pays)
    best = calibrate(policy.replace(params=params), Restless, episodes=2)
    assert mode in best.mode
    free = next(each for each in rows_of(best) if each.setting == 0)
    assert (free.oscillation_ratio > 0.5) == pays
    best.save(tmp_path / "policy.safetensors")
    assert mode in Policy.load(tmp_path / "policy.safetensors").at(0.0).mode


def test_dial_has_several_modes() -> None:
    assert [policy.mode for policy in fresh("dial-dqn").modes()] == [
        "takes any action",
        "repeats or follows its core, the core begins",
        "repeats or follows its core, its critics begin",
    ]
    assert len(fresh("gate-sac").modes()) == 2
    assert [policy.mode for policy in fresh("nsac").modes()] == [""]
    assert len(fresh("dqn").modes()) == 1


def test_rates_of_a_limit_are_swept_from_no_limit_to_no_tokens() -> None:
    policy = calibrate(fresh("limit-dqn", probes.Both), probes.Both, episodes=4)
    settings = [each.setting for each in rows_of(policy)]
    assert settings[0] == 1
    assert settings[-1] == 0
    assert settings == sorted(settings, reverse=True)
    assert policy.calibration is not None
    assert policy.calibration.setting_name == "rate"
    for each in (rows_of(policy)[0], rows_of(policy)[-1]):
        limited, seed = policy.with_limit(each.setting, 4), stream_seed(0, Stream.CALIBRATION)
        figures = evaluate(limited, probes.Both, 4, seed, deterministic=True).summary()
        assert each.figures == {name: figures[name] for name in MEASURES}
    assert policy.with_setting(0.3).limit == Limit(0.3, 4.0)
    assert policy.with_limit(0.1, 2, True).with_setting(0.3).limit == Limit(0.3, 2, True)


def test_more_rates_go_where_the_oscillation_ratio_changes_most() -> None:
    def line(rate: float) -> Row:
        return row(rate, 0.1 * rate)

    settings = [each.setting for each in _refined([line(1.0), line(0.5), line(0.0)], line)]
    assert settings == [1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125, 0]


def test_threshold_with_the_best_return_is_chosen_within_a_limit() -> None:
    limited = fresh("sac", probes.Both, hidden=(8,)).with_limit(0.2, 2)
    policy = calibrate(limited, probes.Both, episodes=6, settings=[0.0, 0.1, 1.0])
    best = max(rows_of(policy), key=lambda each: each.figures["return"] or 0)
    chosen = best_setting(policy)
    assert chosen.hysteresis == best.setting
    assert chosen.limit == Limit(0.2, 2)


def test_modes_are_the_same_from_each_of_them(tmp_path: Path) -> None:
    policy = reaching(fresh("dial-dqn", probes.Both), 2.0)
    names = [mode.mode for mode in policy.modes()]
    for mode in policy.modes():
        assert [other.mode for other in mode.modes()] == names
        mode.save(tmp_path / "mode.safetensors")
        loaded = Policy.load(tmp_path / "mode.safetensors")
        assert (loaded.mode, [other.mode for other in loaded.modes()]) == (mode.mode, names)
    gate = fresh("gate-dqn", probes.Both)
    assert len(gate.modes()[1].modes()) == 2  # a gate that was trained as one never acts freely


def test_budget_sets_the_mode_that_is_best_at_its_oscillation(tmp_path: Path) -> None:
    policy = reaching(fresh("dial-dqn", probes.Both), 2.0)
    free, gate, _ = (mode.mode for mode in policy.modes())
    rows = (row(0.0, 0.4, mode=free), row(0.5, 0.2, mode=gate), row(0.3, 0.1, mode=free))
    policy = policy.replace(calibration=Calibration("price", "Both", 5, 0, rows))
    policy.save(tmp_path / "policy.safetensors")
    policy = Policy.load(tmp_path / "policy.safetensors")
    chosen = [policy.with_budget(budget) for budget in (0.4, 0.2, 0.1)]
    assert [(p.mode, p.price) for p in chosen] == [
        (free, 0),
        (gate, 0.5),
        (free, pytest.approx(0.3)),
    ]
    assert chosen[1].with_budget(0.1).mode == free  # from one mode to another, in mid-episode
    lost = policy.replace(calibration=Calibration("price", "Both", 5, 0, (row(0, 0, mode="x"),)))
    with pytest.raises(InputError, match="has the mode 'x', which dial-dqn does not know"):
        lost.with_budget(0.4)


def test_row_belongs_to_the_mode_that_is_best_at_its_oscillation_on_other_episodes() -> None:
    one = [row(0.0, 0.4, 9.0), row(1.0, 0.2, 8.0), row(2.0, 0.0, 0.0)]
    two = [row(0.0, 0.4, 5.0), row(1.0, 0.2, 5.0), row(2.0, 0.0, 5.0)]
    measured = {
        0: [row(0.0, 0.41, mode="one"), row(1.0, 0.21, mode="one"), row(2.0, 0.01, mode="one")],
        1: [row(0.0, 0.39, mode="two"), row(1.0, 0.19, mode="two"), row(2.0, 0.0, mode="two")],
    }
    rows = _best_rows(measured, [one, two])
    assert [(each.setting, each.mode) for each in rows] == [(0, "one"), (1, "one"), (2, "two")]


def test_smoothest_row_stays_whatever_its_mode() -> None:
    one = [row(0.0, 0.4, 9.0), row(2.0, 0.0, 8.0)]
    two = [row(0.0, 0.4, 5.0), row(2.0, 0.0, 5.0)]
    measured = {
        0: [row(0.0, 0.4, mode="one"), row(2.0, 0.05, mode="one")],
        1: [row(0.0, 0.4, mode="two"), row(2.0, 0.0, mode="two")],
    }
    rows = _best_rows(measured, [one, two])
    assert [each.mode for each in rows] == ["one", "one", "two"]


def test_modes_are_compared_on_episodes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: dict[int, int] = {}

    def noted(self: Episodes, policy: Any) -> Any:
        seeds[self.first_seed] = seeds.get(self.first_seed, 0) + 1
        return run(self, policy)

    run = Episodes.run
    monkeypatch.setattr(Episodes, "run", noted)
    policy = reaching(fresh("dial-dqn", probes.Both), 2.0)
    calibrate(policy, probes.Both, episodes=2, seed=3, settings=[0.0, 1.0])
    own, shared = (stream_seed(3, s) for s in (Stream.SELECTION, Stream.CALIBRATION))
    assert seeds[own] == 2 * 3
    assert seeds[shared] >= 2
    seeds.clear()
    calibrate(fresh("sac", probes.Both), probes.Both, episodes=2, seed=3, settings=[0.0, 1.0])
    assert seeds == {shared: 2}  # one mode: there is nothing to compare


def test_bound_of_a_row_is_that_of_its_episodes() -> None:
    policy = calibrate(fresh("sac", probes.Both, hidden=(8,)), probes.Both, 5, 7, [0.0])
    seed = stream_seed(7, Stream.CALIBRATION)
    episodes = evaluate(policy.with_hysteresis(0.0), probes.Both, 5, seed, True).episodes
    ratios = [episode.switches / len(episode) for episode in episodes]
    assert rows_of(policy)[0].oscillation_bound == pytest.approx(upper_bound(ratios))


def test_sweep_goes_on_until_the_policy_never_switches() -> None:
    def at(setting: float) -> Row:
        return row(setting, 0.008 if setting < 4 else 0.0)

    assert [each.setting for each in _extended([at(0.0), at(1.0)], at)] == [0, 1, 2, 4]
    forever = _extended([row(0.0, 0.1), row(1.0, 0.005)], lambda setting: row(setting, 0.005))
    assert [each.setting for each in forever] == [0, 1, 2, 4, 8, 16]


def test_settings_close_to_a_budget_are_searched_for() -> None:
    coarse = calibrate(
        fresh("sac", probes.Both, hidden=(8,)), probes.Both, 8, 0, settings=[0.0, 0.01, 5.0]
    )
    ratios = [each.oscillation_ratio for each in rows_of(coarse)]
    assert ratios[0] > 0.1 > ratios[-1] == 0
    calls: list[tuple[int, int]] = []
    fine = refine(coarse, probes.Both, 0.1, progress=lambda done, of: calls.append((done, of)))
    added = len(rows_of(fine)) - 3
    assert [done for done, _ in calls] == [*range(added + 1), added]
    assert calls[-1] == (added, added)
    settings = [each.setting for each in rows_of(fine)]
    assert 3 < len(settings) <= 11
    assert settings == sorted(settings)
    before, after = (p.with_budget(0.1).hysteresis for p in (coarse, fine))
    assert isinstance(before, float)
    assert isinstance(after, float)
    assert after <= before
    assert refine(coarse, probes.Both, 1.0).calibration == coarse.calibration  # all keep it


def test_progress_counts_the_settings_to_the_end() -> None:
    calls: list[tuple[int, int]] = []
    policy = calibrate(
        fresh("sac", probes.Both, hidden=(8,)),
        probes.Both,
        episodes=2,
        progress=lambda done, of: calls.append((done, of)),
    )
    rows = len(rows_of(policy))
    assert [done for done, _ in calls] == [*range(rows + 1), rows]
    assert all(done <= of for done, of in calls)
    assert calls[-1] == (rows, rows)


def test_trials_count_the_settings_of_every_mode() -> None:
    policy = fresh("dial-dqn", probes.Both, hidden=(8,))
    table = calibrate(policy, probes.Both, 2, settings=[0.0]).calibration
    assert table is not None
    assert len(policy.modes()) > 1
    assert table.trials == len(policy.modes()) + len(table.rows)
