"""A builder of C99 source: weights, helper functions and the fields of the policy's state.

Names in the source are chosen here and never come from a file. A text from outside gets into a
comment only, through `comment_text`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from string import Template
from typing import NamedTuple

import numpy as np

from policy_inertia.errors import InputError

PER_LINE = 8  # numbers in a line of an array
LONGEST_COMMENT = 100


class StateField(NamedTuple):
    """One number or array in `policy_state`."""

    type: str
    name: str
    initial: str
    """A C expression: its value at first, and at the start of an episode unless it outlives one."""
    about: str
    lasts: bool = False
    """Whether it outlives an episode: a setting, or tokens that are carried over."""
    size: int | None = None
    """Of an array."""

    @property
    def declaration(self) -> str:
        return f"{self.type} {self.name}{'' if self.size is None else f'[{self.size}]'}"

    @property
    def assignment(self) -> str:
        """The statement that sets it to its initial value."""
        if self.size is None:
            return f"state->{self.name} = {self.initial};"
        loop = f"for (int i = 0; i < {self.size}; i++) {{"
        return f"{loop}\n        state->{self.name}[i] = {self.initial};\n    }}"


@dataclass
class CodeBuilder:
    """The parts of a file. Every method adds something, once."""

    observation: str
    """The declaration of the parameter `observation`."""
    usage: str = ""
    """The call that acts, for the comment at the top of the file."""
    macros: dict[str, str] = field(default_factory=dict)
    """Public constants by name, such as `POLICY_ACTIONS`."""
    declarations: list[str] = field(default_factory=list)
    """The public functions besides `policy_init` and `policy_reset`."""
    fields: list[StateField] = field(default_factory=list)
    helpers: dict[str, str] = field(default_factory=dict)
    arrays: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    n_weights: int = 0

    def add_array(self, name: str, values: np.ndarray) -> str:
        """Add constant numbers, float64 as `double` and all others as `float`; return the name."""
        kind = "double" if values.dtype == np.float64 else "float"
        numbers = [literal(value) for value in values.reshape(-1)]
        lines = (
            ", ".join(numbers[i : i + PER_LINE]) + "," for i in range(0, len(numbers), PER_LINE)
        )
        body = "\n    ".join(lines)
        self.arrays.append(f"static const {kind} {name}[{len(numbers)}] = {{\n    {body}\n}};")
        self.n_weights += len(numbers)
        return name

    def use(self, *names: str) -> None:
        """Add functions of `HELPERS`, and what they need: an unused one would be a warning."""
        for name in names:
            if name not in self.helpers:
                code, needs = HELPERS[name]
                self.use(*needs)
                self.helpers[name] = code

    def add_helper(self, name: str, code: str) -> None:
        self.helpers.setdefault(name, code)

    def declare(self, template: str, **values: object) -> None:
        """Add the declaration of a public function."""
        self.declarations.append(fill(template, observation=self.observation, **values))

    def add_function(self, template: str, **values: object) -> None:
        """Add a function; `$name` in the template stands for a value."""
        self.functions.append(fill(template, observation=self.observation, **values))


def fill(template: str, **values: object) -> str:
    """The template with `$name` replaced by each value."""
    return Template(template.strip("\n")).substitute({k: str(v) for k, v in values.items()})


def literal(value: np.floating | float) -> str:
    """A number as C reads it back exactly: the shortest digits that give the same bits.

    A `numpy.float64` becomes a double, every other number a float.

    Raises:
        InputError: The number is NaN or infinite.
    """
    if not np.isfinite(value):
        raise InputError(f"the policy holds the number {value}: only finite numbers can act")
    if isinstance(value, np.float64):
        return repr(float(value))
    return f"{np.float32(value)!s}f"


def comment_text(text: object) -> str:
    """A text as it may stand in a C comment: letters, digits and a few signs, nothing else.

    No `*`, so it cannot end the comment; no backslash and no question mark, so it cannot continue a
    line or start a trigraph.
    """
    return re.sub(r"[^A-Za-z0-9 _.,:;()=+-]+", "_", str(text))[:LONGEST_COMMENT]


HELPERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "within": (
        """\
/* low if x is not a number */
static double policy_within(double x, double low, double high)
{
    return x > low ? (x < high ? x : high) : low;
}""",
        (),
    ),
    "linear": (
        """\
static void policy_linear(const float *w, const float *b, int inputs, int outputs,
                          const float *x, float *y)
{
    for (int j = 0; j < outputs; j++) {
        y[j] = 0.0f;
    }
    for (int i = 0; i < inputs; i++) {
        for (int j = 0; j < outputs; j++) {
            y[j] += x[i] * w[i * outputs + j];
        }
    }
    for (int j = 0; j < outputs; j++) {
        y[j] += b[j];
    }
}""",
        (),
    ),
    "copy": (
        """\
static void policy_copy(const float *x, int n, float *y)
{
    for (int i = 0; i < n; i++) {
        y[i] = x[i];
    }
}""",
        (),
    ),
    "one_hot": (
        """\
/* all zeros if the index is outside of 0 to n - 1 */
static void policy_one_hot(int64_t index, int n, float *y)
{
    for (int i = 0; i < n; i++) {
        y[i] = i == index ? 1.0f : 0.0f;
    }
}""",
        (),
    ),
    "best": (
        """\
static int32_t policy_best(const float *values, int n)
{
    int32_t best = 0;
    for (int i = 1; i < n; i++) {
        if (values[i] > values[best]) {
            best = i;
        }
    }
    return best;
}""",
        (),
    ),
    "draw": (
        """\
/* u is uniform in [0, 1); an action of probability 0 is never drawn */
static int32_t policy_draw(const float *log_pi, int n, double u)
{
    float total = 0.0f, sum = 0.0f;
    int32_t last = 0;
    for (int i = 0; i < n; i++) {
        total += expf(log_pi[i]);
    }
    for (int i = 0; i < n; i++) {
        const float p = expf(log_pi[i]);
        sum += p;
        if ((double)sum > u * (double)total) {
            return i;
        }
        if (p > 0.0f) {
            last = i;
        }
    }
    return last;
}""",
        (),
    ),
    "certain": (
        """\
/* the log-probabilities of a policy that always takes this action */
static void policy_certain(int32_t action, int n, float *log_pi)
{
    for (int i = 0; i < n; i++) {
        log_pi[i] = i == action ? 0.0f : POLICY_LOG_ZERO;
    }
}""",
        (),
    ),
    "log_softmax": (
        """\
static void policy_log_softmax(float *x, int n)
{
    const float largest = x[policy_best(x, n)];
    float sum = 0.0f;
    for (int i = 0; i < n; i++) {
        x[i] -= largest;
        sum += expf(x[i]);
    }
    for (int i = 0; i < n; i++) {
        x[i] -= logf(sum);
    }
}""",
        ("best",),
    ),
    "log_add_exp": (
        """\
static float policy_log_add_exp(float a, float b)
{
    return a > b ? a + log1pf(expf(b - a)) : b + log1pf(expf(a - b));
}""",
        (),
    ),
    "limit": (
        """\
/* settings that are out of range count as the nearest that is not */
static int64_t policy_rate(const policy_state *state)
{
    return state->rate < 0 ? 0 : state->rate > POLICY_TOKEN ? POLICY_TOKEN : state->rate;
}

static int64_t policy_burst(const policy_state *state)
{
    const int64_t most = POLICY_TOKEN * 1000000;
    return state->burst < POLICY_TOKEN ? POLICY_TOKEN : state->burst > most ? most : state->burst;
}

static int64_t policy_tokens(const policy_state *state)
{
    const int64_t burst = policy_burst(state);
    return state->tokens < 0 ? 0 : state->tokens > burst ? burst : state->tokens;
}

/* the tokens after a step */
static int64_t policy_tokens_after(const policy_state *state, int64_t cost)
{
    const int64_t left = policy_tokens(state) - cost + policy_rate(state);
    const int64_t burst = policy_burst(state);
    return left < burst ? left : burst;
}""",
        (),
    ),
}
"""C functions by name, and the names of those that each one calls."""
