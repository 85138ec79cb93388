"""A trade-off curve of return against switch rate: the vertices that prices of switching find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from policy_inertia.errors import InputError


class Measured(Protocol):
    """Anything with a return and a switch rate."""

    @property
    def return_(self) -> float: ...
    @property
    def switch_rate(self) -> float: ...


P = TypeVar("P", bound=Measured)


@dataclass(frozen=True)
class Curve(Generic[P]):
    """A concave curve. A mixture of two neighbouring vertices reaches the points between them."""

    vertices: list[P]
    """In increasing order of switch rate and return."""
    complete: bool
    """Whether these are all vertices; False if `max_vertices` stopped the search."""

    def best_return(self, rate: float) -> float:
        """The largest return on the curve with at most this switch rate."""
        rates, returns = self._axes()
        if rate < rates[0]:
            raise InputError(f"no point has a switch rate of {rate:g}: give at least {rates[0]:g}")
        return float(np.interp(rate, rates, returns))

    def least_rate(self, return_: float) -> float:
        """The smallest switch rate on the curve with at least this return."""
        rates, returns = self._axes()
        if return_ > returns[-1]:
            raise InputError(f"no point has a return of {return_:g}: give at most {returns[-1]:g}")
        return float(np.interp(return_, returns, rates))

    def best_vertex(self, rate: float) -> P:
        """The vertex with the largest return among those with at most this switch rate."""
        rates, _ = self._axes()
        return self.vertices[max(int(np.searchsorted(rates, rate + _ROUNDING, "right")) - 1, 0)]

    def _axes(self) -> tuple[list[float], list[float]]:
        return [p.switch_rate for p in self.vertices], [p.return_ for p in self.vertices]


_ROUNDING = 1e-12  # of a switch rate


def find_curve(
    solve: Callable[[float], P], first: P, max_vertices: int, tolerance: float
) -> Curve[P]:
    """Find the vertices of a trade-off curve.

    Between two known points, the problem is solved with the slope of their chord as the price.
    Either the solution lies above the chord and is a new vertex, or the chord is an edge of the
    curve.

    Args:
        solve: From a price of the switch rate to a point with the largest
            return - price * switch rate.
        first: The left end of the curve.
        max_vertices: Stop after this many vertices.
        tolerance: Height above a chord that counts as rounding.

    Returns:
        The curve.
    """
    points = [first]
    top = solve(0.0)
    if top.return_ <= first.return_ + tolerance:
        return Curve(points, True)
    points.append(top)
    chords = [(first, top)]
    while chords and len(points) < max_vertices:
        left, right = chords.pop(0)
        price = (right.return_ - left.return_) / (right.switch_rate - left.switch_rate)
        point = solve(price)
        above = (point.return_ - left.return_) - price * (point.switch_rate - left.switch_rate)
        if above > tolerance:
            points.append(point)
            chords += [c for c in ((left, point), (point, right)) if _rises(*c)]
    return Curve(_undominated(points, tolerance), not chords)


def _rises(left: Measured, right: Measured) -> bool:
    return right.return_ > left.return_ and right.switch_rate > left.switch_rate


def _undominated(points: list[P], tolerance: float) -> list[P]:
    """Drop every point whose return another point reaches with less switching."""
    vertices: list[P] = []
    for point in sorted(points, key=lambda p: (p.switch_rate, -p.return_)):
        if not vertices or point.return_ > vertices[-1].return_ + tolerance:
            vertices.append(point)
    return vertices
