from typing import Any

from policy_inertia.study.declared.limit import BUDGETS, STUDY


def test_all_lines_have_the_same_learner_steps_and_network() -> None:
    assert len(STUDY.experiments) == 5
    assert min(STUDY.seeds) > 104  # 100 was looked at in design
    for experiment in STUDY.experiments:
        assert experiment.limits == BUDGETS
        configs = [line.config(STUDY.settings, 100) for line in experiment.lines]
        assert len({(c.steps, c.batch_size, c.gamma, c.envs) for c in configs}) == 1
        learners: list[Any] = [c.config for c in configs]
        learners += [c.core for c in learners if hasattr(c, "core")]
        same = {(c.learning_rate, c.hidden, c.train_interval, c.huber) for c in learners}
        assert len(same) == 1
        dqns = [c for c in learners if hasattr(c, "scaled")]
        assert len(dqns) == len(configs)
        assert all(c.scaled for c in dqns)


def test_highway_is_trained_for_400_000_steps() -> None:
    for experiment in STUDY.experiments[:4]:
        for line in experiment.lines:
            assert line.config(STUDY.settings, 100).steps == 400_000


def test_all_methods_are_tuned_inside_the_same_limits(tmp_path: Any) -> None:
    experiment = STUDY.experiments[0]
    for line in experiment.lines:
        run = STUDY.run(tmp_path, experiment, line, 100)
        assert run.limits == run.tuned_limits == BUDGETS
