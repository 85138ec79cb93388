"""From a policy to finished episodes, and from those to figures."""

from __future__ import annotations

from itertools import count
from typing import Any, Protocol

import numpy as np

from policy_inertia.envs.spaces import Spaces
from policy_inertia.envs.vector import EnvLike, Envs, episode_seed
from policy_inertia.errors import InputError
from policy_inertia.metrics.episodes import Episode
from policy_inertia.metrics.measures import Evaluation
from policy_inertia.policies.policy import Policy

LONGEST = 100_000  # steps of an episode; one that goes on has no time limit
AT_ONCE = 10_000_000  # numbers of observations that a controller is asked about together


class Predictor(Protocol):
    """Anything that acts as Stable-Baselines3's policies do."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, Any]: ...


def evaluate(
    policy: Predictor,
    env: EnvLike | Envs,
    episodes: int = 20,
    seed: int = 0,
    deterministic: bool = False,
    env_kwargs: dict[str, Any] | None = None,
) -> Evaluation:
    """Run whole episodes, the k-th from the k-th seed that `seed` gives; always the same ones.

    The episodes are handed to the envs in order and each is run to its end, so short episodes are
    not favoured. The paper evaluates with sampled actions; `deterministic` takes the best ones. Our
    own policies and cores draw from a generator that `seed` gives too; seed others yourself.
    `env_kwargs` are the env's own arguments.
    """
    if episodes < 1:
        raise InputError(f"episodes is {episodes}: evaluate at least one")
    number = count()
    handed: dict[tuple[int, int], int] = {}

    def seed_of(i: int, k: int) -> int:
        handed[i, k] = next(number)
        return episode_seed(seed, handed[i, k])

    if isinstance(env, Envs):
        envs = env
        envs.restart(seed_of)
    else:
        envs = Envs(env, min(episodes, 20), seed_of, env_kwargs)
    if callable(reseed := getattr(policy, "seed", None)):
        reseed(episode_seed(seed, 2**31))

    finished: dict[int, Episode] = {}
    reward = np.zeros(envs.n)
    state, previous = None, np.full(envs.n, -1)
    said = _Said(policy, envs.spaces)
    while len(finished) < episodes:
        numbers = np.array([handed[key] for key in enumerate(envs.episode.tolist())])
        asked = numbers < episodes  # the envs that are done go on with episodes that do not count
        said.about(envs.obs[asked], previous[asked])
        taken = list(envs.actions)  # before a reset renews them
        if max(map(len, taken)) >= LONGEST:
            raise InputError(
                f"an episode of {envs.name} has not ended after {LONGEST:,} steps: give the env a "
                "time limit, such as --env-kwargs max_episode_steps=1000"
            )
        observation = envs.spaces.decode(envs.obs)
        actions, state = policy.predict(observation, state, previous < 0, deterministic)
        actions = np.asarray(actions) - envs.spaces.discrete.first
        step = envs.step(actions)
        reward += step.reward
        for i in np.flatnonzero(step.done & asked).tolist():
            crashed = _crashed(step.info, i)
            finished[int(numbers[i])] = Episode(
                float(reward[i]), np.array(taken[i]), bool(step.terminated[i]), crashed
            )
        reward[step.done] = 0
        previous = np.where(step.done, -1, actions)
    if envs is not env:
        envs.close()
    return Evaluation([finished[k] for k in range(episodes)], *said.all())


def sampled_and_greedy(
    policy: Policy,
    env: EnvLike | Envs,
    episodes: int,
    seed: int,
    env_kwargs: dict[str, Any] | None = None,
) -> dict[str, dict[str, Any]]:
    """`evaluate`'s figures with sampled actions, as the paper has it, and with greedy ones.

    A policy that is always certain does the same in both, so it is evaluated once.
    """
    greedy = evaluate(policy, env, episodes, seed, True, env_kwargs).summary()
    if policy.deterministic:
        return {"sampled": greedy, "greedy": greedy}
    sampled = evaluate(policy, env, episodes, seed, False, env_kwargs).summary()
    return {"sampled": sampled, "greedy": greedy}


def _crashed(info: dict[str, Any], i: int) -> bool | None:
    """Whether env i's episode ended in a crash, where the env says so in its info."""
    if "crashed" not in info or not info.get("_crashed", np.ones(i + 1, bool))[i]:
        return None
    return bool(info["crashed"][i])


class _Said:
    """What a controller says on the way: asked of many steps at once, and of not too many."""

    def __init__(self, policy: Predictor, spaces: Spaces) -> None:
        self.policy = policy if isinstance(policy, Policy) and policy.nested else None
        self.spaces = spaces
        self.steps: list[tuple[np.ndarray, np.ndarray]] = []
        self.numbers = 0
        self.found: list[tuple[np.ndarray, np.ndarray]] = []

    def about(self, obs: np.ndarray, previous: np.ndarray) -> None:
        """One step of some envs; without a previous action there is nothing to say."""
        if self.policy is None:
            return
        self.steps.append((obs[previous >= 0], previous[previous >= 0]))
        self.numbers += obs.size
        if self.numbers > AT_ONCE:
            self._ask()

    def _ask(self) -> None:
        assert self.policy is not None
        obs, previous = (np.concatenate(part) for part in zip(*self.steps, strict=True))
        self.steps, self.numbers = [], 0
        if self.policy.spaces != self.spaces:  # it adds something to the observations
            obs = self.policy.spaces.encode(self.spaces.decode(obs))
        acting = self.policy.acting(obs, previous)
        gap = acting.core.probability(previous) - acting.policy.probability(previous)
        self.found.append((acting.mu, gap))

    def all(self) -> tuple[np.ndarray, np.ndarray]:
        """mu, and mixed minus core switch probability, at every step with a previous action."""
        if self.steps:
            self._ask()
        if not self.found:
            return np.zeros(0), np.zeros(0)
        mu, gap = (np.concatenate(part) for part in zip(*self.found, strict=True))
        return mu, gap
