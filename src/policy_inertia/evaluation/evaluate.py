"""Run a policy for whole episodes."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from policy_inertia.actions.space import ActionSpace, select
from policy_inertia.envs.env_masks import ACTION_MASKS
from policy_inertia.envs.making import EnvLike, side_by_side
from policy_inertia.envs.spaces import Spaces
from policy_inertia.envs.vector import Envs
from policy_inertia.errors import InputError
from policy_inertia.metrics.episodes import Episode
from policy_inertia.metrics.measures import Evaluation
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.continuous_function import refuse_other_bounds
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.protocol import Predictor
from policy_inertia.policies.token_bucket import FORCED
from policy_inertia.seeds import Stream, stream_seed

MOST_ENVS = 20  # that run side by side
MOST_STEPS = 100_000  # of one episode; an env that goes on has no time limit
MOST_NUMBERS = 10_000_000  # in the observations of one batch for the controller, to bound memory


def evaluate(
    policy: Predictor,
    env: EnvLike | Envs,
    episodes: int = 20,
    seed: int = 0,
    deterministic: bool = False,
    env_kwargs: dict[str, Any] | None = None,
) -> Evaluation:
    """Run whole episodes, always the same ones for the same `seed`.

    The envs take the episodes in order, and each episode runs to its end, so that short episodes
    are not favoured.

    Args:
        policy: Anything with Stable-Baselines3's `predict`. If it has a method `seed`, its sampling
            is seeded too; seed other policies yourself.
        env: A Gymnasium id, a function that makes an env, an env, or open envs. Of an env, copies
            are made by its spec; without a spec it is used itself, one episode after the other.
        episodes: Number of episodes.
        seed: The k-th episode starts from the k-th seed that this seed gives.
        deterministic: Take the most probable actions. The paper samples them.
        env_kwargs: Arguments of the env.

    Raises:
        InputError: `episodes` is below 1, or an episode does not end.
    """
    if episodes < 1:
        raise InputError(f"episodes is {episodes}: evaluate at least one")
    queue = _EpisodeQueue(seed)
    if isinstance(env, Envs):
        env.restart(queue.seed_of)
        seed_policy(policy, seed)
        return _run(policy, env, queue, episodes, deterministic)
    envs = Envs(env, side_by_side(env, min(episodes, MOST_ENVS)), queue.seed_of, env_kwargs)
    try:
        seed_policy(policy, seed)
        return _run(policy, envs, queue, episodes, deterministic)
    finally:
        envs.close()


def sampled_and_greedy(
    policy: Policy,
    env: EnvLike | Envs,
    episodes: int,
    seed: int,
    env_kwargs: dict[str, Any] | None = None,
) -> dict[str, dict[str, Any]]:
    """Return the figures with sampled actions, as in the paper, and with greedy actions."""
    both = evaluate_both(policy, env, episodes, seed, env_kwargs)
    return {actions: evaluation.summary() for actions, evaluation in both.items()}


def evaluate_both(
    policy: Policy,
    env: EnvLike | Envs,
    episodes: int,
    seed: int,
    env_kwargs: dict[str, Any] | None = None,
) -> dict[str, Evaluation]:
    """Evaluate with "sampled" and with "greedy" actions.

    A deterministic policy does the same in both, so it is evaluated once.
    """
    greedy = evaluate(policy, env, episodes, seed, True, env_kwargs)
    sampled = greedy
    if not policy.deterministic:
        sampled = evaluate(policy, env, episodes, seed, False, env_kwargs)
    return {"sampled": sampled, "greedy": greedy}


def seed_policy(policy: Predictor, seed: int) -> None:
    """Seed the sampling of a policy that has a method `seed`."""
    if callable(reseed := getattr(policy, "seed", None)):
        reseed(stream_seed(seed, Stream.SAMPLING))


def check_actions(policy: Predictor, actions: ActionSpace, env: str) -> None:
    """Check that a policy with continuous actions was made for the bounds of the env.

    Raises:
        InputError: It was not.
    """
    if isinstance(policy, ContinuousCore):
        refuse_other_bounds(policy.name, policy.actions, actions, env)


class _EpisodeQueue:
    """Numbers the episodes in the order in which the envs start them."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._numbers: dict[tuple[int, int], int] = {}

    def seed_of(self, i: int, k: int) -> int:
        """Give env i's k-th episode the next number, and return the seed of that number."""
        number = self._numbers[i, k] = len(self._numbers)
        return stream_seed(self._seed, Stream.EPISODE, number)

    def running(self, envs: Envs) -> np.ndarray:
        """The number of the episode that each env is in."""
        return np.array([self._numbers[key] for key in enumerate(envs.episode.tolist())])


def _run(
    policy: Predictor, envs: Envs, queue: _EpisodeQueue, episodes: int, deterministic: bool
) -> Evaluation:
    space = envs.spaces.actions
    check_actions(policy, space, envs.name)
    finished: dict[int, Episode] = {}
    returns = np.zeros(envs.n)
    state, previous = None, space.null(envs.n)
    log, masked = _ControllerLog(policy, envs.spaces), takes_masks(policy, envs)
    predict: Any = policy.predict  # with action masks, for policies that take them
    while len(finished) < episodes:
        numbers = queue.running(envs)
        counted = numbers < episodes  # an idle env runs episodes that do not count
        masks = {ACTION_MASKS: envs.masks()} if masked else {}
        log.add(envs.obs, previous, state, counted, masks)
        taken = list(envs.actions)  # a reset puts new lists in place
        if max(map(len, taken)) >= MOST_STEPS:
            raise InputError(
                f"an episode of {envs.name} has not ended after {MOST_STEPS:,} steps: give the env "
                "a time limit, such as --env-kwargs max_episode_steps=1000"
            )
        observation = envs.spaces.decode(envs.obs)
        chosen, state = predict(observation, state, space.is_null(previous), deterministic, **masks)
        actions = space.from_env(chosen)
        step = envs.step(actions)
        returns += step.reward
        for i in np.flatnonzero(step.done & counted).tolist():
            finished[int(numbers[i])] = Episode(
                float(returns[i]),
                np.array(taken[i]),
                bool(step.terminated[i]),
                _crashed(step.info, i),
                space,
                _forced(state, i),
            )
        returns[step.done] = 0
        previous = select(step.done, space.null(envs.n), actions)
    return Evaluation([finished[k] for k in range(episodes)], *log.values())


def takes_masks(policy: Predictor, envs: Envs) -> bool:
    """Whether the policy's `predict` is called with the env's action masks."""
    masked = getattr(policy, "masked", None)
    if masked is not None:
        return bool(masked)
    # a policy of others, such as MaskablePPO itself
    return ACTION_MASKS in inspect.signature(policy.predict).parameters and envs.has_masks


def _forced(state: Any, i: int) -> int | None:
    """How many switches of env i's episode a mask forced on a limit; None without both."""
    return int(state[FORCED][i]) if isinstance(state, dict) and FORCED in state else None


def _crashed(info: dict[str, Any], i: int) -> bool | None:
    """Whether env i's episode ended in a crash; None if the env does not report it."""
    if "crashed" not in info or not info.get("_crashed", np.ones(i + 1, bool))[i]:
        return None
    return bool(info["crashed"][i])


class _ControllerLog:
    """The controller's inertia at every step that has a previous action.

    Steps are collected and computed together, since one large batch is faster than many small ones.
    """

    def __init__(self, policy: Predictor, spaces: Spaces) -> None:
        self._policy = policy if isinstance(policy, Policy) and policy.nested else None
        self._spaces = spaces
        self._steps: list[tuple[np.ndarray, ...]] = []
        self._numbers = 0  # in the collected observations
        self._computed: list[tuple[np.ndarray, np.ndarray]] = []

    def add(
        self,
        obs: np.ndarray,
        previous: np.ndarray,
        state: Any,
        counted: np.ndarray,
        masks: dict[str, np.ndarray],
    ) -> None:
        """Add one step of the envs that are counted.

        A step without a previous action is left out, so `state`, which the last step returned, is
        the one to act with. It is None before the first step.
        """
        if self._policy is None or state is None:
            return
        known = counted & ~self._spaces.actions.is_null(previous)
        tokens = self._policy.tokens(state)
        if self._policy.spaces.remembered:  # now, as the state is known only now
            allowed = next(iter(masks.values()), None)
            obs, _ = self._policy.spaces.encode_with(self._spaces.decode(obs), state, allowed)
        rows = (obs, *masks.values(), previous) + (() if tokens is None else (tokens,))
        self._steps.append(tuple(part[known] for part in rows))
        self._numbers += int(counted.sum()) * obs[0].size
        if self._numbers > MOST_NUMBERS:
            self._compute()

    def _compute(self) -> None:
        assert self._policy is not None
        obs, *memory = (np.concatenate(part) for part in zip(*self._steps, strict=True))
        masks = memory.pop(0) if self._policy.masked else None
        previous = memory[0]
        self._steps, self._numbers = [], 0
        encoded = self._policy.spaces.remembered or self._policy.spaces == self._spaces
        if not encoded:  # a core's outputs follow the observations
            obs = self._policy.spaces.encode(self._spaces.decode(obs), masks)
        acting = self._policy.acting(obs, *memory)
        gap = acting.core.probability(previous) - acting.policy.probability(previous)
        self._computed.append((np.asarray(acting.mu), gap))

    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """mu, and the probability of a switch, mixed policy minus core; one value per step."""
        if self._steps:
            self._compute()
        if not self._computed:
            return np.zeros(0), np.zeros(0)
        mu, gap = (np.concatenate(part) for part in zip(*self._computed, strict=True))
        return mu, gap
