"""How an env is made: from its Gymnasium id, by our own names too, or by a function."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import gymnasium as gym
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from policy_inertia.envs.file_envs import allowed
from policy_inertia.envs.registry import task_of
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError, nearest

EnvLike = str | Callable[..., gym.Env]
ID = re.compile(r"(\w[\w.]*:)?[^:]+")
"""An id, perhaps with the package that registers it in front."""


def name_of(env: EnvLike) -> str:
    """The name of an env in files and messages."""
    if isinstance(env, str):
        return env
    return getattr(env, "__name__", type(env).__name__).strip("<>")  # <lambda> is no file name


def make_env(env: EnvLike, kwargs: dict[str, Any] | None = None) -> gym.Env:
    """Make one env.

    Args:
        env: A Gymnasium id, or a function that makes an env.
        kwargs: The env's own arguments, which `gym.make` or the function takes by name.

    Raises:
        InputError: There is no such env, or it cannot be made with these arguments.
        TrustError: The id or the arguments come from a file and could run code; see `file_envs`.
    """
    env, kwargs = _resolved(env, kwargs or {})
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


def _resolved(env: EnvLike, kwargs: dict[str, Any]) -> tuple[EnvLike, dict[str, Any]]:
    """Register the env if it is one of ours; return what Gymnasium knows it by."""
    if not (isinstance(env, str) or callable(env)):
        raise InputError(f"env is {env!r}: give a Gymnasium id, or a function that makes an env")
    arguments: Any = kwargs  # a file may hold anything
    if not isinstance(arguments, dict) or not all(isinstance(name, str) for name in arguments):
        raise InputError(f"the arguments of the env are {kwargs!r}: give a dictionary of names")
    env, kwargs = allowed(env, kwargs)
    if isinstance(env, str) and not ID.fullmatch(env):
        raise InputError(f"'{env}' is no id of an env: write Id, or package:Id")
    if isinstance(env, str) and env.startswith(("policy_inertia/", "ALE/")):
        if task_of(env).highway_module:
            from policy_inertia.envs import highway

            highway.register()
        else:
            from policy_inertia.envs import atari

            return atari.resolve(env, kwargs)
    return env, kwargs


def make_vector(
    env: EnvLike, n: int, kwargs: dict[str, Any] | None = None
) -> tuple[VectorEnv, Spaces]:
    """Make `n` copies of an env; see `make_env`."""
    given = kwargs or {}

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
    return InputError(f"{name} cannot be made: {str(error).splitlines()[0]}")


def _suggestion(name: str) -> str:
    """The end of the error about an unknown id: the nearest known one."""
    from policy_inertia.envs import atari, highway  # noqa: F401 - start-up time; registers tasks

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
