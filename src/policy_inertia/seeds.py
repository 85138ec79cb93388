"""The seeds of everything random: every purpose has a stream of its own."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """What a seed is for, besides training.

    The numbers are larger than any number of an env or an episode, so that no key of training can
    equal a key of a stream.
    """

    EVALUATION = 2**31 + 1
    """The evaluations during training, by step."""
    FINAL = 2**31 + 2
    """The last evaluation of a run."""
    CALIBRATION = 2**31 + 3
    HELD_OUT = 2**31 + 4
    """The episodes on which `smooth` compares the candidates."""
    EPISODE = 2**31 + 5
    """The episodes of one evaluation, by number."""
    SAMPLING = 2**31 + 6
    """The actions that a policy samples in an evaluation."""
    SCALING = 2**31 + 7
    """The random episodes that measure the scale of observations."""
    SELECTION = 2**31 + 8
    """The episodes on which modes, and the policies of several evaluations, are compared."""
    TUNING = 2**31 + 9
    """The settings that a tuner tries, by trial."""
    SAFETY = 2**31 + 10
    """The episodes of the sequential test of `smooth`, by batch."""


def training_seed(seed: int, env: int, episode: int) -> int:
    """Return the seed of an episode that is trained on: env number `env`, its k-th episode."""
    return _first_word(np.random.SeedSequence((seed, 0, env, episode)))


def stream_seed(seed: int, stream: Stream, *key: int) -> int:
    """Return the seed that a stream has for this key.

    NumPy pads a short seed with zeros, so two lists of numbers that differ only in zeros at their
    end give the same seed. A spawn key is not padded: it starts at the same place for every key.
    """
    return _first_word(np.random.SeedSequence(seed, spawn_key=(stream, *key)))


def _first_word(sequence: np.random.SeedSequence) -> int:
    return int(sequence.generate_state(1)[0])
