"""policy-inertia evaluate: the figures of a policy."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from tyro.conf import arg

from policy_inertia.cli.command import Command
from policy_inertia.cli.flags import (
    Burst,
    Costs,
    Dwell,
    PolicyInEnv,
    Rates,
    Seed,
    Thresholds,
    allowances,
    default_is,
    ruled,
)
from policy_inertia.cli.view import show_figures
from policy_inertia.errors import InputError


@dataclass(frozen=True)
class Evaluate(Command):
    """Measure return and oscillation of a policy.

    The policy may be one of others, such as a zip of Stable-Baselines3 or an ONNX file; then --env
    names the environment.

    Runs whole episodes, first with sampled actions (as in the paper), then with greedy ones. A
    nested policy is also run without its controller, and one with continuous actions without its
    filters. --hysteresis, --price, --budget, --limit and --dwell add rows to the table;
    the rules of --dwell and --costs hold in all of these.

    --budget reads the setting from the policy's calibration table. If there is none, the table is
    measured first. --simulator highway-env runs the same episodes in the original (version 1.12.1),
    some hundred times slower.
    """

    name: ClassVar[str] = "evaluate"
    example: ClassVar[str] = "policy-inertia evaluate runs/CartPole-v1-nsac-0"

    source: Annotated[PolicyInEnv, arg(name="")]
    episodes: int = 20
    """Number of episodes of each row. All rows get the same episodes."""
    seed: Seed = 0
    hysteresis: Thresholds = ()
    price: Annotated[tuple[float, ...], default_is("none")] = ()
    """Also run a dial at these prices of switching."""
    budget: Annotated[tuple[float, ...], default_is("none")] = ()
    """Also run the policy at the setting that switches in at most this share of the steps, or moves
    by at most this share of the range per step."""
    limit: Rates = ()
    burst: Burst = None
    dwell: Dwell = None
    costs: Costs = None
    simulator: Literal["policy-inertia", "highway-env"] = "policy-inertia"
    """The simulator that runs a Highway task."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        from policy_inertia.calibration.curves import calibrated
        from policy_inertia.evaluation.evaluate import evaluate
        from policy_inertia.evaluation.variants import variants
        from policy_inertia.policies.core_policy import label_of

        held_to = allowances(self.limit, self.burst)
        policy = self.source.load()
        held = self._ruled(policy)
        env_id, kwargs = self.source.environment(policy)
        env = self._simulated(env_id)
        if self.budget:
            held = calibrated(held, env, kwargs)
        figures = {
            v.label: evaluate(
                v.policy, env, self.episodes, self.seed, v.deterministic, kwargs
            ).summary()
            for v in variants(policy, self.hysteresis, self.price, self.budget, held_to, held)
        }
        if self.json:
            sys.stdout.write(json.dumps(figures, indent=1) + "\n")
            return
        place = env_id if env is env_id else f"{env_id} ({self.simulator})"
        episodes = f"{self.episodes} episode{'s' * (self.episodes != 1)}"
        show_figures(f"{label_of(policy)} on {place}, {episodes}", figures)

    def _ruled(self, policy: Any) -> Any:
        """The policy with the rules of the flags; what was measured without them is left out."""
        if self.costs is not None and not (self.hysteresis or self.budget or self.limit):
            raise InputError(
                f"--costs {self.costs} multiplies thresholds and tokens: add --hysteresis, "
                "--budget or --limit"
            )
        held = ruled(policy, self.dwell, self.costs)
        return held if held is policy else held.replace(calibration=None)

    def _simulated(self, env: str) -> Any:
        """The env, or a function that makes it in highway-env."""
        if self.simulator == "policy-inertia":
            return env
        from policy_inertia.envs import highway  # compiles: only for those who ask for it

        return highway.on_original(env)
