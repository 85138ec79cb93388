"""SIGINT and SIGTERM during a run: stop where everything can be saved, and save it.

A second signal stops at once. Handlers that a program has set itself are left alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, Self

from policy_inertia.errors import Stopped

SIGNALS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
"""The signals that stop a run, and what Python does with them by default."""

_active: list[Interruption] = []


class Interruption:
    """Takes the signals of a `with` block and raises `Stopped` where the block asks for it.

    If the block ends in another way, `Stopped` is raised at its end.

    Attributes:
        signal: The first signal that came; None before it.
        hurried: Whether a second one came, which is raised at once, wherever the program is.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.hurried = False
        self._raises = False
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # Python allows no other
            for number, default in SIGNALS.items():
                if signal.getsignal(number) is default:
                    self._handlers[number] = signal.signal(number, self._handle)
        _active.append(self)
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        _active.remove(self)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if error is None:
            self.check()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.hurried = self.signal is not None
        self.signal = self.signal or number
        if self.hurried or self._raises:
            raise Stopped(number)

    def check(self) -> None:
        """Raise `Stopped` if a signal has come: call it where everything can be saved."""
        if self.signal is not None:
            raise Stopped(self.signal)

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Raise `Stopped` as soon as a signal comes: for work that changes nothing to be saved."""
        self._raises = True
        try:
            self.check()
            yield
        finally:
            self._raises = False


def request_stop() -> bool:
    """Stop the run of this process, as SIGTERM does; once more changes nothing.

    Returns:
        Whether there is a run that takes the signal.
    """
    if not _active or signal.SIGTERM not in _active[-1]._handlers:
        return False
    if _active[-1].signal is None:
        os.kill(os.getpid(), signal.SIGTERM)
    return True
