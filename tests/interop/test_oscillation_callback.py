from typing import Any, ClassVar

import pytest
from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.env_util import make_vec_env

import policy_inertia as pi
from tests.support import probes
from tests.support.chase import LENGTH, Chase

REPLAY: dict[str, Any] = {"buffer_size": 200, "learning_starts": 300, "device": "cpu"}


class Noting(BaseCallback):
    """Keeps the last figures that were logged."""

    def _on_step(self) -> bool:
        logged = self.logger.name_to_value
        self.figures = {k: v for k, v in logged.items() if k.startswith("oscillation/")}
        return True


class Measured(pi.RecordOscillation):
    """The figures of every episode, as the env sees its actions."""

    seen: ClassVar[list[dict[str, float]]] = []

    def step(self, action: Any) -> Any:
        step = super().step(action)
        if step[2] or step[3]:
            self.seen.append({k: v for k, v in step[4].items() if k.startswith("oscillation/")})
        return step


@pytest.mark.parametrize(
    ("algorithm", "env", "settings"),
    [
        (PPO, Chase, {"n_steps": 2 * LENGTH, "batch_size": LENGTH, "device": "cpu"}),
        (SAC, Chase, REPLAY),
        (DQN, probes.Repeat, REPLAY),
    ],
)
def test_figures_of_training_are_logged(algorithm: Any, env: Any, settings: Any) -> None:
    Measured.seen = []
    noting = Noting()
    envs = make_vec_env(lambda: Measured(env()), 2)
    model = algorithm("MlpPolicy", envs, seed=0, **settings)
    model.learn(4 * LENGTH, callback=CallbackList([pi.OscillationCallback(), noting]))
    assert len(Measured.seen) >= 4
    assert set(noting.figures) == set(Measured.seen[0])
    for name, figure in noting.figures.items():
        seen = [figures[name] for figures in Measured.seen]
        assert figure == pytest.approx(sum(seen) / len(seen), abs=1e-6)
