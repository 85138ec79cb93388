"""Exported C files, compiled and called from Python."""

import ctypes
import itertools
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

COMPILER = shutil.which("cc")
FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2")
COUNT = itertools.count()
TYPES: dict[str, Any] = {
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler named cc")


def compile_c(source: Path, *flags: str) -> Path:
    """Compile a C file, with every warning as an error; return the file that the compiler wrote."""
    assert COMPILER is not None
    # a library that was loaded once under a name is never loaded again under that name
    out = source.with_suffix(f".{next(COUNT)}.out")
    command = [COMPILER, *FLAGS, *flags, str(source), "-o", str(out), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return out


class CPolicy:
    """A compiled policy with its state, in the middle of an episode or at its start.

    The fields of `policy_state` are attributes of `state`.
    """

    def __init__(self, source: Path) -> None:
        text = source.read_text()
        struct = re.search(r"typedef struct {(.*?)} policy_state;", text, re.S)
        assert struct
        declared = re.findall(r"^ +(\w+) (\w+)(?:\[(\d+)\])?;", struct[1], re.M)
        fields = [(name, TYPES[kind] * int(n) if n else TYPES[kind]) for kind, name, n in declared]
        self.state = type("State", (ctypes.Structure,), {"_fields_": fields})()
        self.takes_number = "policy_act(policy_state *state, int32_t observation)" in text
        self.library: Any = ctypes.CDLL(str(compile_c(source, "-shared", "-fPIC")))
        self.library.policy_init(ctypes.byref(self.state))

    def reset(self) -> None:
        self.library.policy_reset(ctypes.byref(self.state))

    def act(self, obs: Any) -> int:
        return int(self.library.policy_act(ctypes.byref(self.state), self._argument(obs)))

    def sample(self, obs: Any, u: float) -> int:
        state = ctypes.byref(self.state)
        return int(self.library.policy_sample(state, self._argument(obs), ctypes.c_double(u)))

    def _argument(self, obs: Any) -> Any:
        if self.takes_number:
            return ctypes.c_int32(int(obs))
        self.array = np.ascontiguousarray(obs, np.float32).ravel()
        return self.array.ctypes.data_as(ctypes.POINTER(ctypes.c_float))


class CBoxPolicy(CPolicy):
    """A compiled policy with continuous actions."""

    def __init__(self, source: Path, shape: tuple[int, ...]) -> None:
        super().__init__(source)
        self.shape = shape

    def act(self, obs: Any) -> Any:
        number = self.state.previous_action._type_
        action = (number * len(self.state.previous_action))()
        self.library.policy_act(ctypes.byref(self.state), self._argument(obs), action)
        return np.array(action).reshape(self.shape)

    def reset_to(self, action: np.ndarray) -> None:
        number = self.state.previous_action._type_
        values = (number * action.size)(*action.ravel().tolist())
        self.library.policy_reset_to(ctypes.byref(self.state), values)

    def memory(self, name: str) -> np.ndarray:
        return np.array(getattr(self.state, name))
