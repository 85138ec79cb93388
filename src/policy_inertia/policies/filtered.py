"""The filters that any policy of ours can be given: the same policy, which switches less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from policy_inertia.actions.bucket import Limit
from policy_inertia.actions.switching import Switching
from policy_inertia.envs.spaces import Spaces
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.head_filters import Threshold


class Filtered:
    """Methods that return the same policy with other filters; `Policy` inherits them."""

    spaces: Spaces
    switching: Switching | None

    def replace(self, **changes: Any) -> Self:
        """The same policy with other arguments of the constructor."""
        raise NotImplementedError

    def with_hysteresis(self, tau: Threshold) -> Self:
        """The same policy, which repeats its last action unless a new one is better by `tau`.

        "Better" is measured in log-probability, or in Q for DQN. A new action that is better by
        exactly `tau` is taken. `tau=0` leaves a greedy policy as it is. Of actions with several
        heads, each head is held for itself, by one threshold for all or one for each.
        """
        return self.replace(hysteresis=tau)

    def with_limit(
        self, rate: float, burst: float = 1.0, carry_over: bool = False, per_head: bool = False
    ) -> Self:
        """The same policy, which makes at most `burst + rate * n` switches in n steps, always.

        A method that learned to plan with limits (`limit-dqn`, `limit-sac`) plans with this one.
        Around any other policy the limit is a filter: without a token, the last action is repeated.

        Safe in mid-episode: keep passing the same state. Tokens are then kept, up to the new burst;
        a state that has none starts with a full bucket.

        The arguments are those of `Limit`; Box actions have a `MovementLimit` instead.

        Raises:
            InputError: An argument is out of range, or the method holds its actions by itself.
        """
        return self.within(limit_of(self.spaces.actions, rate, burst, carry_over, per_head))

    def within(self, limit: Limit | MovementLimit | None) -> Self:
        """The same policy within a limit, or without one; see `with_limit`."""
        return self.replace(limit=limit)

    def with_dwell(self, steps: int) -> Self:
        """The same policy, which holds every action for at least so many steps.

        Of actions with several heads, each head is held for itself. An action mask has the last
        word; a limit may hold an action even longer.
        """
        return self.with_switching(replace(self.switching or Switching(), dwell=steps))

    def with_costs(self, costs: Any) -> Self:
        """The same policy, for whose filters not every switch costs the same.

        A threshold, and the tokens of a limit, are multiplied by `costs[i][j]` for a switch from
        action i to action j. A dial learns with its own setting `costs`.

        Args:
            costs: A square table of numbers from 0 on, with 0 on the diagonal.
        """
        table = Switching.of(costs).costs
        return self.with_switching(replace(self.switching or Switching(), costs=table))

    def with_switching(self, switching: Switching | None) -> Self:
        """The same policy with these rules of switching, or without any."""
        return self.replace(switching=switching)


def limit_of(
    actions: Any, rate: float, burst: float, carry_over: bool = False, per_head: bool = False
) -> Limit | MovementLimit:
    """The limit that bounds actions of this kind: on switching, or on movement."""
    if actions.finite:
        return Limit(rate, burst, carry_over, per_head)
    return MovementLimit(rate, burst, per_head)
