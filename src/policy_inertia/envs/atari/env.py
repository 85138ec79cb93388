"""Atari games as Gymnasium envs: one game, or a batch that ale-py steps."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from policy_inertia.envs.atari.options import Options, options_from
from policy_inertia.envs.atari.roms import games, library, rom_of, vector_class
from policy_inertia.envs.batch_checks import checked_actions, refuse_ended, reset_mask, seeds_of
from policy_inertia.envs.registry import env_id
from policy_inertia.errors import InputError, nearest, shown

INFO = ("lives", "episode_frame_number")
SEEDS = 2**31  # ale-py's seeds are below this
FRAMES_PER_SECOND = 60


def _make(game: str, num_envs: int, options: Options, **preprocessing: Any) -> Any:
    """Return ale-py's batch. It resets an ended game in its next step; we reset it before that."""
    return vector_class()(
        game,
        num_envs,
        num_threads=1,
        autoreset_mode=AutoresetMode.NEXT_STEP,
        repeat_action_probability=float(options.repeat_action_probability),
        frameskip=int(options.frameskip),
        noop_max=options.noop_max,
        use_fire_reset=False,
        reward_clipping=options.reward_clipping,
        full_action_space=options.full_action_space,
        max_num_frames_per_episode=options.max_num_frames_per_episode,
        **preprocessing,
    )


class GameVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """A batch of one game. ale-py steps it in one call and one thread.

    Observations are ale-py's: the last `stack` screens, newest last. A screen is the maximum of a
    step's last two frames, grey, 84 x 84. Before an episode's first screen the stack is blank.

    The env resets nothing by itself (`AutoresetMode.DISABLED`): reset the ended games with
    `reset(seed=[...], options={"reset_mask": ended})`. An episode depends on its seed and its
    actions alone. Seeds are taken modulo 2^31.

    With `episodic_life` a lost life ends an episode, and `info["goes_on"]` is True if the game is
    not over. A reset without a seed then continues the game; a reset with a seed begins a new one.

    Args:
        num_envs: number of games in the batch.
        game: the name of the game's ROM, such as "ms_pacman".
        render_mode: must be None; a batch is not drawn.
        **options: see `Options`.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.DISABLED}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        game: str = "qbert",
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.options = options_from(options)
        if render_mode is not None:
            raise InputError(
                f"a batch is not drawn, got render_mode={shown(render_mode)}: render a single env, "
                "made with gym.make"
            )
        given: Any = num_envs
        if not isinstance(given, int | np.integer) or given < 1:
            raise InputError(f"num_envs must be 1 or more, got {shown(num_envs)}")
        rom_of(game)
        self.num_envs = num_envs
        self._games = _make(game, num_envs, self.options, stack_num=self.options.stack)
        self.single_observation_space = self._games.single_observation_space
        self.single_action_space = self._games.single_action_space
        self._count = int(self._games.single_action_space.n)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.goes_on = np.zeros(num_envs, bool)
        self._running = np.zeros(num_envs, bool)
        self._steps = np.zeros(num_envs, np.int64)  # of each running episode
        self._seen = np.zeros(self.observation_space.shape or (), np.uint8)
        self._ale_info = {name: np.zeros(num_envs, np.int32) for name in INFO}

    @property
    def action_names(self) -> tuple[str, ...]:
        """The names of the actions, from action 0 on."""
        return tuple(action.name for action in self._games.ale.get_action_set())

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Reset all games, or those in `options["reset_mask"]`, each with its own seed."""
        mask = reset_mask(options, self.num_envs)
        seeds = np.array([-1 if s is None else s % SEEDS for s in seeds_of(seed, self.num_envs)])
        goes_on = mask & self.goes_on & (seeds < 0)
        begins = mask & ~goes_on
        if begins.any():
            try:
                seen, info = self._games.reset(seed=seeds[begins], options={"reset_mask": begins})
            except RuntimeError as error:
                raise InputError(f"the first reset must be of all {self.num_envs} envs") from error
            self._seen[begins] = seen[begins]
            self._ale_info = {name: info[name] for name in INFO}
        self._seen[goes_on, :-1] = 0  # screens of the life before belong to another episode
        self._steps[mask] = 0
        self._running |= mask
        self.goes_on &= ~mask
        return self._seen.copy(), self._info(mask)

    def step(
        self, actions: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        chosen = checked_actions(np.asarray(actions), self.num_envs, self._count)
        refuse_ended(self._running)
        seen, reward, terminated, truncated, info = self._games.step(chosen)
        self._steps += 1
        if self.options.episodic_life:
            lost = (info["lives"] > 0) & (info["lives"] < self._ale_info["lives"]) & ~terminated
            self.goes_on = lost & ~truncated
            terminated, truncated = terminated | lost, truncated & ~lost
            for i in np.flatnonzero(self._steps < self.options.stack - 1).tolist():
                seen[i, : self.options.stack - 1 - self._steps[i]] = 0
        if self.options.max_episode_steps is not None:
            truncated = truncated | (self._steps >= self.options.max_episode_steps)
        self._seen = seen
        self._ale_info = {name: info[name] for name in INFO}
        self._running = ~(terminated | truncated)
        mask = np.ones(self.num_envs, bool)
        return seen.copy(), reward.astype(float), terminated, truncated, self._info(mask)

    def _info(self, mask: np.ndarray) -> dict[str, Any]:
        lives = {"goes_on": self.goes_on} if self.options.episodic_life else {}
        info: dict[str, Any] = {}
        for name, values in (self._ale_info | lives).items():
            info |= {name: values.copy(), f"_{name}": mask}
        return info

    def close_extras(self, **kwargs: Any) -> None:
        self._games = None  # its thread ends with it


class GameEnv(gym.Env[np.ndarray, Any]):
    """One game. With `render_mode="rgb_array"` it can be drawn in colour.

    Args:
        game: the name of the game's ROM, such as "ms_pacman".
        render_mode: "rgb_array" or None.
        **options: see `Options`.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": FRAMES_PER_SECOND // 4}  # noqa: RUF012

    def __init__(self, game: str = "qbert", render_mode: str | None = None, **options: Any) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise InputError(
                f"there is no render_mode {shown(render_mode)}{nearest(render_mode, modes)}"
            )
        self.render_mode = render_mode
        self._one = GameVectorEnv(1, game, **options)
        # a second copy of the game, stepped together: ale-py returns either grey or colour
        self._screen = _screen(game, self._one.options) if render_mode else None
        self._frame: np.ndarray | None = None
        self.metadata = self.metadata | {
            "render_fps": max(1, FRAMES_PER_SECOND // self._one.options.frameskip)
        }
        self.observation_space = self._one.single_observation_space
        self.action_space = self._one.single_action_space
        self.action_names = self._one.action_names

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is None and not self._one.goes_on[0]:
            seed = int(self.np_random.integers(SEEDS))
        obs, info = self._one.reset(seed=[seed])
        if self._screen is not None and seed is not None:
            self._frame = self._screen.reset(seed=np.array([seed % SEEDS]))[0][0, 0]
        return obs[0], _first(info)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        actions = np.asarray(action).reshape(-1)
        obs, reward, terminated, truncated, info = self._one.step(actions)
        if self._screen is not None:
            self._frame = self._screen.step(actions.astype(np.int64))[0][0, 0]
        return obs[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), _first(info)

    def render(self) -> np.ndarray | None:
        """Return the screen after the step's last frame."""
        if self.render_mode is None:
            gym.logger.warn('render() does nothing without a mode: give render_mode="rgb_array"')
            return None
        if self._frame is None:
            raise gym.error.ResetNeeded("the env must be reset before it is drawn")
        return self._frame.copy()

    def close(self) -> None:
        self._one.close()
        self._screen = None


def _first(info: dict[str, Any]) -> dict[str, Any]:
    return {name: values[0].item() for name, values in info.items() if name[0] != "_"}


def _screen(game: str, options: Options) -> Any:
    """Return a batch of one game whose observations are its unprocessed screens."""
    ale_py = library()
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    probe = ale_py.ALEInterface()
    probe.loadROM(rom_of(game))
    height, width = probe.getScreenDims()
    size = {"img_height": height, "img_width": width}
    return _make(game, 1, options, grayscale=False, maxpool=False, stack_num=1, **size)


def register() -> None:
    """Register the games with `gym.make` and `gym.make_vec`."""
    for name, rom in games().items():
        gym.register(
            env_id(name),
            entry_point=f"{__name__}:{GameEnv.__name__}",
            vector_entry_point=f"{__name__}:{GameVectorEnv.__name__}",
            kwargs={"game": rom},
        )
