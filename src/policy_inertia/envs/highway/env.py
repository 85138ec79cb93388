"""The Highway tasks as Gymnasium envs: one scene, or a compiled batch of scenes."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from policy_inertia.envs.batch_checks import checked_actions, refuse_ended, reset_mask, seeds_of
from policy_inertia.envs.highway.config import configuration, limited
from policy_inertia.envs.highway.config_checks import whole
from policy_inertia.envs.highway.simulator.controls import control_names
from policy_inertia.envs.highway.simulator.simulation import Simulation
from policy_inertia.envs.highway.simulator.task import Config
from policy_inertia.envs.highway.tasks import TASKS, task_named
from policy_inertia.envs.highway.upstream import original
from policy_inertia.envs.highway.upstream.configuration import counterpart
from policy_inertia.envs.registry import env_id
from policy_inertia.errors import InputError, nearest, shown

ACTIONS = ("LEFT", "IDLE", "RIGHT", "FASTER", "SLOWER")  # in the order of records.LEFT, ...
INFO = ("crashed", "arrived", "speed", "lane", "cost")
MOST_ENVS, MOST_STEPS = 1_000_000, 10_000_000
MOST_UNCLIPPED = 1e6  # the largest number of a continuous action that is not clipped
_BOUNDED = {"presence", "cos_h", "sin_h"}  # from -1 to 1 without a range


def _observation_space(config: Config) -> gym.spaces.Box:
    observation = config["observation"]
    features = observation["features"]
    ranged = observation["features_range"] or {"x", "y", "vx", "vy"}
    bounded = all(name in _BOUNDED or name in ranged for name in features)
    bounded = bounded and observation["normalize"] and observation["clip"]
    limit = 1.0 if bounded else np.inf
    shape = (int(observation["vehicles_count"]), len(features))
    return gym.spaces.Box(-limit, limit, shape, np.float32)


def _action_space(simulation: Simulation) -> gym.spaces.Discrete | gym.spaces.Box:
    if simulation.continuous:
        numbers = len(control_names(simulation.config["action"]))
        return gym.spaces.Box(-1.0, 1.0, (numbers,), np.float32)
    return gym.spaces.Discrete(simulation.actions_count)


def _checked(simulation: Simulation, actions: np.ndarray) -> np.ndarray:
    """Return an action for each scene; compiled code does not check them."""
    if not simulation.continuous:
        return checked_actions(actions, simulation.n, simulation.actions_count)
    action = simulation.config["action"]
    names = control_names(action)
    if actions.shape != (simulation.n, len(names)) or actions.dtype.kind not in "fiu":
        raise InputError(
            f"an action is {len(names)} numbers ({', '.join(names)}), and {simulation.n} actions "
            f"are expected, got {shown(actions.tolist())}"
        )
    if not (np.abs(actions) <= (np.inf if action["clip"] else MOST_UNCLIPPED)).all():
        raise InputError(f"an action is numbers from -1 to 1, got {shown(actions.tolist())}")
    return actions if actions.dtype.kind == "f" else actions.astype(np.float64)


class TrafficEnv(gym.Env[np.ndarray, Any]):
    """One env of a Highway task.

    Args:
        task: the task's name, such as "TwoWay".
        config: settings on top of the preset, with highway-env's names.
        preset: "paper" is the paper's table. "paper-test" is the same as the paper evaluates it
            (45 vehicles in Lane Change). "upstream" is what highway-env does by default.
        render_mode: "rgb_array" or "human"; both need highway-env.
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 2}  # noqa: RUF012  (as there)

    def __init__(
        self,
        task: str = "LaneChange",
        config: Config | None = None,
        preset: str = "paper",
        render_mode: str | None = None,
    ) -> None:
        traffic_task = task_named(task)
        self.config = configuration(traffic_task, config, preset)
        self.render_mode = _checked_mode(render_mode, self.metadata["render_modes"])
        if render_mode is not None:
            counterpart(traffic_task)
        # a frame for each decision, at twice real time as in highway-env
        self.metadata = self.metadata | {"render_fps": 2 * int(self.config["policy_frequency"])}
        self._drawn: Any = None  # highway-env's env that draws; made when it is first needed
        self.simulation = Simulation(traffic_task, self.config, 1)
        self.observation_space = _observation_space(self.config)
        self.action_space = _action_space(self.simulation)
        self._action = np.zeros(1, np.int64)
        self._all = np.ones(1, bool)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        obs = self._begin(seed)
        self._show()
        return obs, self._info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        given = np.asarray(action)
        given = given[None] if self.simulation.continuous else given.reshape(-1)
        self._action = _checked(self.simulation, given)
        refuse_ended(self.simulation.scenes["running"])
        obs, reward, terminated, truncated = self._advance()
        self._show()
        return obs, reward, terminated, truncated, self._info()

    def _begin(self, seed: int | None) -> np.ndarray:
        self.simulation.begin(self._all, [seed])
        return self.simulation.seen[0].copy()

    def _advance(self) -> tuple[np.ndarray, float, bool, bool]:
        """Take `_action`; return the observation, the reward, terminated and truncated."""
        self.simulation.step(self._action)
        outcome = self.simulation.outcomes[0]
        ends = bool(outcome["terminated"]), bool(outcome["truncated"])
        return self.simulation.seen[0].copy(), float(outcome["reward"]), *ends

    def render(self) -> np.ndarray | None:
        """Draw the scene with highway-env: return an image, or show it in highway-env's window."""
        if self.render_mode is None:
            gym.logger.warn('render() does nothing without a mode: give render_mode="rgb_array"')
            return None
        if not self.simulation.scenes["vehicles"][0]:
            raise gym.error.ResetNeeded("the env must be reset before it is drawn")
        return original.draw(self._original())

    def _original(self) -> Any:
        """Return highway-env's env in the state of ours."""
        if self._drawn is None:
            task = self.simulation.task
            self._drawn = original.make_original(task, self.config, self.render_mode)
        original.write(self.simulation, self._drawn)
        return self._drawn

    def close(self) -> None:
        if self._drawn is not None:
            self._drawn.close()
            self._drawn = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_drawn": None}  # windows cannot be copied

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()

    @property
    def action_names(self) -> tuple[str, ...]:
        """The names of the actions, from action 0 on; of their numbers if they are continuous."""
        if self.simulation.continuous:
            return control_names(self.config["action"])
        actions = self.simulation.tables.settings["actions"][0]
        return tuple(ACTIONS[k] for k in actions[: self.simulation.actions_count])

    def _info(self) -> dict[str, Any]:
        outcome = self.simulation.outcomes[0]
        return {name: outcome[name].item() for name in INFO}


class TrafficVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """A batch of scenes. One compiled call steps them all, with the GIL released.

    The env resets nothing by itself (`AutoresetMode.DISABLED`): reset the ended scenes with
    `reset(seed=[...], options={"reset_mask": ended})`. A scene depends on its own seed alone, not
    on the other scenes or on their number. The arguments are `TrafficEnv`'s; an episode has at most
    `max_episode_steps` steps.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.DISABLED}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        task: str = "LaneChange",
        config: Config | None = None,
        preset: str = "paper",
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
    ) -> None:
        if render_mode is not None:
            raise InputError(
                f"a batch is not drawn, got render_mode={shown(render_mode)}: render a single env, "
                "made with gym.make"
            )
        num_envs = self.num_envs = whole({"num_envs": num_envs}, "num_envs", 1, MOST_ENVS)
        traffic_task = task_named(task)
        self.config = configuration(traffic_task, config, preset)
        if max_episode_steps is not None:
            limit = {"max_episode_steps": max_episode_steps}
            steps = whole(limit, "max_episode_steps", 1, MOST_STEPS)
            self.config = limited(self.config, steps)
        self.simulation = Simulation(traffic_task, self.config, num_envs)
        self.single_observation_space = _observation_space(self.config)
        self.single_action_space = _action_space(self.simulation)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Reset all scenes, or those in `options["reset_mask"]`, each with its own seed."""
        n = self.num_envs
        mask = reset_mask(options, n)
        self.simulation.begin(mask, seeds_of(seed, n))
        return self.simulation.seen.copy(), self._info(mask)

    def step(
        self, actions: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        simulation = self.simulation
        chosen = _checked(simulation, np.asarray(actions))
        refuse_ended(simulation.scenes["running"])
        simulation.step(chosen)
        outcomes = simulation.outcomes
        return (
            simulation.seen.copy(),
            outcomes["reward"].copy(),
            outcomes["terminated"].copy(),
            outcomes["truncated"].copy(),
            self._info(np.ones(self.num_envs, bool)),
        )

    def _info(self, mask: np.ndarray) -> dict[str, Any]:
        info: dict[str, Any] = {}
        for name in INFO:
            info[name] = self.simulation.outcomes[name].copy()
            info[f"_{name}"] = mask
        return info


def _checked_mode(mode: Any, known: list[str]) -> str | None:
    if mode is not None:
        if not isinstance(mode, str) or mode not in known:
            raise InputError(f"there is no render_mode {shown(mode)}{nearest(mode, known)}")
        original.require_upstream("rendering")
    return mode


def register() -> None:
    """Register the tasks with `gym.make` and `gym.make_vec`, except those that already are."""
    for name in TASKS:
        if env_id(name) not in gym.registry:
            gym.register(
                env_id(name),
                entry_point=f"{__name__}:{TrafficEnv.__name__}",
                vector_entry_point=f"{__name__}:{TrafficVectorEnv.__name__}",
                kwargs={"task": name},
            )
