"""Whether a candidate is shown to lose no more than allowed: `smooth` with `safe`.

The loss that is allowed is a share of what the core gains over random actions, which is not known
either. So the test is about one number of each episode,

    candidate - core + loss * (core - random),

whose mean is 0 or more exactly if the loss is allowed. Episodes are run until a sequential test
decides. They are no episodes on which anything else was chosen or compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from policy_inertia.metrics.betting import mean_above_zero

BATCH = 20  # episodes that run together
WIDER = 0.1  # by so much the range of the returns is widened at both ends

Returns = Callable[[Any, int], np.ndarray]
"""Gives the returns of a policy in the n-th batch of episodes."""


@dataclass(frozen=True)
class Safety:
    """What was shown about a candidate.

    Attributes:
        safe: Whether its loss is allowed; None if neither was shown.
        confidence: With which confidence.
        episodes: The number of episodes that it took.
    """

    safe: bool | None
    confidence: float
    episodes: int

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return asdict(self)

    def fault(self, loss: float) -> str:
        """Why a candidate is out; empty if it is safe."""
        if self.safe:
            return ""
        where = f"{self.confidence:.1%} confidence after {self.episodes} episodes"
        if self.safe is False:
            return f"is out, since it loses more than {100 * loss:g}%, with {where}"
        return f"is out, since a loss of {100 * loss:g}% is not excluded with {where}"


@dataclass
class SafetyTests:
    """The tests of all candidates of one comparison.

    The k-th candidate may be wrongly called safe with a probability of error / 2**k, so that any of
    them is with at most `error`.

    Attributes:
        returns: Runs a policy on a batch of episodes.
        core: The core.
        random: Random actions.
        loss: Largest share of (core - random) that a candidate may lose.
        error: One minus the confidence.
        low: Returns below count as this.
        high: Returns above count as this.
        most: Largest number of episodes for a candidate.
    """

    returns: Returns
    core: Any
    random: Any
    loss: float
    error: float
    low: float
    high: float
    most: int
    _tests: int = 0
    _references: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)

    @classmethod
    def within(
        cls, seen: np.ndarray, returns: Returns, core: Any, random: Any, **settings: Any
    ) -> SafetyTests:
        """The tests for returns like those of the core and of random actions in other episodes."""
        low, high = float(seen.min()), float(seen.max())
        margin = WIDER * (high - low)
        return cls(returns, core, random, low=low - margin, high=high + margin, **settings)

    def test(self, candidate: Any) -> Safety:
        """Run episodes until it is shown whether a candidate is safe."""
        self._tests += 1
        error = self.error / 2**self._tests
        bound = (1 + self.loss) * (self.high - self.low)
        result = mean_above_zero(self._values(candidate), bound, error)
        return Safety(result.above, 1 - error, result.n)

    def _values(self, candidate: Any) -> Iterator[float]:
        for batch in range(-(-self.most // BATCH)):
            if batch == len(self._references):
                pair = (self._clipped(self.core, batch), self._clipped(self.random, batch))
                self._references.append(pair)
            core, random = self._references[batch]
            values = self._clipped(candidate, batch) - core + self.loss * (core - random)
            yield from values.tolist()

    def _clipped(self, policy: Any, batch: int) -> np.ndarray:
        return np.clip(self.returns(policy, batch), self.low, self.high)
