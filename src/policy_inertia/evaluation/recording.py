"""Record episodes to look at: frames, actions, and the policy's probabilities at each step.

`drawing/video.py` and the report's inspector draw them.
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

from policy_inertia.envs.env_masks import ACTION_MASKS
from policy_inertia.envs.making import EnvCopies, EnvLike, make_env, name_of, source_of
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.evaluation.evaluate import check_actions, seed_policy
from policy_inertia.metrics.measures import FLUCTUATION
from policy_inertia.policies.memory import PREVIOUS_ACTION, State
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.protocol import Predictor
from policy_inertia.seeds import Stream, stream_seed

WIDTH = 640  # wider frames are scaled down to this
MOST_STEPS = 1_000  # of an episode


@dataclass(frozen=True)
class RecordedStep:
    """One step of an episode.

    Attributes:
        frame: The env before the action, as PNG; None without frames.
        previous: The previous action, as the library counts it; the null action at the start.
        action: The action that was taken.
        reward: The reward of this step.
        mu: The controller's inertia, the mean over the numbers of an action; 0 without one.
        core: The core's probabilities of the actions; None for a policy of another library and for
            continuous actions.
        mixed: The policy's probabilities of the actions; None in the same cases.
        first: Whether the step starts the episode.
        switched: Whether the action differs from the previous one.
        moved: The distance between the two; for continuous actions as a share of the range.
    """

    frame: bytes | None
    previous: Any
    action: Any
    reward: float
    mu: float = 0.0
    core: np.ndarray | None = None
    mixed: np.ndarray | None = None
    first: bool = False
    switched: bool = False
    moved: float = 0.0


@dataclass(frozen=True)
class Recording:
    """One recorded episode.

    Attributes:
        label: Name of the policy.
        env: Name of the env.
        seed: Seed of the episode.
        greedy: Whether the most probable actions were taken.
        nested: Whether the policy has a controller.
        actions: Names of the actions; empty if they are not a finite list.
        steps: The steps in their order.
        last: The env after the last action, as PNG; None without frames.
        terminated: Whether the env ended the episode.
        crashed: Whether the episode ended in a crash; None if the env does not report it.
        cut: Whether the recording stopped at its last step, before the episode ended.
    """

    label: str
    env: str
    seed: int
    greedy: bool
    nested: bool
    actions: tuple[str, ...]
    steps: list[RecordedStep]
    last: bytes | None
    terminated: bool
    crashed: bool | None
    cut: bool

    @property
    def return_(self) -> float:
        """Undiscounted sum of the rewards."""
        return sum(step.reward for step in self.steps)

    @property
    def switches(self) -> int:
        """The number of steps whose action differs from the one before."""
        return sum(step.switched for step in self.steps)

    @property
    def movement(self) -> str:
        """How much the actions switch or move, in words."""
        if self.actions:
            return f"{self.switches} switches in {len(self.steps)} steps"
        moves = [step.moved for step in self.steps if not step.first]
        share = sum(moves) / max(len(moves), 1)
        return f"{FLUCTUATION.label} {FLUCTUATION.show(share)} over {len(self.steps)} steps"


def record(
    policy: Predictor,
    env: EnvLike,
    episodes: int = 1,
    seed: int = 0,
    deterministic: bool = False,
    label: str = "",
    steps: int = MOST_STEPS,
    frames: bool = True,
    env_kwargs: dict[str, Any] | None = None,
) -> list[Recording]:
    """Run episodes one after the other, and return them with every step.

    Args:
        policy: Anything with Stable-Baselines3's `predict`.
        env: A Gymnasium id, a function that makes an env with `render_mode="rgb_array"`, or an
            env: a copy that draws is made by its spec; without a spec it is used itself.
        episodes: Number of episodes.
        seed: The episodes start from the same seeds as those of `evaluate`.
        deterministic: Take the most probable actions instead of sampling.
        label: Name of the policy; its method by default.
        steps: Largest number of steps of an episode.
        frames: Whether to render the env at each step.
        env_kwargs: Arguments of the env.

    Raises:
        InputError: `episodes` or `steps` is below 1, or the env cannot be rendered.
    """
    if episodes < 1 or steps < 1:
        raise InputError(f"episodes is {episodes} and steps {steps}: record at least one step")
    opened = _make(env, frames, env_kwargs or {})
    try:
        spaces = Spaces.of(opened.observation_space, opened.action_space, name_of(env))
        check_actions(policy, spaces.actions, name_of(env))
        seed_policy(policy, seed)
        description = {
            "label": label or getattr(policy, "method", "policy"),
            "env": name_of(env),
            "greedy": deterministic,
            "nested": isinstance(policy, Policy) and policy.nested,
            "actions": action_names(opened),
        }
        return [
            _episode(policy, opened, spaces, steps, frames, {**description, "seed": s})
            for s in (stream_seed(seed, Stream.EPISODE, k) for k in range(episodes))
        ]
    finally:
        opened.close()


def _episode(
    policy: Predictor,
    env: gym.Env,
    spaces: Spaces,
    most_steps: int,
    frames: bool,
    description: dict[str, Any],
) -> Recording:
    space = spaces.actions
    own = policy if isinstance(policy, Policy) else None
    obs, info = env.reset(seed=description["seed"])
    state, previous, steps = None, space.null(1), list[RecordedStep]()
    terminated = truncated = False
    while not (terminated or truncated) and len(steps) < most_steps:
        frame = _frame(env) if frames else None
        first = bool(space.is_null(previous)[0])
        batch, start = np.asarray(obs)[None], np.array([first])
        masks = _masks(policy, env)
        outputs = _outputs(own, obs, own.memory.at(state, 1, start), masks) if own else {}
        predict: Any = policy.predict  # with action masks, for policies that take them
        chosen, state = predict(batch, state, start, description["greedy"], **masks)
        action = space.from_env(np.reshape(chosen, (1, *space.shape)))
        obs, reward, terminated, truncated, info = env.step(space.to_vector_env(action)[0])
        switched = not first and not bool(space.close(action, previous)[0])
        steps.append(
            RecordedStep(
                frame,
                previous[0].tolist(),
                action[0].tolist(),
                float(reward),
                **outputs,
                first=first,
                switched=switched,
                moved=0.0 if first else float(space.distance(action, previous)[0]),
            )
        )
        previous = action
    return Recording(
        **description,
        steps=steps,
        last=_frame(env) if frames else None,
        terminated=bool(terminated),
        crashed=bool(info["crashed"]) if "crashed" in info else None,
        cut=not (terminated or truncated),
    )


def _masks(policy: Predictor, env: gym.Env) -> dict[str, np.ndarray]:
    """The argument `action_masks` of `predict`, for one of our policies that takes it."""
    if not getattr(policy, "masked", False):
        return {}
    return {ACTION_MASKS: np.asarray(env.get_wrapper_attr(ACTION_MASKS)())[None]}


def _outputs(
    policy: Policy, obs: Any, state: State, masks: dict[str, np.ndarray]
) -> dict[str, Any]:
    """The policy's inertia and probabilities at one step; `state` is its memory before the step."""
    previous, tokens = state[PREVIOUS_ACTION][0], policy.tokens(state)
    mu = float(np.mean(policy.inertia(obs, previous, tokens, **masks)))
    if policy.spaces.actions.shape:  # no list of actions
        return {"mu": mu}
    return {
        "mu": mu,
        "core": policy.core_probabilities(obs, **masks),
        "mixed": policy.probabilities(obs, previous, tokens, **masks),
    }


def _make(env: EnvLike, frames: bool, kwargs: dict[str, Any]) -> gym.Env:
    env, kwargs = source_of(env, kwargs)
    if not frames or not isinstance(env, str | EnvCopies):
        opened = make_env(env, kwargs)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Gymnasium warns of what is refused below
            opened = make_env(env, kwargs | {"render_mode": "rgb_array"})
    modes = opened.metadata.get("render_modes", [])
    if frames and (opened.render_mode != "rgb_array" or "rgb_array" not in modes):
        opened.close()
        raise InputError(
            f"{name_of(env)} gives no frames (render_mode={opened.render_mode!r}, it offers "
            f"{modes}): recording needs an env made with render_mode='rgb_array'"
        )
    return opened


def _frame(env: gym.Env) -> bytes:
    try:
        rendered: Any = env.render()
    except Exception as error:  # an env may raise anything: a missing library, no window
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        name = env.spec.id if env.spec else env
        raise InputError(f"{name} cannot be rendered: {reason}") from error
    if not isinstance(rendered, np.ndarray) or rendered.ndim != 3 or rendered.dtype != np.uint8:
        raise InputError(
            f"render() gave {type(rendered).__name__}: with render_mode='rgb_array' it must give "
            "an image as height x width x 3 bytes"
        )
    image = Image.fromarray(rendered[:, :, :3])
    if image.width > WIDTH:
        image = image.resize((WIDTH, round(image.height * WIDTH / image.width)))
    data = io.BytesIO()
    image.save(data, "PNG", compress_level=1)
    return data.getvalue()


def action_names(env: gym.Env) -> tuple[str, ...]:
    """Return the env's names of its actions, or their numbers; nothing without a finite list."""
    if not isinstance(env.action_space, gym.spaces.Discrete):
        return ()
    inner: Any = env.unwrapped
    known: Sequence[Any] = ()
    if hasattr(inner, "action_names"):
        known = inner.action_names() if callable(inner.action_names) else inner.action_names
    elif hasattr(inner, "get_action_meanings"):  # ALE
        known = inner.get_action_meanings()
    elif isinstance(getattr(getattr(inner, "action_type", None), "actions", None), dict):
        known = list(inner.action_type.actions.values())  # highway-env
    names = tuple(str(name).removeprefix("LANE_") for name in known)
    n, first = int(env.action_space.n), int(env.action_space.start)
    return names if len(names) == n else tuple(str(first + k) for k in range(n))
