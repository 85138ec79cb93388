"""Presets: the default one, and the paper's."""

from typing import Any

import pytest

from policy_inertia import InputError
from policy_inertia.algorithms.dqn import DQNConfig
from policy_inertia.algorithms.sac import SACConfig
from policy_inertia.methods import METHODS
from policy_inertia.presets import ATARI, PRESETS, find_preset
from policy_inertia.run_settings import RunConfig, settings
from policy_inertia.study.declared.frontier import STUDY as FRONTIER
from policy_inertia.study.declared.limit import STUDY as LIMIT
from policy_inertia.study.declared.paper import STUDY as PAPER
from policy_inertia.training.session import Session


@pytest.mark.parametrize("method", METHODS)
def test_the_preset_of_the_paper_changes_nothing_of_a_methods_row(method: str) -> None:
    row = METHODS[method]
    expected = RunConfig(
        method, "Somewhere-v0", row.config, repeats=row.repeats, penalty=row.penalty
    )
    assert settings(method, "Somewhere-v0", preset="paper") == expected


def test_games_have_the_papers_column_for_atari_in_every_preset() -> None:
    assert all(find_preset(name, "atari") is ATARI for name in PRESETS)


@pytest.mark.parametrize("study", [PAPER, FRONTIER, LIMIT], ids=lambda study: study.name)
def test_declared_studies_start_from_the_papers_settings(study: Any) -> None:
    for _, line in study.lines():
        assert line.preset(study.settings) == settings(line.method, line.task.env, preset="paper")


def test_sac_explores_and_values_rewards_only_where_it_has_no_controller() -> None:
    alone, repeating, nested = (
        settings(method, "CartPole-v1").config.core_config
        for method in ("sac", "sac-repeat", "nsac")
    )
    paper = SACConfig()
    assert isinstance(alone, SACConfig)
    assert (alone.entropy_in_target, alone.pessimistic, alone.longest_hold) == (False, False, 50)
    assert repeating == nested
    for name in ("entropy_in_target", "pessimistic", "scaled", "exploration", "averaged"):
        assert getattr(nested, name) == getattr(paper, name) != getattr(alone, name)
    assert settings("sac", "CartPole-v1").n_step == 3
    assert settings("nsac", "CartPole-v1").n_step == 1


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(InputError, match="there is no preset 'papers': did you mean 'paper'"):
        settings("dqn", "CartPole-v1", preset="papers")


def test_a_setting_that_an_old_file_lacks_is_as_in_the_paper() -> None:
    values = settings("dqn", "CartPole-v1", preset="paper").to_dict()
    del values["config"]["exploration"], values["normalise"]
    assert RunConfig.from_dict(values) == settings("dqn", "CartPole-v1", preset="paper")


def test_exploration_is_a_share_of_the_steps() -> None:
    config = DQNConfig(exploration=0.2, epsilon_final=0.05, train_interval=4)
    assert config.for_steps(10_000).epsilon_decay == pytest.approx(0.95 / 500)
    paper = DQNConfig()
    assert paper.for_steps(10_000) is paper


def test_a_run_ends_its_exploration_after_its_share_of_the_steps() -> None:
    for method, changes in (
        ("dqn", {"exploration": 0.5}),
        ("dial-dqn", {"core": {"exploration": 0.5}}),
    ):
        config = settings(method, "CartPole-v1", "paper", steps=400, learning_starts=0, **changes)
        session = Session(config, "CartPole-v1")
        while session.step < 160:
            session.advance()
        assert session.epsilon > 0.2
        while session.step < 208:
            session.advance()
        assert session.epsilon == pytest.approx(0.1)


def test_a_share_outside_0_to_1_is_refused() -> None:
    with pytest.raises(InputError, match=r"exploration is 1\.5: it must be from 0 to 1"):
        DQNConfig(exploration=1.5)
