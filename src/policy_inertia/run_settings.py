"""A run as data: what to train, on which env, for how long, and how settings are read."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Annotated, Any

import tyro

from policy_inertia.algorithms.interface import AlgorithmConfig
from policy_inertia.envs.making import EnvLike, make_env, name_of
from policy_inertia.envs.registry import TASKS, task_of
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError, refuse_outside, shown
from policy_inertia.methods import DISCRETE, find_method, kinds_of
from policy_inertia.presets import ALONE, Preset, find_preset
from policy_inertia.schema import read_as, read_into


@dataclass(frozen=True)
class RunConfig:
    """A whole run as data. `settings(method, env)` fills it with defaults that fit the task."""

    method: Annotated[str, tyro.conf.Suppress]  # on the command line these two come first
    env: Annotated[str, tyro.conf.Suppress]
    config: Annotated[AlgorithmConfig, tyro.conf.arg(name="")]  # its flags have no prefix
    actions: Annotated[str, tyro.conf.Suppress] = DISCRETE
    """The kind of the env's actions, which decides what a method's name stands for."""
    env_kwargs: Annotated[dict[str, Any], tyro.conf.Suppress] = field(default_factory=dict)
    """The env's own arguments, which `gym.make` takes by name."""
    eval_env_kwargs: Annotated[dict[str, Any], tyro.conf.Suppress] = field(default_factory=dict)
    """Env arguments that evaluation overrides."""
    steps: int = 50_000
    """Env steps to train for, counted over all envs together."""
    seed: int = 0
    """The seed of everything random: same seed, same bits."""
    envs: int = 8
    """Envs that run side by side; the ratio of updates to transitions does not depend on it."""
    gamma: float = 0.99
    """Discount factor."""
    batch_size: int = 64
    """Transitions in a minibatch."""
    buffer_size: int = 200_000
    """Transitions that the replay buffer holds."""
    normalise: bool = False
    """Centre and scale observations that are very small or very large, by their mean and deviation
    over 2,000 steps of random actions before training. All others stay as they are."""
    memory_map: str | None = None
    """For pixel tasks: a folder for the replay buffer's frames, which are then kept in a file
    instead of in memory."""
    learning_starts: int = 1_000
    """Transitions collected before the first update."""
    n_step: int = 1
    """Rewards that a target of Q adds up before it goes on with a value; more learn faster, but are
    less exact. Only for methods without a controller, and not for pixels, which have 1."""
    repeats: tuple[int, ...] = (1,)
    """For how many steps an action is held; with more than one number the policy chooses."""
    penalty: float = 0.0
    """Subtracted from the training reward at each switch, for Box actions times the share of the
    range that they move; never in evaluation."""
    eval_every: int = 5_000
    """Steps between evaluations."""
    eval_episodes: int = 20
    """Episodes of an evaluation, with sampled actions as in the paper."""
    final_episodes: int = 50
    """Episodes of the last evaluation, with sampled and with greedy actions."""
    calibration_episodes: int = 50
    """Episodes at each setting of a dial, when it is calibrated at the end."""
    checkpoint_seconds: float = 60.0
    """Seconds between checkpoints; 0 saves at every evaluation."""

    def __post_init__(self) -> None:
        counts = ("steps", "envs", "batch_size", "eval_every", "eval_episodes", "final_episodes")
        refuse_outside(self, 1, 100, "n_step")
        refuse_outside(self, 1, None, *counts, "calibration_episodes")
        refuse_outside(self, 0, None, "learning_starts", "seed", "checkpoint_seconds", "penalty")
        refuse_outside(self, self.envs, None, "buffer_size")
        refuse_outside(self, 0, 1, "gamma")
        refuse_bad_repeats(self.repeats)
        if self.actions != self.config.traits.actions:
            raise InputError(
                f"actions is {shown(self.actions)} for {self.method}: its settings are for actions "
                f"of the kind '{self.config.traits.actions}'"
            )
        if self.actions != DISCRETE and len(self.repeats) > 1:
            raise InputError(
                f"repeats is {self.repeats} for {self.method}: only methods with Discrete actions "
                "choose for how long to hold them, so give one number of steps"
            )
        if self.repeats != (1,) and self.config.traits.nested:
            raise InputError(
                f"repeats is {self.repeats} for {self.method}: a nested method holds its actions "
                "by its controller, so leave repeats at 1, or choose dqn-repeat or sac-repeat"
            )
        if self.config.traits.skips:
            self._refuse_bad_skips()
        decides = not self.config.traits.nested and not self.config.traits.skips
        if self.n_step != 1 and not (decides and self.repeats == (1,)):
            raise InputError(
                f"n_step is {self.n_step} for {self.method}: only methods that decide at every "
                "step and have no controller learn from several rewards, so leave it at 1"
            )

    def _refuse_bad_skips(self) -> None:
        if 1 not in self.repeats:
            raise InputError(
                f"repeats is {self.repeats} for {self.method}: it learns from single steps too, so "
                "give 1 as one of them"
            )
        most = self.envs * max(self.repeats)
        if self.buffer_size < most:
            raise InputError(
                f"buffer_size is {self.buffer_size}: {self.envs} envs that hold an action for up "
                f"to {max(self.repeats)} steps may add {most} transitions in one step, so give at "
                "least as many"
            )

    @property
    def test_kwargs(self) -> dict[str, Any]:
        """The env's arguments in evaluation."""
        return merge(self.env_kwargs, self.eval_env_kwargs)

    def to_dict(self) -> dict[str, Any]:
        """The run as JSON; Discrete actions are not named, as in files of older versions."""
        values = dataclasses.asdict(self)
        if values["actions"] == DISCRETE:
            del values["actions"]
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> RunConfig:
        """The inverse of `to_dict`."""
        table = read_as(dict[str, Any], values)
        names = [field.name for field in dataclasses.fields(_Named)]
        known = read_as(_Named, {k: v for k, v in table.items() if k in names})
        # a setting that is missing came later: it then means what the paper does
        first = settings(known.method, known.env, preset="paper", actions=known.actions)
        return read_into(first, values)


def refuse_bad_repeats(repeats: tuple[int, ...]) -> None:
    """Check the numbers of steps for which an action may be held."""
    if not repeats or min(repeats) < 1 or len(set(repeats)) < len(repeats):
        raise InputError(
            f"repeats is {repeats}: give different whole numbers of steps, such as 1 2 4 8"
        )


@dataclass(frozen=True)
class _Named:
    """The settings that choose the defaults of the others."""

    method: str
    env: str
    actions: str = DISCRETE


def action_kind(method: str, env: EnvLike, env_kwargs: dict[str, Any] | None = None) -> str:
    """Return the kind of actions for which a method is trained on an env.

    Only for a method that is for several kinds the env is made. An env that cannot be made counts
    as Discrete: whoever uses it says what is wrong.
    """
    kinds = kinds_of(method)
    if len(kinds) < 2:
        return kinds[0] if kinds else DISCRETE
    if isinstance(env, str) and (env in TASKS or task_of(env).family) and not env_kwargs:
        return DISCRETE  # what the registry knows, and what has pixels
    try:
        opened = make_env(env, env_kwargs)
        spaces = Spaces.of(opened.observation_space, opened.action_space, name_of(env))
        opened.close()
    except InputError:
        return DISCRETE
    actions: Any = spaces.actions
    return actions.kind if actions.kind in kinds else DISCRETE


def settings(name: str, env: str, preset: str = "default", **changes: Any) -> RunConfig:
    """Fill in a run: the method's row, the preset, then `changes`.

    Args:
        name: A method from `METHODS`.
        env: A Gymnasium id.
        preset: A name from `PRESETS`: "default", or "paper" for the paper's settings.
        changes: Settings of the run (`steps=...`) or of the method's own config (`mu0=...`); the
            core of a nested method is changed with `core={...}`. Without `actions`, the kind of
            actions is that of the env.
    """
    kind = changes.get("actions") or action_kind(name, env, changes.get("env_kwargs"))
    row, task = find_method(name, kind), task_of(env)
    config = RunConfig(
        name, env, row.config, row.config.traits.actions, repeats=row.repeats, penalty=row.penalty
    )
    chosen = find_preset(preset, "box" if config.actions == "box" else task.family)
    config = override(config, chosen)
    if not config.config.traits.nested and config.repeats == (1,):
        config = override(config, chosen.get(ALONE, {}))
    config = dataclasses.replace(config, eval_env_kwargs=task.eval_env_kwargs)
    own = {field.name for field in dataclasses.fields(RunConfig)}
    changes.pop("actions", None)  # the row has chosen
    of_method = {name: value for name, value in changes.items() if name not in own}
    if of_method:
        changes = {"config": read_into(config.config, of_method), **changes}
    return read_into(config, {k: v for k, v in changes.items() if k not in of_method})


def merge(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Put `changes` on top of `values`; tables inside them are merged in the same way."""
    inner = {k: v for k, v in values.items() if isinstance(v, dict)}
    return {
        **values,
        **{
            k: merge(inner[k], v) if k in inner and isinstance(v, dict) else v
            for k, v in changes.items()
        },
    }


def override(config: Any, preset: Preset) -> Any:
    """Apply a preset to a config and to the configs inside it, by the names of their classes."""
    changes: dict[str, Any] = {}
    for kind in reversed(type(config).__mro__):
        changes |= preset.get(kind.__name__, {})
    for setting in dataclasses.fields(config):
        value = getattr(config, setting.name)
        if dataclasses.is_dataclass(value):
            changes[setting.name] = override(value, preset)
    return dataclasses.replace(config, **changes)
