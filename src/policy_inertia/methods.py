"""The methods by name. A method is a row of data: an algorithm's settings and two transforms."""

from __future__ import annotations

from dataclasses import dataclass

from policy_inertia.algorithms.asap import ASAPConfig
from policy_inertia.algorithms.box_sac import BoxSACConfig
from policy_inertia.algorithms.branching_dqn import BranchingDQNConfig
from policy_inertia.algorithms.controllers.box_dial import BoxDialConfig
from policy_inertia.algorithms.controllers.box_inertia import BoxInertiaConfig
from policy_inertia.algorithms.controllers.dial import DialConfig
from policy_inertia.algorithms.controllers.gate import GateConfig
from policy_inertia.algorithms.controllers.head_gate import HeadGateConfig
from policy_inertia.algorithms.controllers.head_inertia import HeadInertiaConfig
from policy_inertia.algorithms.controllers.head_planner import HeadLimitConfig
from policy_inertia.algorithms.controllers.inertia import InertiaConfig
from policy_inertia.algorithms.controllers.lagrangian import LagrangianConfig
from policy_inertia.algorithms.controllers.limit_gate import LimitGateConfig
from policy_inertia.algorithms.controllers.token_planner import LimitConfig
from policy_inertia.algorithms.dqn import DQNConfig
from policy_inertia.algorithms.frozen import BoxFrozenConfig, FrozenConfig
from policy_inertia.algorithms.interface import AlgorithmConfig
from policy_inertia.algorithms.sac import SACConfig
from policy_inertia.algorithms.td3 import TD3Config
from policy_inertia.algorithms.temporl import TempoRLConfig
from policy_inertia.errors import InputError, nearest

REPEATS = (1, 2, 4, 8)
"""The paper's repetition set."""
SKIPS = tuple(range(1, 11))
"""TempoRL's skips: up to 10 steps, the default of its authors' scripts."""
PENALTY = 0.05
"""The paper's penalty of a switch."""


@dataclass(frozen=True)
class Method:
    """One row: the algorithm, for how many steps an action may be held, the penalty of a switch."""

    about: str
    config: AlgorithmConfig
    repeats: tuple[int, ...] = (1,)
    penalty: float = 0.0


_DQN, _SAC = DQNConfig(), SACConfig()
_SCALED = DQNConfig(scaled=True)  # prices around it follow the task, so its values do too
_NSAC = InertiaConfig(core=_SAC)

METHODS: dict[str, Method] = {
    "dqn": Method("deep Q-learning: replay and a hard target, nothing else", _DQN),
    "sac": Method("discrete soft actor-critic, twin critics, fixed temperature", _SAC),
    "nsac": Method("the paper's method: a learned inertia around discrete SAC", _NSAC),
    "ndqn": Method("the same learned inertia around DQN", InertiaConfig(core=_DQN)),
    "dial-dqn": Method(
        "DQN and a controller for every price of switching", DialConfig(core=_SCALED)
    ),
    "dial-sac": Method("SAC and a controller for every price of switching", DialConfig(core=_SAC)),
    "gate-dqn": Method(
        "DQN and a gate for every price: repeat or follow", GateConfig(core=_SCALED)
    ),
    "gate-sac": Method("SAC and a gate for every price: repeat or follow", GateConfig(core=_SAC)),
    "limit-dqn": Method(
        "DQN and a controller for every limit on switching", LimitConfig(core=_SCALED)
    ),
    "limit-sac": Method(
        "SAC and a controller for every limit on switching", LimitConfig(core=_SAC)
    ),
    "limit-gate-dqn": Method(
        "DQN and a gate for every limit: repeat or follow", LimitGateConfig(core=_SCALED)
    ),
    "limit-gate-sac": Method(
        "SAC and a gate for every limit: repeat or follow", LimitGateConfig(core=_SAC)
    ),
    "lagrangian-dqn": Method(
        "DQN and a controller whose price of switching follows a budget",
        LagrangianConfig(core=_SCALED),
    ),
    "dqn-repeat": Method("DQN that also picks how long to hold an action", _DQN, REPEATS),
    "sac-repeat": Method("SAC that also picks how long to hold an action", _SAC, REPEATS),
    "temporl": Method(
        "TempoRL: DQN, and a network for how long to hold its action", TempoRLConfig(), SKIPS
    ),
    "dqn-ip": Method("DQN trained with a penalty on switching", _DQN, penalty=PENALTY),
    "sac-ip": Method("SAC trained with a penalty on switching", _SAC, penalty=PENALTY),
    "nsac-ip": Method("NSAC trained with a penalty on switching", _NSAC, penalty=PENALTY),
}

BOX_PENALTY = 1.0
"""The penalty of a move over the whole range; what fits depends on the task."""
HOLD = 4
"""For how many steps `sac-repeat` holds a continuous action; what fits depends on the task."""
_BOX_SAC, _TD3 = BoxSACConfig(), TD3Config()

BOX_METHODS: dict[str, Method] = {
    "sac": Method("soft actor-critic, twin critics, learned temperature", _BOX_SAC),
    "td3": Method("TD3: a deterministic actor, twin critics, delayed updates", _TD3),
    "sac-ip": Method("SAC trained with a penalty on movement", _BOX_SAC, penalty=BOX_PENALTY),
    "sac-caps": Method(
        "SAC with CAPS: an actor that is smooth over time and space",
        BoxSACConfig(caps_temporal=1.0, caps_spatial=1.0),
    ),
    "sac-asap": Method(
        "SAC with ASAP: actions that agree with predictions from the state before", ASAPConfig()
    ),
    "sac-repeat": Method("SAC that holds every action for 4 steps", _BOX_SAC, (HOLD,)),
    "nsac": Method("the paper's learned inertia around SAC", BoxInertiaConfig(core=_BOX_SAC)),
    "ntd3": Method("the same learned inertia around TD3", BoxInertiaConfig(core=_TD3)),
    "nsac-each": Method(
        "an inertia for each number of an action around SAC",
        BoxInertiaConfig(core=_BOX_SAC, per_dimension=True),
    ),
    "dial-sac": Method(
        "SAC and a controller for every price of movement", BoxDialConfig(core=_BOX_SAC)
    ),
    "dial-td3": Method(
        "TD3 and a controller for every price of movement", BoxDialConfig(core=_TD3)
    ),
    "dial-sac-squared": Method(
        "the same with a squared cost: a learned low-pass",
        BoxDialConfig(core=_BOX_SAC, cost="squared"),
    ),
    "dial-sac-full": Method(
        "SAC and an actor for every price that acts freely",
        BoxDialConfig(core=_BOX_SAC, full=True),
    ),
}
"""Methods for continuous actions. A name in both tables is one method: the env's actions decide."""

HEAD_METHODS: dict[str, Method] = {
    "branching-dqn": Method(
        "branching dueling Q-learning: DQN with a branch for each head", BranchingDQNConfig()
    ),
    "gate-branching-dqn": Method(
        "branching DQN and a gate for every price around each head",
        HeadGateConfig(core=BranchingDQNConfig(scaled=True)),
    ),
    "limit-gate-branching-dqn": Method(
        "branching DQN and a gate for every limit around each head",
        HeadLimitConfig(core=BranchingDQNConfig(scaled=True)),
    ),
    "inertia-branching-dqn": Method(
        "branching DQN and the paper's learned inertia for each head",
        HeadInertiaConfig(core=BranchingDQNConfig()),
    ),
}
"""Methods for actions with several heads: MultiDiscrete and MultiBinary."""

TABLES: dict[str, dict[str, Method]] = {
    "discrete": METHODS,
    "box": BOX_METHODS,
    "multi_discrete": HEAD_METHODS,
}
"""The methods that `train` knows, by the kind of actions."""
DISCRETE = "discrete"

AROUND_A_CORE: dict[str, Method] = {
    "smooth": Method(
        "a gate for every price of switching around a frozen core",
        # a gate is to be better than hysteresis on the core, which knows what the core prefers
        GateConfig(core=FrozenConfig(), refund=0.1, hidden=(128, 128), learning_rate=4e-4),
    ),
    "smooth-heads": Method(
        "a gate for every price around each head of a frozen core",
        HeadGateConfig(core=FrozenConfig(), refund=0.1, hidden=(128, 128), learning_rate=4e-4),
    ),
    "smooth-limit": Method(
        "a gate for every limit on switching around a frozen core",
        LimitGateConfig(core=FrozenConfig()),
    ),
    "smooth-mu": Method(
        "the paper's learned inertia around a frozen core", InertiaConfig(core=FrozenConfig())
    ),
    "smooth-heads-limit": Method(
        "a gate for every limit of each head around a frozen core",
        HeadLimitConfig(core=FrozenConfig()),
    ),
    "smooth-heads-mu": Method(
        "the paper's learned inertia for each head of a frozen core",
        HeadInertiaConfig(core=FrozenConfig()),
    ),
}
"""Methods around a policy that somebody has: `smooth` trains them, `train` does not."""

AROUND_A_BOX_CORE: dict[str, Method] = {
    "smooth": Method(
        "a controller for every price of movement around a frozen core",
        BoxDialConfig(core=BoxFrozenConfig(), hidden=(64, 64), learning_rate=1e-3),
    ),
}
"""The same for continuous actions."""

_AROUND = {"discrete": AROUND_A_CORE, "box": AROUND_A_BOX_CORE}


def find_method(name: str, actions: str = DISCRETE) -> Method:
    """Find a method by its name.

    Args:
        name: The method's name.
        actions: The kind of actions, where a method is for several; see `TABLES`.

    Raises:
        InputError: There is no such method; the message offers the nearest one.
    """
    for kind in (actions, DISCRETE):
        if name in _AROUND.get(kind, {}):
            return _AROUND[kind][name]
    kinds = kinds_of(name)
    if not kinds:
        known = {name for table in TABLES.values() for name in table}
        raise InputError(f"there is no method '{name}'{nearest(name, known)}")
    return TABLES[actions if actions in kinds else kinds[0]][name]


def kinds_of(name: str) -> list[str]:
    """Return the kinds of actions that a method is for; none if there is no such method."""
    return [kind for kind, table in TABLES.items() if name in table]


def core_method(name: str, actions: str = DISCRETE) -> str | None:
    """Return the method that trains the core of `name` by itself, such as "sac" for "nsac"."""
    table = TABLES[actions]
    if name not in table:
        return None
    row = table[name]
    core = row.config.core_config
    if core is row.config:
        return None
    for other, candidate in table.items():
        same = (candidate.repeats, candidate.penalty) == (row.repeats, row.penalty)
        if same and type(candidate.config) is type(core):
            return other
    return None
