"""The sizes of a task."""

from __future__ import annotations

from typing import NamedTuple

from policy_inertia.actions.space import ActionSpace


class Spec(NamedTuple):
    """The sizes of a task that a learner needs to know."""

    obs_dim: int
    actions: ActionSpace
    core_outputs: int = 0
    """How many of the last numbers of an observation are a frozen core's outputs: networks do not
    see them."""
    image: tuple[int, int, int] | None = None
    """Channels, height and width, where observations are pixels."""
    repeats: tuple[int, ...] = (1,)
    """For how many steps an action may be held. With several numbers, `actions` are choices: an
    action and a number of steps."""
    planes: bool = False
    """Whether the channels of an image are planes of one moment, and not frames of several."""
    masked: bool = False
    """Whether a frozen core's outputs say which actions are forbidden (see `actions/masks.py`)."""

    @property
    def frames(self) -> tuple[int, int, int] | None:
        """Frames in an image, height and width: what the replay buffer stores once."""
        if self.image is None or not self.planes:
            return self.image
        channels, height, width = self.image
        return 1, channels * height, width
