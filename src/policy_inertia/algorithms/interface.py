"""What an algorithm is: settings, a bundle of pure functions, and how it acts while it learns.

The model is Optax's `GradientTransformation`: few fields that all algorithms have, and an extension
is another type (`Nested`, `Dial`), not an optional field.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from jax import numpy as jnp

from policy_inertia.actions.bucket import Limit
from policy_inertia.actions.discrete import Categorical
from policy_inertia.actions.per_head import forbidden_choices
from policy_inertia.actions.space import ActionSpace, Distribution, select
from policy_inertia.envs.spec import Spec
from policy_inertia.types import Array, Number, Transition, Tree


@dataclass(frozen=True)
class Traits:
    """What other layers may ask about an algorithm, instead of looking at its class."""

    scores: Literal["log_probabilities", "values"]
    """What `Acting.scores` holds, and so the unit of a hysteresis threshold."""
    deterministic: bool = False
    """The policy puts all probability on one action, so sampling is the same as being greedy."""
    nested: bool = False
    """A controller is wrapped around a core."""
    frozen: bool = False
    """The core is a policy that somebody else trained."""
    dial: bool = False
    """The price of switching can be set after training."""
    limit: bool = False
    """The limit on switching that it plans with can be set after training."""
    skips: bool = False
    """It learns from every part of a stretch over which an action was held."""
    preceded: bool = False
    """It learns from three observations in a row, so the replay buffer stores the first one too."""
    acts_freely: bool = False
    """Its controller goes anywhere, not a part of the way from the last action to the core's."""
    one_budget: bool = False
    """A run is trained for one budget of oscillation, so several runs are one policy."""
    actions: Literal["discrete", "box", "multi_discrete"] = "discrete"
    """The kind of actions that it learns."""

    @property
    def adjustable(self) -> bool:
        """Whether one training run gives policies of every degree of smoothness."""
        return self.dial or self.limit


@dataclass(frozen=True)
class AlgorithmConfig:
    """Settings of an algorithm. A subclass is a frozen dataclass with `traits` and `build`."""

    @property
    def traits(self) -> Traits:
        """What other layers may ask about this algorithm."""
        raise NotImplementedError

    def build(self, spec: Spec) -> Algorithm:
        """Make the algorithm that has these settings, for a task of these sizes."""
        raise NotImplementedError

    def for_steps(self, steps: int) -> AlgorithmConfig:
        """These settings for a run of so many env steps; settings that are shares become counts."""
        return self

    @property
    def core_config(self) -> AlgorithmConfig:
        """The settings of the core; these settings themselves where nothing is nested."""
        return self

    @property
    def limit(self) -> Limit | None:
        """The one limit on switching that was learned; None for other algorithms."""
        return None

    def variants(self) -> list[AlgorithmConfig]:
        """These settings, and those of every other way to act by the same parameters."""
        return [self]


OverActions: TypeAlias = "Categorical | Any"
"""A distribution over actions: a `Categorical` for Discrete ones; for Box any
`actions.space.Distribution`, such as those of `actions.gaussian`."""


class Acting(NamedTuple):
    """A policy's outputs for a batch of (observation, previous action)."""

    policy: OverActions
    """The distribution that acts: the mixed policy of a nested algorithm."""
    core: OverActions
    """The core's distribution; the same as `policy` where nothing is nested."""
    mu: Array
    """(B,) the inertia, or (B, d) for each number of an action; 0 where nothing is nested or there
    is no previous action."""
    scores: Array
    """(B, A) what hysteresis compares: log-probabilities or Q-values; empty for Box actions."""


def plain(policy: Categorical, scores: Array) -> Acting:
    """The outputs of a policy without a controller: the core is the policy."""
    return Acting(policy, policy, np.zeros(policy.log_pi.shape[:-1], np.float32), scores)


def plain_box(policy: Distribution, n: int) -> Acting:
    """The outputs of a policy over Box actions without a controller, for `n` observations."""
    return Acting(policy, policy, np.zeros(n, np.float32), np.zeros((n, 0), np.float32))


class CoreOutputs(NamedTuple):
    """The core's distributions for a minibatch, reused by the outer half of a nested update."""

    now: OverActions
    """At the observations."""
    next: OverActions
    """At the next observations."""
    temperature: Number = 0.0
    """The weight of the core's entropy, for Box actions; 0 for a core without one."""


class Updated(NamedTuple):
    """The result of an update."""

    state: Tree
    losses: dict[str, Array]
    core_outputs: CoreOutputs | None = None
    """The outputs of the network before its update, where they were computed anyway."""


class Init(Protocol):
    """Make the state: everything that learning carries along, as a pytree."""

    def __call__(self, rng: np.random.Generator) -> Tree: ...


class Update(Protocol):
    """Update every part whose entry in `due`, as many booleans as `intervals`, is true."""

    def __call__(self, state: Tree, batch: Transition, due: Array) -> Updated: ...


class Parameters(Protocol):
    """Take from the state what acting needs."""

    def __call__(self, state: Tree) -> Tree: ...


class Apply(Protocol):
    """Compute a policy's outputs; with NumPy as `xp` on the host, with JAX in the learner."""

    def __call__(self, params: Tree, obs: Array, prev_action: Array, xp: Any = jnp) -> Acting: ...


class EpisodePolicy(Protocol):
    """Give the distribution to act by in training; `drawn` has each running episode's numbers."""

    def __call__(
        self, params: Tree, obs: np.ndarray, prev_action: np.ndarray, drawn: np.ndarray
    ) -> OverActions: ...


def no_draw(step: int, rng: np.random.Generator) -> float:
    """Every episode is acted in the same way: no number is drawn."""
    return 0.0


def no_rule(action: np.ndarray, prev_action: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Every action may be taken."""
    return action


def no_change(drawn: np.ndarray, prev_action: np.ndarray, action: np.ndarray) -> np.ndarray:
    """An episode's numbers stay what they are."""
    return drawn


def every_episode(drawn: np.ndarray) -> bool:
    """All episodes have random actions."""
    return True


def no_lesson(state: Tree, drawn: np.ndarray) -> Tree:
    """The learner's state stays what it is."""
    return state


def no_epsilon(updates: int) -> float:
    """Stochastic policies explore by sampling."""
    return 0.0


def random_before_learning(updates: int) -> float:
    """All actions are random before the first update, as is usual with Box actions."""
    return float(updates == 0)


class HoldLengths(NamedTuple):
    """A distribution over the numbers 1, 2, ... of steps."""

    shares: np.ndarray
    mean: float

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Draw `n` numbers of steps."""
        return 1 + rng.choice(len(self.shares), n, p=self.shares)


@functools.cache
def hold_lengths(longest: int) -> HoldLengths:
    """For how many steps a random action is held: P(n) ~ 1 / n^2, up to `longest`.

    This is the exploration of Dabney, Ostrovski and Barreto, "Temporally-Extended epsilon-Greedy
    Exploration", ICLR 2021.
    """
    n = np.arange(1, longest + 1)
    shares = n**-2.0 / (n**-2.0).sum()
    return HoldLengths(shares, float(shares @ n))


@dataclass(frozen=True)
class Behaviour:
    """How an algorithm acts while it learns."""

    policy: EpisodePolicy
    actions: ActionSpace
    draw: Callable[[int, np.random.Generator], Any] = no_draw
    """Draw a number, or several, for an episode that begins at this step; they decide how the
    episode is acted, for example at which price of switching."""
    permit: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] = no_rule
    """Give the actions to take instead of these, after these previous ones and in episodes with
    these numbers: the rule that random actions keep too."""
    track: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] = no_change
    """Give the episodes' numbers after a step, from those before, the previous actions and the
    actions: for example, how many tokens are left."""
    epsilon: Callable[[int], float] = no_epsilon
    """The share of uniformly random actions after this many updates."""
    longest_hold: int = 1
    """Random actions are held for 1 to so many steps; see `hold_lengths`."""
    explores: Callable[[np.ndarray], Any] = every_episode
    """Give in which episodes, by their numbers, there are random actions."""
    finish: Callable[[Tree, np.ndarray], Tree] = no_lesson
    """Give the learner's state after an episode with these numbers has ended: for example, with
    another price."""

    def act(
        self,
        params: Tree,
        obs: np.ndarray,
        prev_action: np.ndarray,
        drawn: np.ndarray,
        updates: int,
        rng: np.random.Generator,
        held: np.ndarray,
    ) -> np.ndarray:
        """Choose one action for each env; what an action mask forbids is never taken.

        `held` has for how many more steps each env holds a random action; it is changed.
        """
        policy = self.policy(params, obs, prev_action, drawn)
        action = policy.sample(rng)
        epsilon = self.epsilon(updates)
        if epsilon > 0:
            action = self._explored(action, prev_action, drawn, epsilon, rng, held)
        if self.permit is no_rule:
            return action
        permitted = self.permit(action, prev_action, drawn)
        forbidden = forbidden_choices(policy.log_pi, permitted, self.actions)
        return np.where(forbidden, action, permitted)

    def _explored(
        self,
        action: np.ndarray,
        prev_action: np.ndarray,
        drawn: np.ndarray,
        epsilon: float,
        rng: np.random.Generator,
        held: np.ndarray,
    ) -> np.ndarray:
        """These actions, and random ones at a share `epsilon` of the steps."""
        n, holds, start = len(action), held > 0, epsilon
        random = self.actions.sample(rng, n)
        if self.longest_hold > 1:  # a hold is several random steps: fewer of them begin
            start = epsilon / (epsilon + (1 - epsilon) * hold_lengths(self.longest_hold).mean)
        starts = (rng.random(n) < start) & self.explores(drawn) & ~holds
        if self.longest_hold > 1:
            lengths = hold_lengths(self.longest_hold).sample(rng, n)
            held += np.where(starts, lengths, 0) - (holds | starts)
        return select(holds, prev_action, select(starts, random, action))


def sampling(apply: Apply, actions: ActionSpace) -> Behaviour:
    """Act by sampling from the policy itself."""

    def policy(
        params: Tree, obs: np.ndarray, prev_action: np.ndarray, drawn: np.ndarray
    ) -> OverActions:
        return apply(params, obs, prev_action, np).policy

    return Behaviour(policy, actions)


@dataclass(frozen=True)
class Algorithm:
    """The pure functions that make up an algorithm."""

    init: Init
    update: Update
    acting: Parameters
    apply: Apply
    intervals: tuple[int, ...]
    """Each part is updated after every so many transitions (the paper's m_core and m)."""
    behaviour: Behaviour
    policy: Parameters | None = field(default=None, kw_only=True)
    """Take from the state the parameters of the policy that is evaluated and saved, where they are
    not those that act in training: for example, an average."""


@dataclass(frozen=True)
class Soft(Algorithm):
    """An algorithm for Box actions that values its own entropy."""

    temperature: Callable[[Tree], Array]
    """Take the weight of the entropy from the state."""


class HoldProbability(Protocol):
    """Give the probability (B,) of repeating `prev_action` where an agent wants another `action`.

    Only the controller is asked: the core's outputs in an observation are not used.
    """

    def __call__(
        self, params: Tree, obs: np.ndarray, prev_action: np.ndarray, action: np.ndarray
    ) -> np.ndarray: ...


@dataclass(frozen=True)
class Nested(Algorithm):
    """An algorithm around a core."""

    core_params: Parameters
    """Take the core's parameters from the nested algorithm's."""
    hold_probability: HoldProbability


@dataclass(frozen=True)
class Dial(Nested):
    """A nested algorithm whose price of switching can be set after training."""

    at: Callable[[Tree, Number], Tree]
    """Set the price: one for all rows, or one for each."""
    price: Callable[[Tree], Number]
    """The price that is set."""
    largest_price: Callable[[Tree], Array]
    """The largest price that was learned."""
    modes: Callable[[Tree], list[tuple[AlgorithmConfig, Tree]]]
    """The ways to act with what was learned, each as settings and parameters; calibration keeps
    the best."""
    mode: Callable[[Tree], str]
    """How it acts now, in a few words."""


@dataclass(frozen=True)
class Limited(Nested):
    """A nested algorithm that plans with a limit on switching."""

    within: Callable[[Tree, Limit, np.ndarray], Tree]
    """Set the limit, and the tokens (in millionths) that each row has left."""
    largest_burst: float
    """The largest bucket that was learned, in tokens."""
    costs: tuple[tuple[float, ...], ...] | None = None
    """How many tokens each switch took in learning; None: one."""
    per_head: bool = False
    """Whether it plans with a bucket for each head."""
