"""Episodes to look at: what was seen, what the policy said of it, and what it did.

Drawing them is left to `video` and to the report's inspector.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from PIL import Image

from policy_inertia.envs.spaces import Spaces
from policy_inertia.envs.vector import EnvLike, episode_seed, make_env, name_of
from policy_inertia.errors import InputError
from policy_inertia.evaluation.evaluate import Predictor
from policy_inertia.policies.policy import Policy

WIDTH = 640  # frames are kept no wider than this
LIMIT = 1_000


@dataclass(frozen=True)
class Moment:
    """One step. Distributions are over actions; None for a policy that does not tell them."""

    frame: bytes | None  # what there was to see before acting, as PNG
    previous: int  # -1 at the start
    action: int  # counted from 0, as `previous`
    reward: float
    mu: float
    core: np.ndarray | None
    mixed: np.ndarray | None

    @property
    def switched(self) -> bool:
        return self.previous not in (-1, self.action)

    @property
    def controller_holds(self) -> bool:
        """The paper's solid arrow."""
        return self.mu >= 0.5


@dataclass(frozen=True)
class Recording:
    """One episode. `last` is what there was to see in the end; `cut` if the limit came before."""

    label: str
    env: str
    seed: int
    greedy: bool
    nested: bool
    actions: tuple[str, ...]
    moments: list[Moment]
    last: bytes | None
    terminated: bool
    crashed: bool | None
    cut: bool

    @property
    def return_(self) -> float:
        return sum(m.reward for m in self.moments)

    @property
    def switches(self) -> int:
        return sum(m.switched for m in self.moments)


def record(
    policy: Predictor,
    env: EnvLike,
    episodes: int = 1,
    seed: int = 0,
    deterministic: bool = False,
    label: str = "",
    limit: int = LIMIT,
    frames: bool = True,
    env_kwargs: dict[str, Any] | None = None,
) -> list[Recording]:
    """Run episodes one after the other and keep all of them to look at.

    They begin as those of `evaluate` with the same `seed`: the k-th from the k-th seed. `env` is an
    id, or a function that makes an env with `render_mode="rgb_array"`. An episode ends after
    `limit` steps at the latest. Without `frames` nothing is rendered. `env_kwargs` are the env's
    own arguments.
    """
    if episodes < 1 or limit < 1:
        raise InputError(f"episodes is {episodes} and limit {limit}: record at least one step")
    made = _make(env, frames, env_kwargs or {})
    try:
        spaces = Spaces.of(made.observation_space, made.action_space, name_of(env))
        if isinstance(policy, Policy):
            policy.seed(episode_seed(seed, 2**31))
        about = {
            "label": label or getattr(policy, "method", "policy"),
            "env": name_of(env),
            "greedy": deterministic,
            "nested": isinstance(policy, Policy) and policy.nested,
            "actions": action_names(made),
        }
        return [
            _episode(policy, made, spaces.discrete.first, limit, frames, seed=s, **about)
            for s in (episode_seed(seed, k) for k in range(episodes))
        ]
    finally:
        made.close()


def _episode(
    policy: Predictor, made: gym.Env, first: int, limit: int, frames: bool, **about: Any
) -> Recording:
    ours = policy if isinstance(policy, Policy) else None
    obs, info = made.reset(seed=about["seed"])
    state, previous, moments = None, -1, list[Moment]()
    terminated = truncated = False
    while not (terminated or truncated) and len(moments) < limit:
        frame = _frame(made) if frames else None
        start = np.array([previous < 0])
        raw, state = policy.predict(np.asarray(obs)[None], state, start, about["greedy"])
        action = int(np.asarray(raw).reshape(-1)[0]) - first
        mu, core, mixed = 0.0, None, None
        if ours is not None:
            mu = float(ours.inertia(obs, previous))
            core, mixed = ours.core_probabilities(obs), ours.probabilities(obs, previous)
        obs, reward, terminated, truncated, info = made.step(action + first)
        moments.append(Moment(frame, previous, action, float(reward), mu, core, mixed))
        previous = action
    return Recording(
        **about,
        moments=moments,
        last=_frame(made) if frames else None,
        terminated=bool(terminated),
        crashed=bool(info["crashed"]) if "crashed" in info else None,
        cut=not (terminated or truncated),
    )


def _make(env: EnvLike, frames: bool, kwargs: dict[str, Any]) -> gym.Env:
    if not frames or not isinstance(env, str):
        made = make_env(env, kwargs)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Gymnasium's, of what is refused below
            made = make_env(env, kwargs | {"render_mode": "rgb_array"})
    offered = made.metadata.get("render_modes", [])
    if frames and (made.render_mode != "rgb_array" or "rgb_array" not in offered):
        made.close()
        raise InputError(
            f"{name_of(env)} gives no frames (render_mode={made.render_mode!r}, it offers "
            f"{offered}): recording needs an env made with render_mode='rgb_array'"
        )
    return made


def _frame(env: gym.Env) -> bytes:
    try:
        seen: Any = env.render()
    except Exception as error:  # whatever somebody's env may raise: a missing library, no window
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{env.spec.id if env.spec else env} cannot be rendered: {why}") from error
    if not isinstance(seen, np.ndarray) or seen.ndim != 3 or seen.dtype != np.uint8:
        raise InputError(
            f"render() gave {type(seen).__name__}: with render_mode='rgb_array' it must give an "
            "image as height x width x 3 bytes"
        )
    image = Image.fromarray(seen[:, :, :3])
    if image.width > WIDTH:
        image = image.resize((WIDTH, round(image.height * WIDTH / image.width)))
    data = io.BytesIO()
    image.save(data, "PNG", compress_level=1)
    return data.getvalue()


def action_names(env: gym.Env) -> tuple[str, ...]:
    """What the env calls its actions, else their numbers."""
    inner: Any = env.unwrapped
    n = int(getattr(env.action_space, "n"))  # noqa: B009 - Spaces has checked that it is there
    first = int(getattr(env.action_space, "start", 0))
    found: Sequence[Any] = ()
    if hasattr(inner, "action_names"):
        found = inner.action_names() if callable(inner.action_names) else inner.action_names
    elif hasattr(inner, "get_action_meanings"):  # ALE
        found = inner.get_action_meanings()
    elif isinstance(getattr(getattr(inner, "action_type", None), "actions", None), dict):
        found = list(inner.action_type.actions.values())  # highway-env
    names = tuple(str(name).removeprefix("LANE_") for name in found)
    return names if len(names) == n else tuple(str(first + k) for k in range(n))
