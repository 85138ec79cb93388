"""Nested policy iteration: a controller around any core (Algorithm 2).

The core learns by its own update, as if it were alone: the inner half. The controller learns in the
scope of the mixed policy: the outer half. NSAC is the paper's inertia controller around SAC.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from policy_inertia.actions.masks import forbid, is_forbidden
from policy_inertia.algorithms.interface import (
    Acting,
    Algorithm,
    AlgorithmConfig,
    CoreOutputs,
    Nested,
    OverActions,
    Parameters,
    Soft,
    Traits,
    Updated,
)
from policy_inertia.envs.spec import Spec
from policy_inertia.types import Array, Transition, Tree


class Controller(Protocol):
    """What `nested` puts around a core: it decides at (s, a_prev) when to repeat an action."""

    @property
    def interval(self) -> int:
        """Transitions collected for each update (the paper's m)."""

    @property
    def at_once(self) -> bool:
        """Use the core's outputs before its update, not after it."""

    def init(self, rng: np.random.Generator) -> Tree:
        """Make the controller's state."""

    def update(
        self, state: Tree, batch: Transition, core: CoreOutputs
    ) -> tuple[Tree, dict[str, Array]]:
        """Take one step of the outer half: the new state and the losses by name."""

    def acting(self, state: Tree) -> Tree:
        """Take from the state what acting needs."""

    def apply(
        self, params: Tree, obs: Array, prev_action: Array, core: Acting, xp: Any = jnp
    ) -> Acting:
        """Compute the mixed policy's outputs from the core's."""

    def hold_probability(
        self, params: Tree, obs: np.ndarray, prev_action: np.ndarray, action: np.ndarray
    ) -> np.ndarray:
        """Give the probability of repeating where an agent wants `action`; on the host."""

    def draw(self, step: int, rng: np.random.Generator) -> Any:
        """Draw numbers for a training episode that begins at this step (see `Behaviour`)."""

    def explore(
        self, params: Tree, obs: np.ndarray, prev: np.ndarray, core: Acting, drawn: np.ndarray
    ) -> OverActions:
        """Give the distribution to act by in training (see `Behaviour`)."""


@runtime_checkable
class AveragedController(Controller, Protocol):
    """A controller whose policy may act by other parameters than training does."""

    @property
    def policy(self) -> Parameters | None:
        """Take from the state what the policy needs; None: the same as acting."""


@dataclass(frozen=True)
class NestedConfig(AlgorithmConfig):
    """Settings of a controller around a core. A subclass adds the controller's own."""

    core: AlgorithmConfig
    """Settings of the core, which learns as it would alone."""

    @property
    def traits(self) -> Traits:
        return Traits(scores="log_probabilities", nested=True, frozen=self.core.traits.frozen)

    @property
    def core_config(self) -> AlgorithmConfig:
        return self.core

    def for_steps(self, steps: int) -> NestedConfig:
        return replace(self, core=self.core.for_steps(steps))

    def controller(self, spec: Spec) -> Controller:
        """Make the controller that has these settings."""
        raise NotImplementedError

    def parts(self, params: Tree) -> ControllerParts | None:
        """The controller as networks and numbers, from its parameters; None: it has no export."""
        return None

    def build(self, spec: Spec) -> Algorithm:
        return nested(self.core.build(spec), self.controller(spec), spec)


@dataclass(frozen=True)
class ControllerParts:
    """A controller as plain networks and numbers, for export to other programs."""

    rule: str
    """How the networks' outputs become a policy; see `interop.onnx_rules.RULES`."""
    networks: tuple[Tree, ...]
    """Parameters over the observation, a_prev's one-hot and, for a dial, the price's features."""
    numbers: dict[str, float]
    costs: tuple[float, ...] | None = None
    """What switches cost, a table row by row; None where they all cost the same."""
    mean: bool = False
    """Whether the mean of twin critics counts, and not the lower value."""


class NestedState(NamedTuple):
    core: Tree
    controller: Tree


class NestedParams(NamedTuple):
    core: Tree
    controller: Tree


def nested(core: Algorithm, controller: Controller, spec: Spec) -> Nested:
    """Wrap `core` and a controller into the mixed policy of Equation (mixed_policy)."""
    intervals = (*core.intervals, controller.interval)
    own_policy = controller.policy if isinstance(controller, AveragedController) else None

    def init(rng: np.random.Generator) -> NestedState:
        core_state = core.init(rng)  # first: the very core that the same generator gives alone
        return NestedState(core_state, controller.init(rng))

    def update(state: NestedState, batch: Transition, due: Array) -> Updated:
        before = state.core

        def inner(state: NestedState) -> Updated:
            updated = core.update(state.core, batch, due[:-1])
            return updated._replace(state=state._replace(core=updated.state))

        def outer(state: NestedState, outputs: CoreOutputs | None = None) -> Updated:
            core_state = before if controller.at_once else state.core
            if outputs is None or not controller.at_once:
                outputs = core_outputs(core, core_state, batch)
            controller_state, losses = controller.update(state.controller, batch, outputs)
            return Updated(state._replace(controller=controller_state), losses)

        together = len(set(intervals)) == 1
        if together and spec.image is None:  # no branch in the compiled loop
            state, losses, outputs = inner(state)
            state, outer_losses, _ = outer(state, outputs)
        else:  # one half frees its large arrays before the other starts
            state, losses, outputs = _when(due[:-1].any(), inner, state)
            half = functools.partial(outer, outputs=outputs if together else None)
            state, outer_losses, _ = _when(due[-1], half, state)
        return Updated(state, losses | outer_losses)

    def acting(state: NestedState) -> NestedParams:
        return NestedParams(core.acting(state.core), controller.acting(state.controller))

    def policy(state: NestedState) -> NestedParams:
        of_core, own = core.policy or core.acting, own_policy or controller.acting
        return NestedParams(of_core(state.core), own(state.controller))

    def apply(params: NestedParams, obs: Array, prev_action: Array, xp: Any = jnp) -> Acting:
        core_acting = core.apply(params.core, obs, prev_action, xp)
        return controller.apply(params.controller, obs, prev_action, core_acting, xp)

    def explore(
        params: NestedParams, obs: np.ndarray, prev_action: np.ndarray, drawn: np.ndarray
    ) -> OverActions:
        core_acting = core.apply(params.core, obs, prev_action, np)
        own = controller.explore(params.controller, obs, prev_action, core_acting, drawn)
        if not spec.masked:
            return own
        return own._replace(log_pi=forbid(own.log_pi, ~is_forbidden(core_acting.policy.log_pi)))

    def hold_probability(
        params: NestedParams, obs: np.ndarray, prev_action: np.ndarray, action: np.ndarray
    ) -> np.ndarray:
        return controller.hold_probability(params.controller, obs, prev_action, action)

    behaviour = replace(core.behaviour, policy=explore, draw=controller.draw)
    return Nested(
        init,
        update,
        acting,
        apply,
        intervals,
        behaviour,
        policy=policy if core.policy or own_policy else None,
        core_params=lambda params: params.core,
        hold_probability=hold_probability,
    )


def core_outputs(core: Algorithm, state: Tree, batch: Transition) -> CoreOutputs:
    """Compute the core's distributions at a minibatch's observations and next observations."""
    params = core.acting(state)
    now, then = (
        core.apply(params, obs, last).policy
        for obs, last in ((batch.obs, batch.prev_action), (batch.next_obs, batch.action))
    )
    if isinstance(core, Soft):
        return CoreOutputs(now, then, core.temperature(state))
    return CoreOutputs(now, then)


def _when(
    due: Array | np.bool, half: Callable[[NestedState], Updated], state: NestedState
) -> Updated:
    """Run one half if it is due. If it is not, the losses and outputs are NaN."""
    shapes = jax.eval_shape(half, state)

    def skip(state: NestedState) -> Updated:
        rest = jax.tree.map(lambda s: jnp.full(s.shape, jnp.nan, s.dtype), shapes[1:])
        return Updated(state, *rest)

    return lax.cond(due, half, skip, state)
