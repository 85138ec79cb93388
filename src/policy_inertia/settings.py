"""A run as data: what to train, on what, for how long, and the settings of all of it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Annotated, Any

import tyro

from policy_inertia.algorithms.nested import NestedConfig
from policy_inertia.envs.registry import task_of
from policy_inertia.errors import InputError, refuse_outside
from policy_inertia.methods import Config, config_from_dict, find_method, override


@dataclass(frozen=True)
class RunConfig:
    """A whole run as data. `settings(method, env)` fills it with defaults that fit the task."""

    method: Annotated[str, tyro.conf.Suppress]  # on the command line these two are words
    env: Annotated[str, tyro.conf.Suppress]
    config: Annotated[Config, tyro.conf.arg(name="")]  # its settings are flags without a prefix
    env_kwargs: Annotated[dict[str, Any], tyro.conf.Suppress] = field(default_factory=dict)
    """The env's own arguments, which `gym.make` takes by name."""
    eval_env_kwargs: Annotated[dict[str, Any], tyro.conf.Suppress] = field(default_factory=dict)
    """Those of them that differ in evaluation."""
    steps: int = 50_000
    """Primitive environment steps to train for, over all envs together."""
    seed: int = 0
    """Everything random follows from it: same seed, same bits."""
    envs: int = 8
    """Environments side by side; the ratio of updates to transitions does not depend on it."""
    gamma: float = 0.99
    """Discount factor."""
    batch_size: int = 64
    """Transitions in a minibatch."""
    buffer_size: int = 200_000
    """Transitions kept for replay."""
    memory_map: str | None = None
    """Of pixel tasks: a folder for the replay's frames, which are then in a file instead of in
    memory."""
    learning_starts: int = 1_000
    """Transitions collected before the first update."""
    repeats: tuple[int, ...] = (1,)
    """For how many steps an action may be held; more than one makes it part of the choice."""
    penalty: float = 0.0
    """Taken from the training reward at each switch; never in evaluation."""
    eval_every: int = 5_000
    """Steps between evaluations."""
    eval_episodes: int = 20
    """Episodes of an evaluation, with sampled actions as in the paper."""
    final_episodes: int = 50
    """Episodes of the last evaluation, sampled and greedy."""
    calibration_episodes: int = 50
    """Episodes at each setting of a dial, when its table is measured at the end."""
    checkpoint_seconds: float = 60.0
    """Seconds between checkpoints; 0 saves at every evaluation."""

    def __post_init__(self) -> None:
        whole = ("steps", "envs", "batch_size", "eval_every", "eval_episodes", "final_episodes")
        refuse_outside(self, 1, None, *whole, "calibration_episodes")
        refuse_outside(self, 0, None, "learning_starts", "seed", "checkpoint_seconds", "penalty")
        refuse_outside(self, self.envs, None, "buffer_size")
        refuse_outside(self, 0, 1, "gamma")
        if not self.repeats or min(self.repeats) < 1 or len(set(self.repeats)) < len(self.repeats):
            raise InputError(
                f"repeats is {self.repeats}: give different whole numbers of steps, such as 1 2 4 8"
            )
        if self.repeats != (1,) and isinstance(self.config, NestedConfig):
            raise InputError(
                f"repeats is {self.repeats} for {self.method}: a nested method holds its actions "
                "by its inertia, so leave repeats at 1, or choose dqn-repeat or sac-repeat"
            )

    @property
    def test_kwargs(self) -> dict[str, Any]:
        """The env's arguments in evaluation."""
        return merge(self.env_kwargs, self.eval_env_kwargs)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> RunConfig:
        return config_from_dict(settings(values["method"], values["env"]), values)


def merge(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`values` with `changes` on top; dicts in them are merged in the same way."""
    both = {k: v for k, v in values.items() if isinstance(v, dict)}
    return {
        **values,
        **{
            k: merge(both[k], v) if k in both and isinstance(v, dict) else v
            for k, v in changes.items()
        },
    }


def settings(name: str, env: str, **changes: Any) -> RunConfig:
    """The run that `name` on `env` means: the method's row, the task's settings, then `changes`.

    A change may be of the run (`steps=...`) or of the method's own config (`mu0=...`); the core of
    a nested method is changed with `core={...}`.
    """
    row = find_method(name)
    task = task_of(env)
    config = override(
        RunConfig(name, env, row.config, repeats=row.repeats, penalty=row.penalty), task.settings
    )
    config = dataclasses.replace(config, eval_env_kwargs=task.eval_env_kwargs)
    own = {field.name for field in dataclasses.fields(RunConfig)} - {"config"}
    of_method = {k: v for k, v in changes.items() if k not in own | {"config"}}
    if of_method:
        changes = {"config": config_from_dict(config.config, of_method), **changes}
    return config_from_dict(config, {k: v for k, v in changes.items() if k not in of_method})
