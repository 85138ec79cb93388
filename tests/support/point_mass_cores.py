"""Policies for the point masses: good, but each follows the noise that it sees."""

import numpy as np


def hold_still(obs: np.ndarray) -> np.ndarray:
    """Brake and come back to 0, and shake."""
    wanted = -2 * obs[:, :1] - 4 * obs[:, 1:2] + 0.6 * obs[:, 2:3]
    return np.clip(wanted, -2, 2)


def square_wave(obs: np.ndarray) -> np.ndarray:
    """Follow the wave, and shake around it."""
    return np.clip(obs[:, :1] + 0.15 * obs[:, 1:2], -1, 1)


def two_joints(obs: np.ndarray) -> np.ndarray:
    """Follow the wave with the first number, and the noise with the second."""
    return np.clip(np.stack([obs[:, 0], 0.5 * obs[:, 1]], 1), -1, 1)
