import json

import jax
import numpy as np
import pytest

from policy_inertia import InputError, Policy, evaluate, train
from policy_inertia.calibration.sweep import CALIBRATION, _refined
from policy_inertia.envs.vector import episode_seed
from policy_inertia.metrics.calibration_table import Calibration, Row
from policy_inertia.training.session import EVALUATION, FINAL, TRAINING
from tests.policies.test_policy import fresh
from tests.support import probes
from tests.support.runs import SHORT


def table(*oscillations: float) -> Calibration:
    rows = [Row(0.5 * i, x, 10.0 - i, None, 0.0, 20.0) for i, x in enumerate(oscillations)]
    return Calibration("price", "Task", 20, 0, tuple(rows))


def reaching(policy: Policy, largest: float) -> Policy:
    dial = policy.params.dial._replace(largest=np.float32(largest))
    return policy.replace(params=policy.params._replace(dial=dial))


@pytest.mark.parametrize(
    ("budget", "setting"), [(0.5, 0.0), (0.4, 0.0), (0.3, 0.5), (0.25, 1.5), (0.1, 2.0), (1, 0.0)]
)
def test_budget_is_kept_from_the_lowest_setting_on_that_stays_within_it(budget, setting):
    # 0.2 at 1.0 does not count for a budget of 0.25: the next one is above it again
    assert table(0.4, 0.3, 0.2, 0.25, 0.1).within(budget).setting == (
        setting if budget != 0.25 else 1.0
    )
    wavy = table(0.4, 0.2, 0.3, 0.25, 0.1)
    assert wavy.within(0.25).setting == 1.5
    assert wavy.within(0.3).setting == 0.5


@pytest.mark.parametrize("budget", [0.05, 0.0, 0.0999])
def test_budget_that_is_not_reached_is_refused_with_the_range(budget):
    with pytest.raises(InputError, match=r"not reachable.* from 0.400 down to 0.100 on Task"):
        table(0.4, 0.05, 0.1).within(budget)


@pytest.mark.parametrize("budget", [-0.1, 1.1, float("nan")])
def test_budget_that_is_no_ratio_is_refused(budget):
    with pytest.raises(InputError, match="lies from 0 to 1"):
        table(0.1).within(budget)


def test_table_survives_json():
    before = table(0.4, 0.1)
    assert Calibration.from_dict(json.loads(json.dumps(before.to_dict()))) == before


def test_streams_of_seeds_are_four():
    assert len({TRAINING, EVALUATION, FINAL, CALIBRATION}) == 4


def test_calibration_measures_what_evaluate_measures_on_its_own_episodes():
    policy = fresh("sac", probes.Both, hidden=(8,)).calibrate(probes.Both, episodes=5, seed=7)
    rows = policy.calibration.rows
    for row in (rows[0], rows[len(rows) // 2]):
        seed = episode_seed(7, CALIBRATION)
        found = evaluate(policy.with_hysteresis(row.setting), probes.Both, 5, seed, True).summary()
        assert found["oscillation_ratio"] == row.oscillation_ratio
        assert found["return"] == row.mean_return
    assert [row.setting for row in rows] == sorted(row.setting for row in rows)
    assert rows[0].setting == 0


def measured(setting: float, oscillation: float) -> Row:
    return Row(setting, oscillation, 0.0, None, 0.0, 20.0)


def test_more_settings_go_where_the_oscillation_ratio_changes_most():
    def line(setting: float) -> Row:
        return measured(setting, max(0.1 - 0.1 * setting, 0))

    rows = _refined([line(0.0), line(1.0), line(4.0)], line)
    assert [r.setting for r in rows] == [0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1, 4]


def test_cliff_gets_no_more_settings_than_show_it():
    def cliff(setting: float) -> Row:
        return measured(setting, 0.5 * (setting < 0.7))

    rows = _refined([cliff(0.0), cliff(1.0)], cliff)
    below = max(r.setting for r in rows if r.oscillation_ratio)
    above = min(r.setting for r in rows if not r.oscillation_ratio)
    assert 0 < above - below < 0.01
    assert len(rows) < 12
    assert _refined([cliff(0.0)], cliff) == [cliff(0.0)]


def test_any_policy_keeps_a_budget_by_hysteresis_without_training(tmp_path):
    policy = fresh("dqn").calibrate("CartPole-v1", episodes=10)
    policy.save(tmp_path / "p.safetensors")
    again = Policy.load(tmp_path / "p.safetensors")
    assert again.calibration == policy.calibration
    for budget in (0.0, 0.2):
        kept = again.with_budget(budget)
        seed = episode_seed(0, CALIBRATION)
        found = evaluate(kept, "CartPole-v1", 10, seed, True).summary()["oscillation_ratio"]
        assert found <= budget + 0.01 * (budget == 0)
        assert kept.hysteresis == again.calibration.within(budget).setting


def test_policy_that_was_not_calibrated_says_how():
    with pytest.raises(InputError, match=r"policy = policy\.calibrate\(env\)"):
        fresh("sac").with_budget(0.1)


def test_policy_that_holds_its_actions_by_itself_is_not_calibrated():
    with pytest.raises(InputError, match="holds its actions by itself"):
        fresh("dqn-repeat").calibrate("CartPole-v1")


def test_policy_that_cannot_be_smooth_refuses_the_budget(tmp_path):
    """Where every switch pays 1, a dial that goes up to a price of 0.1 never stops switching."""
    settings = {**SHORT, "steps": 3_000, "calibration_episodes": 5, "gamma": 0.5}
    core = {"learning_rate": 3e-3, "target_period": 50, "epsilon_decay": 1e-3}
    policy = train(
        "dial-dqn",
        probes.SwitchSeen,
        tmp_path / "r",
        act="mu",
        largest=0.1,
        learning_rate=3e-3,
        target_rate=0.05,
        core=core,
        **settings,
    )
    assert policy.largest_price == pytest.approx(0.1)
    with pytest.raises(InputError, match=r"not reachable: .* down to 0.900"):
        policy.with_budget(0.5)
    assert policy.with_budget(0.95).price == 0
    result = json.loads((tmp_path / "r" / "result.json").read_text())
    assert Calibration.from_dict(result["calibration"]) == policy.calibration


def test_dial_turns_between_two_steps():
    policy = fresh("dial-dqn")
    policy = reaching(policy, 2.0).replace(calibration=table(0.4, 0.3, 0.2))
    obs = np.ones(4, np.float32)
    _, state = policy.predict(obs)
    turned = policy.with_budget(0.3)
    assert (policy.price, turned.price, turned.with_budget(0.2).price) == (0, 0.5, 1.0)
    action, after = turned.predict(obs, state)
    assert after[0] == action
    assert "price=0.5" in repr(turned)


@pytest.mark.parametrize(("act", "price"), [("gate", -0.1), ("gate", float("nan")), ("mu", 2.1)])
def test_price_that_makes_no_sense_is_refused(act, price):
    policy = reaching(fresh("dial-dqn", act=act), 2.0)
    reach = "on" if act == "gate" else "to 2, which it learned"
    with pytest.raises(InputError, match=f"the price is {price}: give one from 0 {reach}"):
        policy.at(price)


def test_price_beyond_the_largest_is_charged_for_the_decision_at_hand_alone():
    policy = reaching(fresh("dial-dqn", largest=4.0), 2.0)
    obs, last = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32), np.arange(9) % 2
    at, beyond = (policy.at(price).acting(obs, last).scores for price in (2.0, 3.0))
    # the values do not change; in their unit, 1 + 4, the price does by (3 - 2) / 5
    expected = at + 0.2 * (last[:, None] == np.arange(2))
    np.testing.assert_allclose(beyond, expected, atol=1e-6)


@pytest.mark.parametrize("method", ["sac", "nsac"])
def test_policy_without_a_dial_says_so(method):
    with pytest.raises(InputError, match=r"has no dial: train dial-dqn"):
        fresh(method).at(0.1)


class Preferring(probes.Both):
    """Each step with the good action earns 1."""

    good = 0

    def step(self, action):
        obs, _, terminated, truncated, info = super().step(action)
        return obs, float(action == self.good), terminated, truncated, info


@pytest.mark.parametrize("good", [0, 1])
def test_calibration_keeps_the_better_way_to_begin(good, tmp_path, monkeypatch):
    """A core that is all for action 0 and critics that are all for 1, so that both go on as they
    began: which is better depends on the task alone."""
    policy = reaching(fresh("dial-dqn", probes.Both, act="gate"), 2.0)
    biased = np.array([[9.0, 0.0]], np.float32)
    policy.params.core[-1]["b"] = biased
    policy.params.critics[-1]["b"] = np.stack([biased[:, ::-1]] * 2)
    core, critics = policy.ways()
    monkeypatch.setattr(Preferring, "good", good)
    found = policy.calibrate(Preferring, episodes=2)
    assert float(found.params.dial.begins) == good
    assert {r.mean_return for r in found.calibration.rows} == {
        evaluate(found.at(0.5), Preferring, 1).summary()["length"]
    }
    worse = evaluate((critics, core)[good].at(0.5), Preferring, 2, seed=3).summary()
    assert worse["return"] == 0
    found.save(tmp_path / "policy.safetensors")
    loaded = Policy.load(tmp_path / "policy.safetensors").with_budget(0.5)
    assert float(loaded.params.dial.begins) == good


class Restless(probes.Both):
    """Pays for switching, or for not switching."""

    pays = True

    def pay(self, action):
        return float((action != self.previous) == self.pays)


@pytest.mark.parametrize(("pays", "act"), [(True, "full"), (False, "gate")])
def test_calibration_keeps_the_better_way_to_act(pays, act, tmp_path, monkeypatch):
    """A core that never switches, and critics that would switch at every step: a gate has nothing
    to switch to, so which way is better depends on the task alone."""
    policy = reaching(fresh("dial-dqn", probes.Both), 2.0)
    params = jax.tree.map(np.zeros_like, policy.params._replace(dial=None))
    params = params._replace(dial=policy.params.dial)
    params.core[-1]["b"][:] = [[9.0, 0.0]]
    for a in range(2):  # U(s, a_prev, a) = -9 if a is a_prev
        params.critics[0]["w"][:, 1 + a, a] = 1  # after the one observation
        params.critics[1]["w"][:, a, a] = 1
        params.critics[2]["w"][:, a, a] = -9
    monkeypatch.setattr(Restless, "pays", pays)
    found = policy.replace(params=params).calibrate(Restless, episodes=2)
    assert found.config.act == act
    assert (found.calibration.rows[0].oscillation_ratio > 0.5) == pays
    found.save(tmp_path / "policy.safetensors")
    assert Policy.load(tmp_path / "policy.safetensors").at(0.0).config.act == act


def test_what_a_dial_has_learned_can_be_followed_in_several_ways():
    ways = fresh("dial-dqn").ways()
    assert [(w.config.act, float(w.params.dial.begins)) for w in ways] == [
        ("full", 0),
        ("gate", 0),
        ("gate", 1),
    ]
    assert len(fresh("dial-sac", act="gate").ways()) == 2
    assert len(fresh("dial-sac", act="mu").ways()) == 1
    assert len(fresh("nsac").ways()) == 1
    assert len(fresh("dqn").ways()) == 1
