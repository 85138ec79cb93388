"""How an env is made: from its Gymnasium id, by our own names too, by a function, or by an env.

An env object stands for the env that its `spec` describes: copies are made by the spec, and the
object itself is left alone. An object without a spec, or in a wrapper that cannot be made again,
is used itself, as a batch of one; it is reset and stepped, and not closed.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from policy_inertia.envs.dict_observations import FlatObservations
from policy_inertia.envs.file_envs import allowed
from policy_inertia.envs.registry import task_of
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError, nearest, shown

EnvLike = str | Callable[..., gym.Env] | gym.Env
ID = re.compile(r"(\w[\w.]*:)?[^:]+")
"""An id, perhaps with the package that registers it in front."""

EXTRAS = {"gymnasium.envs.box2d": "box2d", "gymnasium.envs.mujoco": "mujoco"}
"""The extra of this package that an env of Gymnasium needs, by the module it is in."""


def name_of(env: EnvLike) -> str:
    """The name of an env in files and messages."""
    if isinstance(env, str):
        return env
    if isinstance(env, gym.Env):
        return env.spec.id if env.spec is not None else type(env.unwrapped).__name__
    return getattr(env, "__name__", type(env).__name__).strip("<>")  # <lambda> is no file name


class EnvCopies:
    """A function that makes copies of an env object by its spec, wrappers included."""

    def __init__(self, spec: EnvSpec) -> None:
        self.spec = spec
        wrappers = reversed(spec.additional_wrappers)
        self.__name__ = "".join(f"{w.name}(" for w in wrappers) + spec.id
        self.__name__ += ")" * len(spec.additional_wrappers)

    def __call__(self, **kwargs: Any) -> gym.Env:
        return gym.make(self.spec, disable_env_checker=True, **kwargs)


class _Borrowed(gym.Wrapper):
    """An env of the user, which stays open."""

    def close(self) -> None:
        pass


def source_of(env: EnvLike, kwargs: dict[str, Any] | None = None) -> tuple[EnvLike, dict[str, Any]]:
    """What several envs are made of: an id or a function, and its arguments.

    An id and a function are returned as they are. An env object is returned as the id and arguments
    that its spec holds, or as a function if it has wrappers; as itself if it cannot be made again.

    Raises:
        InputError: The object cannot be made again, and arguments are given for it.
    """
    kwargs = kwargs or {}
    if not isinstance(env, gym.Env):
        return env, kwargs
    spec = _spec_of(env)
    if spec is None:
        if kwargs:
            raise InputError(
                f"{name_of(env)} is an env without a spec, and arguments are given for it: make it "
                "with them, or give its Gymnasium id"
            )
        return env, {}
    own = {k: v for k, v in spec.kwargs.items() if (k, v) != ("render_mode", "human")}
    registered = gym.registry.get(spec.id)
    if (
        registered is None
        or spec.entry_point != registered.entry_point
        or spec.additional_wrappers != registered.additional_wrappers
        or not _is_data(own)
    ):
        return EnvCopies(dataclasses.replace(spec, kwargs=own)), kwargs
    if spec.max_episode_steps != registered.max_episode_steps:
        own["max_episode_steps"] = spec.max_episode_steps or -1  # -1: no time limit
    return spec.id, own | kwargs


def copyable(env: EnvLike, kwargs: dict[str, Any] | None = None) -> tuple[EnvLike, dict[str, Any]]:
    """The same as `source_of`, for those who need several copies.

    Raises:
        InputError: The env is an object that cannot be made again.
    """
    env, kwargs = source_of(env, kwargs)
    if isinstance(env, gym.Env):
        raise InputError(
            f"{name_of(env)} is an env without a spec, and several copies of it are needed: give "
            "its Gymnasium id, or a function that makes it"
        )
    return env, kwargs


def side_by_side(env: EnvLike, n: int) -> int:
    """How many copies of an env may run side by side: `n`, or 1 for an object without a spec."""
    return 1 if isinstance(source_of(env)[0], gym.Env) else n


def _spec_of(env: gym.Env) -> EnvSpec | None:
    """The spec by which an env can be made again; None if there is none."""
    spec = env.spec
    if spec is None or any(wrapper.kwargs is None for wrapper in spec.additional_wrappers):
        return None
    return spec


def _is_data(values: Any) -> bool:
    """Whether the arguments of an env can be written to a run's settings."""
    try:
        json.dumps(values)
    except (TypeError, ValueError):
        return False
    return True


def make_env(env: EnvLike, kwargs: dict[str, Any] | None = None) -> gym.Env:
    """Make one env; Dict observations become vectors (`dict_observations`).

    Args:
        env: A Gymnasium id, a function that makes an env, or an env (see the top of this file).
        kwargs: The env's own arguments, which `gym.make` or the function takes by name.

    Raises:
        InputError: There is no such env, or it cannot be made with these arguments.
        TrustError: The id or the arguments come from a file and could run code; see `file_envs`.
    """
    base = _make_env(env, kwargs)
    if isinstance(base.observation_space, gym.spaces.Dict):
        return FlatObservations(base, name_of(env))
    return base


def _make_env(env: EnvLike, kwargs: dict[str, Any] | None) -> gym.Env:
    env, kwargs = source_of(env, kwargs)
    if isinstance(env, gym.Env):
        return _Borrowed(env)
    env, kwargs = _resolved(env, kwargs)
    try:
        # the checker is slower than many envs, and warns about what is checked here anyway
        if isinstance(env, str):
            return gym.make(env, disable_env_checker=True, **kwargs)
        return env(**kwargs)
    except InputError:
        raise
    except (gym.error.Error, ImportError) as error:
        raise _cannot_make(name_of(env), error) from error
    except Exception as error:  # an env may raise anything when it gets a wrong argument
        if not kwargs:
            raise
        reason = (str(error).splitlines() or [""])[0]
        raise InputError(
            f"{name_of(env)} cannot be made with {kwargs}: {type(error).__name__}: {reason}"
        ) from error


def _resolved(
    env: str | Callable[..., gym.Env], kwargs: dict[str, Any]
) -> tuple[str | Callable[..., gym.Env], dict[str, Any]]:
    """Register the env if it is one of ours; return what Gymnasium knows it by."""
    if not (isinstance(env, str) or callable(env)):
        raise InputError(
            f"env is {shown(env)}: give a Gymnasium id, a function that makes an env, or an env"
        )
    arguments: Any = kwargs  # a file may hold anything
    if not isinstance(arguments, dict) or not all(isinstance(name, str) for name in arguments):
        raise InputError(f"the arguments of the env are {kwargs!r}: give a dictionary of names")
    env, kwargs = allowed(env, kwargs)
    if isinstance(env, str) and not ID.fullmatch(env):
        raise InputError(f"'{env}' is no id of an env: write Id, or package:Id")
    if isinstance(env, str) and env.startswith(("policy_inertia/", "ALE/")):
        task = task_of(env)
        if task.highway_module:
            from policy_inertia.envs import highway

            highway.register()
        elif task.family == "minatar":
            from policy_inertia.envs import minatar  # noqa: F401 - registers its games
        elif task.family == "signals":
            from policy_inertia.envs import signals  # noqa: F401 - registers its tasks
        else:
            from policy_inertia.envs import atari

            return atari.resolve(env, kwargs)
    return env, kwargs


def make_vector(
    env: EnvLike, n: int, kwargs: dict[str, Any] | None = None
) -> tuple[VectorEnv, Spaces]:
    """Make `n` copies of an env; see `make_env`.

    Raises:
        InputError: The env is an object that cannot be made again, and `n` is above 1.
    """
    env, given = copyable(env, kwargs) if n > 1 else source_of(env, kwargs)

    def one() -> gym.Env:
        return make_env(env, given)

    probe = one()
    spaces = Spaces.of(probe.observation_space, probe.action_space, name_of(env))
    probe.close()
    if isinstance(env, str) and _compiled(probe):
        known, settled = _resolved(env, given)
        return gym.make_vec(
            str(known), n, vectorization_mode="vector_entry_point", **settled
        ), spaces
    return SyncVectorEnv([one] * n, copy=False, autoreset_mode=AutoresetMode.DISABLED), spaces


def _compiled(env: gym.Env) -> bool:
    """Whether an env steps a whole batch in one call, and leaves each reset and its seed to us."""
    entry: Any = env.spec and env.spec.vector_entry_point
    if isinstance(entry, str):
        entry = gym.envs.registration.load_env_creator(entry)
    mode = getattr(entry, "metadata", {}).get("autoreset_mode")
    return mode == AutoresetMode.DISABLED


def _cannot_make(name: str, error: Exception) -> InputError:
    if isinstance(error, gym.error.NamespaceNotFound):
        return InputError(
            f"there is no env '{name}': the package that offers {name.split('/')[0]}/... is not "
            "installed, or must be named in front, as package:Id"
        )
    if isinstance(error, gym.error.UnregisteredEnv | ModuleNotFoundError):
        return InputError(f"there is no env '{name}'{_suggestion(name)}")
    if isinstance(error, gym.error.DependencyNotInstalled):
        spec = gym.registry.get(name.split(":")[-1])
        home = str(spec.entry_point).split(":")[0] if spec is not None else ""
        for module, extra in EXTRAS.items():
            if home == module or home.startswith(f"{module}."):
                return InputError(
                    f"{name} needs a package that is not installed: pip install "
                    f"'policy-inertia[{extra}]'"
                )
    return InputError(f"{name} cannot be made: {str(error).splitlines()[0]}")


def _suggestion(name: str) -> str:
    """The end of the error about an unknown id: the nearest known one."""
    # start-up time; importing them registers their tasks
    from policy_inertia.envs import atari, highway, minatar, signals  # noqa: F401

    # importing ale-py also registers old names of its games
    old = {k for k, v in gym.registry.items() if str(v.entry_point).startswith("ale_py")}
    known = [k for k in gym.registry if k not in old or k.startswith("ALE/")]
    whole = [k for k in known if k.endswith(f"/{name}")]
    if whole:
        return f": did you mean '{whole[0]}'?"
    if name.startswith("policy_inertia/") and not atari.installed():
        more = "pip install 'policy-inertia[atari]'"
        return f"{nearest(name, known)} (most Atari games are known with ale-py only: {more})"
    return nearest(name, known) or (
        ": give a Gymnasium id such as CartPole-v1, or package:Id for one of your own"
    )
