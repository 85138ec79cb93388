"""policy-inertia smooth: make a policy that you have smooth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from tyro.conf import DisallowNone, Positional, arg

from policy_inertia.cli.command import Command
from policy_inertia.cli.flags import (
    Assignments,
    Burst,
    Clip,
    Costs,
    Dimensions,
    Dwell,
    EnvKwargs,
    FrameStack,
    Normalise,
    Output,
    OutputName,
    Rate,
    RunOptions,
    Seed,
    Temperature,
    allowance,
    assignments,
    default_is,
    foreign_options,
)
from policy_inertia.cli.stages import staged_progress
from policy_inertia.cli.view import say, warn


@dataclass(frozen=True)
class Smooth(Command):
    """Make a policy that you have smooth.

    Measures your policy, then a hysteresis filter around it, which takes seconds. If one of them
    keeps the budget without a loss, that is all. Else trains a controller around your policy, which
    does not change. All act on the same held-out episodes. The folder holds the recommended policy:
    evaluate, record, export and dial take it.

    A budget is a measured mean. With --limit the policies make at most burst + rate * n switches in
    every n steps, always: a filter alone, hysteresis inside the limit, and a controller that plans
    with it are compared.

    For continuous actions, every filter is measured at every setting, and the best one at the
    budget is compared with your policy; a controller is trained if that is not enough. The budget
    is the action fluctuation: movement per step, as a share of the range. --limit bounds the
    movement in every n steps by burst + rate * n ranges, with a budget or without one.
    """

    name: ClassVar[str] = "smooth"
    example: ClassVar[str] = "policy-inertia smooth jittery.zip CartPole-v1"

    core: Positional[Path]
    """Your policy: a zip of Stable-Baselines3, an RL Zoo folder, an ONNX file, or a run folder."""
    env: Positional[str]
    """Gymnasium id of the environment."""
    options: Annotated[RunOptions, arg(name="")]
    budget: Annotated[DisallowNone[float | None], default_is("half of what the policy does")] = None
    """Share of the steps at which the action may switch; for continuous actions, movement per step
    as a share of the range."""
    limit: Rate = None
    burst: Burst = None
    dwell: Dwell = None
    costs: Costs = None
    steps: int = 50_000
    """Environment steps to train the controller for."""
    train: bool = False
    """Train a controller even if the policy or the filter is good enough."""
    hysteresis_only: bool = False
    """Train nothing: only find the setting of the filter and compare it with the policy alone."""
    mu: bool = False
    """Train the paper's inertia instead of a controller for every price of switching; for Discrete
    actions."""
    loss: float = 0.05
    """Largest loss of return, as a share of what the policy gains over random actions."""
    safe: bool = False
    """Recommend a policy instead of yours only if a larger loss is excluded with --confidence, by a
    sequential test on as many further episodes as it needs (at most 10 times --episodes)."""
    confidence: float = 0.95
    """The confidence of --safe."""
    warmup: float = 0.05
    """Share of the steps in which the policy acts without the controller."""
    episodes: int = 200
    """Number of held-out episodes on which the candidates are compared."""
    seed: Seed = 0
    env_kwargs: EnvKwargs = ()
    normalise: Normalise = None
    output: Output = None
    output_name: OutputName = None
    temperature: Temperature = None
    trust: bool = False
    """Run the pickled code in an SB3 zip, and any ONNX file. For your own files only."""
    clip: Clip = False
    frame_stack: FrameStack = None
    dimensions: Dimensions = ()
    set: Assignments = ()
    """Further settings of the run, such as envs=16 hidden=[128,128]."""

    def run(self) -> None:
        from policy_inertia.actions.cost_file import read_costs
        from policy_inertia.drawing.calibration_plot import draw_calibrations
        from policy_inertia.planner.known_edges import named_edge
        from policy_inertia.policies.core_loaders import load_core
        from policy_inertia.smoothing.controller import method_name
        from policy_inertia.smoothing.smooth import smooth
        from policy_inertia.smoothing.smooth_folder import folder_name

        changes: dict[str, Any] = {"env_kwargs": assignments("--env-kwargs", self.env_kwargs)}
        changes |= assignments("--set", self.set)
        held_to = allowance(self.limit, self.burst)
        core = load_core(
            self.core, self.env, env_kwargs=changes["env_kwargs"], **self._core_options()
        )
        method = method_name(self.mu, held_to)
        about = (self.env, self.core.name, core.digest, method, self.seed)
        folder = self.options.out or folder_name(*about)
        with staged_progress(self.steps, self.options.quiet) as stages:
            result = smooth(
                core,
                self.env,
                budget=self.budget,
                limit=held_to,
                dwell=1 if self.dwell is None else self.dwell,
                costs=None if self.costs is None else read_costs(self.costs),
                steps=self.steps,
                train=self.train,
                hysteresis_only=self.hysteresis_only,
                mu=self.mu,
                loss=self.loss,
                safe=self.confidence if self.safe else None,
                warmup=self.warmup,
                episodes=self.episodes,
                seed=self.seed,
                out=folder,
                resume=self.options.resume,
                progress=stages.train,
                watch=stages.watch,
                warn=warn,
                dimensions=self.dimensions or None,
                log=self.options.log,
                **changes,
            )
        say(str(result))
        if result.frontiers:
            picture = folder / "frontiers.png"
            measure = result.stakes.wording.measure
            title = f"{self.core.name} on {self.env}"
            edges = named_edge(self.env, changes["env_kwargs"])
            draw_calibrations(result.frontiers, title, picture, edges, measure)
            say(f"Picture: {picture}")
        say(f"The recommended policy is in {folder}; evaluate, record, export and dial take it")

    def _core_options(self) -> dict[str, Any]:
        return foreign_options(
            self.normalise,
            self.output,
            self.output_name,
            self.temperature,
            self.trust,
            self.clip,
            self.frame_stack,
        )
