"""The command line: it reads words and shows results; the library does the work."""

from policy_inertia.machine import use_one_thread

use_one_thread()  # before NumPy and JAX are imported

# ruff: noqa: E402
import dataclasses
import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console
from rich.table import Column, Table

from policy_inertia.cli.view import (
    complain,
    counting,
    out,
    show,
    show_calibration,
    study_progress,
    study_tables,
    training_progress,
    warn,
)
from policy_inertia.errors import InputError, nearest

HELP = """\
[bold]policy-inertia[/bold] makes discrete-action policies smooth, and measures how smooth they are.

  policy-inertia train nsac CartPole-v1 --steps 50000     train one policy
  policy-inertia evaluate runs/CartPole-v1-nsac-0         return and oscillation of a policy
  policy-inertia dial runs/CartPole-v1-dial-dqn-0         what every degree of smoothness costs
  policy-inertia smooth jittery.zip CartPole-v1           a policy that you have, made smooth
  policy-inertia compare dqn sac nsac --env CartPole-v1   methods side by side, over seeds
  policy-inertia study paper                              the paper's experiments, or your own
  policy-inertia report runs/paper                        a study as one HTML file
  policy-inertia matched runs/frontier                    its methods at the same oscillation
  policy-inertia record runs/CartPole-v1-nsac-0           an episode as a GIF, with actions and mu
  policy-inertia theory                                   the paper's theorems, on exact MDPs
  policy-inertia export runs/CartPole-v1-nsac-0           one ONNX file for other programs
  policy-inertia parity TwoWay                            our Highway tasks against highway-env
  policy-inertia methods                                  what can be trained
  policy-inertia tasks                                    on what, and with which settings

Every command explains itself, for example: policy-inertia train --help"""


def main() -> None:
    """Run one command; bad input ends in one sentence and exit code 2."""
    args = sys.argv[1:]
    try:
        if not args or args[0] in ("-h", "--help", "help"):
            out.print(HELP, soft_wrap=True)
        elif args[0] == "--version":
            from importlib.metadata import version

            out.print(version("policy-inertia"))
        elif args[0] not in COMMANDS:
            raise InputError(f"there is no command '{args[0]}'{nearest(args[0], COMMANDS)}")
        else:
            COMMANDS[args[0]](args[1:])
    except InputError as error:
        complain(str(error), "red")
        sys.exit(2)
    except KeyboardInterrupt:
        complain("stopped; the same command with --resume goes on")
        sys.exit(130)


def train(args: list[str]) -> None:
    """Train one method on one env."""
    from policy_inertia.methods import METHODS, find_method
    from policy_inertia.settings import RunConfig, merge, settings
    from policy_inertia.training.loop import default_folder, run

    words: list[str] = []
    while args and not args[0].startswith("-") and len(words) < 2:
        words.append(args[0])
        args = args[1:]
    if len(words) < 2 and not {"-h", "--help"} & set(args):
        raise InputError(
            "train needs a method and an env, in this order and before the flags: "
            f"policy-inertia train nsac CartPole-v1 (methods: {', '.join(METHODS)})"
        )
    name, env = words + ["nsac", "ENV"][len(words) :]

    @dataclass(frozen=True)
    class Train:
        run: Annotated[RunConfig, tyro.conf.arg(name="")]
        env_kwargs: tuple[str, ...] = ()
        """Arguments of the env, such as config.scenario=simple preset=upstream."""
        eval_env_kwargs: tuple[str, ...] = ()
        """Those that differ in evaluation."""
        out: Path | None = None
        """Folder for the run. Default: runs/ENV-METHOD-SEED."""
        resume: bool = False
        """Go on with the run in that folder after it was stopped."""
        quiet: bool = False
        """No progress bar but one line for each evaluation, for log files."""

    parsed = _parse(
        Train,
        args,
        f"train {name} {env}",
        f"Train '{name}': {find_method(name).about}. (All methods: policy-inertia methods.) "
        "Settings of a nested method's core begin with --core. The defaults are the task's own "
        "where 'policy-inertia tasks' lists it, else the paper's for Highway.",
        Train(settings(name, env)),
    )
    config = dataclasses.replace(
        parsed.run,
        env_kwargs=_assigned("--env-kwargs", parsed.env_kwargs),
        eval_env_kwargs=merge(
            parsed.run.eval_env_kwargs, _assigned("--eval-env-kwargs", parsed.eval_env_kwargs)
        ),
    )
    folder = parsed.out or default_folder(config.env, config.method, config.seed)
    with training_progress(config.steps, parsed.quiet) as watch:
        run(config, folder, resume=parsed.resume, progress=watch, warn=warn)
    result = json.loads((folder / "result.json").read_text())
    show(
        f"{name} on {config.env} after {result['step']:,} steps",
        [(k, result[k]) for k in ("sampled", "greedy", "core") if k in result],
    )
    out.print(f"All of it is in {folder}", soft_wrap=True)


def evaluate(args: list[str]) -> None:
    """Evaluate a trained policy."""

    @dataclass(frozen=True)
    class Evaluate:
        policy: tyro.conf.Positional[Path]
        """A run folder, or a policy file."""
        env: str | None = None
        """Gymnasium id. Default: the env that it was trained on, with its arguments."""
        env_kwargs: tuple[str, ...] = ()
        """Arguments of the env, such as config.scenario=simple; on top of those of its training."""
        simulator: Literal["policy-inertia", "highway-env"] = "policy-inertia"
        """Run a Highway task in highway-env itself, from the same starts: some hundred times
        slower. Needs highway-env 1.12.1."""
        episodes: int = 20
        """How many episodes to run."""
        seed: int = 0
        """The episodes and the sampled actions follow from it."""
        best: bool = False
        """Of a run folder, take the policy of the best evaluation instead of the last."""
        hysteresis: tuple[float, ...] = ()
        """Also show the policy with a filter that keeps the last action unless a new one is
        better by this much (in log-probability, or in Q for DQN)."""
        price: tuple[float, ...] = ()
        """Also show a dial at these prices of switching."""
        budget: tuple[float, ...] = ()
        """Also show the policy set so that it switches in at most this share of the steps: by its
        own calibration, or by one of hysteresis that is measured first."""
        json: bool = False
        """Print JSON instead of a table."""

    parsed = _parse(
        Evaluate,
        args,
        "evaluate",
        "Run a trained policy for whole episodes, with sampled actions (as in the paper) and with "
        "the most probable ones, and without its inertia controller if it has one.",
    )
    from policy_inertia.calibration.sweep import calibrate
    from policy_inertia.evaluation.evaluate import evaluate as measure

    policy, env, kwargs = _policy(parsed)
    place: Any = env
    if parsed.simulator == "highway-env":
        from policy_inertia.envs import highway

        place = highway.on_original(env)
    variants = [("sampled", policy, False), ("greedy", policy, True)]
    if policy.nested:
        variants.append(("core, sampled", policy.core(), False))
    for tau in parsed.hysteresis:
        filtered = policy.with_hysteresis(tau)
        variants.append((f"hysteresis {tau:g}, sampled", filtered, False))
        variants.append((f"hysteresis {tau:g}, greedy", filtered, True))
    variants += [(f"price {price:g}", policy.at(price), True) for price in parsed.price]
    if parsed.budget:
        ready = policy if policy.calibration else calibrate(policy, place, env_kwargs=kwargs)
        for budget in parsed.budget:
            kept = ready.with_budget(budget)
            setting = kept.price if ready.setting_name == "price" else kept.hysteresis
            variants.append(
                (f"budget {budget:g} ({ready.setting_name} {setting:.3g}), greedy", kept, True)
            )
    found = {
        label: measure(p, place, parsed.episodes, parsed.seed, greedy, kwargs).summary()
        for label, p, greedy in variants
    }
    if parsed.json:
        sys.stdout.write(json.dumps(found, indent=1) + "\n")
    else:
        show(
            f"{policy.method} on {env} ({parsed.simulator}), {parsed.episodes} episodes"
            if place is not env
            else f"{policy.method} on {env}, {parsed.episodes} episodes",
            list(found.items()),
        )


def record(args: list[str]) -> None:
    """Record episodes of a trained policy."""

    @dataclass(frozen=True)
    class Record:
        policy: tyro.conf.Positional[Path]
        """A run folder, or a policy file."""
        out: Path | None = None
        """A .gif, or an .mp4 where imageio-ffmpeg is installed. Default: recording.gif beside the
        policy."""
        env: str | None = None
        """Gymnasium id. Default: the env that it was trained on, with its arguments."""
        env_kwargs: tuple[str, ...] = ()
        """Arguments of the env, such as config.scenario=simple; on top of those of its training."""
        episodes: int = 1
        """How many episodes, one after the other."""
        seed: int = 0
        """The episodes and the sampled actions follow from it, as in evaluate."""
        greedy: bool = False
        """Take the most probable action instead of sampling."""
        best: bool = False
        """Of a run folder, take the policy of the best evaluation instead of the last."""
        hysteresis: float | None = None
        """Put a filter of this threshold around the policy."""
        limit: int = 500
        """Steps of an episode at most."""
        speed: float = 10.0
        """Steps a second."""

    parsed = _parse(
        Record,
        args,
        "record",
        "Run a trained policy and write what there is to see as a GIF or MP4, with the strip of "
        "its actions and its inertia mu under the picture. The env must offer rgb_array.",
    )
    from policy_inertia.drawing import video
    from policy_inertia.evaluation.recording import record as run

    beside = parsed.policy if parsed.policy.is_dir() else parsed.policy.parent
    path = parsed.out or beside / "recording.gif"
    video.refuse_kind(path)
    policy, env, kwargs = _policy(parsed)
    if parsed.hysteresis is not None:
        policy = policy.with_hysteresis(parsed.hysteresis)
    _render_unseen()
    made = run(
        policy,
        env,
        parsed.episodes,
        parsed.seed,
        parsed.greedy,
        limit=parsed.limit,
        env_kwargs=kwargs,
    )
    video.write(made, path, parsed.speed)
    for k, episode in enumerate(made):
        cut = ", cut there" if episode.cut else ""
        out.print(
            f"episode {k}: return {episode.return_:.1f}, {episode.switches} switches in "
            f"{len(episode.moments)} steps{cut}",
            soft_wrap=True,
        )
    out.print(f"Recorded: {path}", soft_wrap=True)


def _policy(parsed: Any) -> tuple[Any, str, dict[str, Any]]:
    """The policy that was asked for, and the env to run it in with its arguments."""
    from policy_inertia.policies.policy import Policy
    from policy_inertia.settings import merge

    path = parsed.policy
    policy = Policy.load(path / "best.safetensors" if parsed.best and path.is_dir() else path)
    env, kwargs = parsed.env or policy.task, _assigned("--env-kwargs", parsed.env_kwargs)
    return policy, env, merge(policy.env_kwargs, kwargs) if env == policy.task else kwargs


def _render_unseen() -> None:
    """Frames need no window, and no complaint of pygame's that there is none."""
    for name in ("SDL_VIDEODRIVER", "SDL_AUDIODRIVER"):
        os.environ[name] = os.environ.get(name) or "dummy"


def dial(args: list[str]) -> None:
    """Show what each setting of a policy's dial does."""

    @dataclass(frozen=True)
    class Dial:
        policy: tyro.conf.Positional[Path]
        """A run folder, or a policy file; any method, since hysteresis is a dial too."""
        env: str | None = None
        """Gymnasium id. Default: the env that it was trained on, with its arguments."""
        env_kwargs: tuple[str, ...] = ()
        """Arguments of the env, such as config.scenario=simple; on top of those of its training."""
        episodes: int = 50
        """Episodes at each setting that is measured now."""
        seed: int = 0
        """The episodes follow from it."""
        best: bool = False
        """Of a run folder, take the policy of the best evaluation instead of the last."""
        out: Path | None = None
        """Where to draw the picture. Default: dial.png beside the policy."""

    parsed = _parse(
        Dial,
        args,
        "dial",
        "Print return and crash rate at every setting of a policy's dial, and draw them against "
        "the oscillation ratio, with a hysteresis filter on the same core beside it. What was "
        "measured at the end of training is read, the rest is measured now.",
    )
    from policy_inertia.calibration.sweep import calibrate
    from policy_inertia.drawing.plots import draw_dial

    policy, env, kwargs = _policy(parsed)
    asked = parsed.env is not None or bool(parsed.env_kwargs)
    how: dict[str, Any] = {"episodes": parsed.episodes, "seed": parsed.seed, "env_kwargs": kwargs}
    measured = {f"hysteresis on {policy.core().method}": policy.core()}
    if policy.price is not None:
        measured = {policy.method: policy, **measured}
    tables, ways = {}, {}
    for name, p in measured.items():
        if p.calibration is None or asked:
            with out.status(f"measuring {name}"):
                p = calibrate(p, env, **how)
        assert p.calibration is not None
        tables[name], ways[name] = p.calibration, p.mode and f" ({p.mode})"
    for name, table in tables.items():
        show_calibration(
            f"{name}{ways[name]} on {env}, {table.episodes} greedy episodes each", table
        )
    home = parsed.policy if parsed.policy.is_dir() else parsed.policy.parent
    picture = parsed.out or home / "dial.png"
    draw_dial(tables, f"{policy.method} on {env}", picture)
    out.print(f"Picture: {picture}", soft_wrap=True)


def smooth(args: list[str]) -> None:
    """Make a policy that somebody has smooth."""

    @dataclass(frozen=True)
    class Smooth:
        core: tyro.conf.Positional[Path]
        """A Stable-Baselines3 zip or RL Zoo's folder of it, an ONNX file, or a run of ours."""
        env: tyro.conf.Positional[str]
        """Gymnasium id."""
        budget: float | None = None
        """Share of the steps at which it may switch. Default: half of what the core does."""
        steps: int = 50_000
        """Environment steps to train the controller for."""
        hysteresis_only: bool = False
        """Train nothing: find the threshold of a filter, and compare it with the bare core."""
        mu: bool = False
        """The paper's learned inertia instead of a controller for all prices of switching."""
        loss: float = 0.05
        """Share of the core's mean return that smoothness may cost."""
        warmup: float = 0.05
        """Share of the steps in which the core is only watched."""
        episodes: int = 100
        """Held-out episodes on which core, hysteresis and controller are compared."""
        seed: int = 0
        """Everything random follows from it."""
        out: Path | None = None
        """Folder for the run and the recommended policy. Default: runs/ENV-smooth-SEED."""
        resume: bool = False
        """Go on with the run in that folder after it was stopped."""
        output: Literal["action", "logits", "probabilities", "q"] | None = None
        """What an ONNX file gives, where it cannot be found out."""
        output_name: str | None = None
        """Which of its outputs that is."""
        temperature: float | None = None
        """Follow Q-values by softmax(Q / T), or sharpen probabilities; 0 is greedy."""
        trust: bool = False
        """Let a zip run the pickled code in it: for your own files only."""
        env_kwargs: tuple[str, ...] = ()
        """Arguments of the env, such as config.scenario=simple."""
        set: tuple[str, ...] = ()
        """Further settings of the run, such as envs=16 hidden=[128,128]."""
        quiet: bool = False
        """No progress bar but one line for each evaluation, for log files."""

    parsed = _parse(
        Smooth,
        args,
        "smooth",
        "Train a controller around a policy that you have, which stays as it is, and compare it "
        "on held-out episodes with the bare policy and with a hysteresis filter on it. The best "
        "of the three within the budget is recommended and kept as recommended.safetensors.",
    )
    from policy_inertia.smoothing.smooth import smooth as work
    from policy_inertia.training.loop import default_folder

    changes = _assigned("--set", parsed.set)
    kwargs = _assigned("--env-kwargs", parsed.env_kwargs)
    folder = parsed.out or default_folder(parsed.env, "smooth", parsed.seed)
    names = ("output", "output_name", "temperature", "trust")
    same = ("budget", "steps", "hysteresis_only", "mu", "loss", "warmup", "episodes", "seed")
    with training_progress(parsed.steps, parsed.quiet or parsed.hysteresis_only) as watch:
        result = work(
            parsed.core,
            parsed.env,
            **{name: getattr(parsed, name) for name in same},
            out=folder,
            resume=parsed.resume,
            progress=watch,
            warn=warn,
            core_options={name: getattr(parsed, name) for name in names},
            **{"env_kwargs": kwargs, **changes},
        )
    out.print(str(result), soft_wrap=True, markup=False)
    out.print(f"All of it is in {folder}", soft_wrap=True)


def compare(args: list[str]) -> None:
    """Train several methods over several seeds and compare them."""

    @dataclass(frozen=True)
    class Compare:
        methods: tyro.conf.Positional[tuple[str, ...]]
        """Names from 'policy-inertia methods'."""
        env: str = "CartPole-v1"
        """Gymnasium id."""
        seeds: int = 3
        """Runs of each method; take five or more before you claim anything."""
        steps: int = 50_000
        """Environment steps of each run."""
        hysteresis: tuple[float, ...] = ()
        """Thresholds of a filter to put around the trained policies, as further rows."""
        set: tuple[str, ...] = ()
        """Settings of all runs, such as eval_every=2000, or of single methods, such as
        nsac.mu0=0.1 nsac.core.temperature=0.05."""
        out: Path = Path("runs/compare")
        """Folder for the runs and the report."""
        jobs: int | None = None
        """Runs at a time. Default: one for each core."""
        quiet: bool = False
        """No progress bars but a line for each run."""

    parsed = _parse(
        Compare,
        args,
        "compare",
        "Train several methods with several seeds, one process a core, and show return and "
        "oscillation side by side. Stop it whenever you like; the same command goes on from there.",
    )
    from policy_inertia.study import comparison

    given = _assigned("--set", parsed.set)
    with study_progress(parsed.quiet) as watch:
        found = comparison.compare(
            parsed.methods,
            parsed.env,
            parsed.seeds,
            parsed.out,
            parsed.jobs,
            parsed.hysteresis,
            {name: given.pop(name) for name in parsed.methods if name in given},
            watch,
            shlex.join(["policy-inertia", "compare", *args]),
            **{"steps": parsed.steps, **given},
        )
    _told(found)


def study(args: list[str]) -> None:
    """Carry out a study, or go on with it."""

    @dataclass(frozen=True)
    class Study:
        study: tyro.conf.Positional[str]
        """'paper' for all experiments of the paper, or a TOML file with one of your own."""
        only: tuple[str, ...] = ()
        """Some of its experiments, by name."""
        out: Path | None = None
        """Folder for the runs and the report. Default: runs/STUDY."""
        scale: float = 1.0
        """Shorten everything by this factor, such as 0.01 to try it out."""
        seeds: int | None = None
        """Seeds 0, 1, ...: how many. Default: the study's own."""
        dry_run: bool = False
        """Run nothing: list the runs, with the time they will take from a short calibration."""
        jobs: int | None = None
        """Runs at a time. Default: one for each core."""
        ray: str | None = None
        """Run on the Ray cluster at this address (alone: the one that RAY_ADDRESS names or that
        runs on this machine). All nodes must share the folder."""
        no_report: bool = False
        """Leave the report to 'policy-inertia report'."""
        quiet: bool = False
        """No progress bars but a line for each run."""

    if "--ray" in args:
        at = args.index("--ray") + 1
        if at == len(args) or args[at].startswith("-"):
            args = [*args[:at], "auto", *args[at:]]
    parsed = _parse(
        Study,
        args,
        "study",
        "Carry out many runs as one study: one process a core, or a Ray cluster. Stop it whenever "
        "you like; the same command goes on from there.",
    )
    from policy_inertia import study as studies

    plan = studies.find_study(parsed.study).only(parsed.only).scaled(parsed.scale)
    if parsed.seeds is not None:
        plan = dataclasses.replace(plan, seeds=tuple(range(parsed.seeds)))
    folder = parsed.out or Path("runs") / plan.name
    if parsed.dry_run:
        _dry_run(plan, folder, parsed.jobs)
        return
    if parsed.ray:
        from policy_inertia.study.run.ray import RayPool

        pool: Any = RayPool(parsed.ray)
    else:
        pool = studies.Workers(parsed.jobs)
    command = shlex.join(["policy-inertia", "study", *args])
    with study_progress(parsed.quiet) as watch:
        found = studies.run_study(plan, folder, pool, watch, command)
    _told(found, not parsed.no_report)


def _told(found: Any, with_report: bool = True) -> None:
    """What a study found: on the screen, and as its report."""
    from policy_inertia.study.analysis.summary import tabulate

    rows = tabulate(found)
    for experiment in found.experiments:
        for table in study_tables(experiment, rows[experiment.name]):
            out.print(table)
    for run, error in found.failed:
        warn(f"{run} failed twice: {error}")
    if with_report:
        _report(found, found.folder / "report.html")
    out.print(f"All of it is in {found.folder}", soft_wrap=True)
    if found.failed:
        sys.exit(1)


def _dry_run(plan: Any, folder: Path, jobs: int | None) -> None:
    from policy_inertia.study.run.duration import estimate
    from policy_inertia.study.run.scheduler import Workers, done

    runs = [r for r in plan.runs(folder) if not done(r)]
    with counting("timing each kind of run", len(runs)) as watch:
        seconds = estimate(runs, watch=watch)
    lines: dict[str, list[float]] = {}
    for r, s in zip(runs, seconds, strict=True):
        lines.setdefault(r.label.rpartition(", seed")[0], []).append(s)
    table = Table("runs", "seeds", "minutes, on one core", box=None, title_justify="left")
    for label, each in lines.items():
        table.add_row(label, str(len(each)), f"{sum(each) / 60:.1f}")
    out.print(table)
    processes = Workers(jobs).jobs
    out.print(
        f"{len(runs)} runs to do, about {sum(seconds) / 3600:.1f} hours on one core, "
        f"{sum(seconds) / 3600 / processes:.1f} in {processes} processes",
        soft_wrap=True,
    )


def report(args: list[str]) -> None:
    """Write a study's report."""

    @dataclass(frozen=True)
    class Report:
        folder: tyro.conf.Positional[Path]
        """A study's folder; it need not be finished."""
        out: Path | None = None
        """The HTML file. Default: report.html in the folder."""
        statistic: Literal["iqm", "paper"] = "iqm"
        """Interquartile means with bootstrap intervals, or the paper's mean and half a standard
        deviation."""
        no_inspect: bool = False
        """Record no episodes: no inspector, and no env is made."""

    parsed = _parse(
        Report,
        args,
        "report",
        "Write one HTML file that needs nothing else: verdict, curves, return against oscillation, "
        "statistics, an inspector of recorded episodes and the settings. Beside it go "
        "summary.json, summary.csv and the figures as SVG and PNG.",
    )
    from policy_inertia.study.folder import collect

    path = parsed.out or parsed.folder / "report.html"
    _report(collect(parsed.folder), path, not parsed.no_inspect, parsed.statistic)


def matched(args: list[str]) -> None:
    """Compare a study's methods at the same oscillation."""

    @dataclass(frozen=True)
    class Matched:
        study: tyro.conf.Positional[Path]
        """The folder of a study with budgets, or the records.csv that this command wrote of it."""
        out: Path | None = None
        """Where to keep the records. Default: records.csv in the study's folder."""

    parsed = _parse(
        Matched,
        args,
        "matched",
        "Print what every method of a study returns, and how often it crashes, within the same "
        "budgets of oscillation, and what it would be worth without a time limit: means and 95% "
        "t-intervals over seeds, as Markdown. The best single action is a rival too. Then each "
        "dial minus the best rival, and minus hysteresis on its own core, paired by seed.",
    )
    from policy_inertia.study.analysis import at_budget as m
    from policy_inertia.study.analysis import constant_action as constant
    from policy_inertia.study.folder import collect

    if parsed.study.is_dir():
        found = collect(parsed.study)
        kept = m.records(found)
        with out.status("one action") as status:
            kept += constant.records(found, status.update)
        m.write_records(parsed.out or parsed.study / "records.csv", kept)
    else:
        kept = m.read_records(parsed.study)
    rows = m.matched(kept)
    for way in m.WAYS:
        print(m.markdown(rows, way))
        print(m.markdown(rows, way, m.WORTH))
        for table in (m.verdicts(rows, way), m.own_cores(rows, way)):
            print(table + "\n")


def _report(found: Any, path: Path, inspect: bool = True, statistic: Any = "iqm") -> None:
    from policy_inertia.study.report.page import write

    mixed = [f"{name} {told}" for name, told in found.versions.items() if ", " in told]
    if mixed:
        warn(
            f"the runs were made by different versions ({'; '.join(mixed)}): compare them with "
            "care, or make all of them again in another folder"
        )
    _render_unseen()
    with out.status("writing the report"):
        write(found, path, inspect, statistic)
    out.print(f"Report: {path} ({path.stat().st_size / 1e6:.1f} MB)", soft_wrap=True)


def export(args: list[str]) -> None:
    """Write a policy for other programs."""

    @dataclass(frozen=True)
    class Export:
        policy: tyro.conf.Positional[Path]
        """A run folder or a policy file; or, with --env, somebody's Stable-Baselines3 zip."""
        out: Path | None = None
        """The ONNX file. Default: policy.onnx in the run folder, or beside the file."""
        best: bool = False
        """Of a run folder, take the policy of the best evaluation instead of the last."""
        hysteresis: float | None = None
        """Put a filter into the file that keeps the last action unless a new one is better by
        this much (in log-probability, or in Q for DQN)."""
        env: str | None = None
        """Gymnasium id; for a Stable-Baselines3 zip, which does not say its task safely."""
        env_kwargs: tuple[str, ...] = ()
        """Arguments of the env, such as config.scenario=simple."""
        card: Path | None = None
        """Instead, write a folder for the Hugging Face Hub here: a card with measured figures, the
        policy, and its ONNX file."""
        episodes: int = 20
        """Episodes behind the figures of the card."""

    parsed = _parse(
        Export,
        args,
        "export",
        "Write a policy as one ONNX file, core and controller together, and compare it with the "
        "original on random inputs. Inputs: observation, previous_action (-1 at the start of an "
        "episode). Outputs: action, probabilities, inertia. Needs policy-inertia[onnx].",
    )
    from policy_inertia.interop.onnx_out import export as write
    from policy_inertia.policies.cores import load_core
    from policy_inertia.policies.policy import Policy

    path = parsed.policy
    policy: Any
    ours = path.suffix == ".safetensors" or (path / "policy.safetensors").exists()
    if ours and parsed.env is not None:
        raise InputError(f"--env {parsed.env} is for somebody's zip: {path} knows its task")
    if parsed.env is not None:
        kwargs = _assigned("--env-kwargs", parsed.env_kwargs)
        policy = load_core(path, parsed.env, env_kwargs=kwargs)
    else:
        if path.suffix == ".zip":
            raise InputError(f"{path} does not say its task: add --env, such as CartPole-v1")
        policy = Policy.load(path / "best.safetensors" if parsed.best and path.is_dir() else path)
    if parsed.hysteresis is not None:
        policy = policy.with_hysteresis(parsed.hysteresis)
    if parsed.card is not None:
        if not isinstance(policy, Policy):
            raise InputError(f"--card is for our own policies, and {path} is somebody's zip")
        for file in policy.model_card(parsed.card, episodes=parsed.episodes):
            out.print(str(file), soft_wrap=True)
        return
    default = path / "policy.onnx" if path.is_dir() else path.with_suffix(".onnx")
    out.print(str(write(policy, parsed.out or default)), soft_wrap=True)


def parity(args: list[str]) -> None:
    """Compare the Highway simulator with highway-env, step by step."""

    @dataclass(frozen=True)
    class Parity:
        tasks: tyro.conf.Positional[tuple[str, ...]] = ()
        """LaneChange, Merge, Intersection, TwoWay. Default: all four."""
        seeds: int = 5
        """Episodes, seeded 0, 1, 2, ..."""
        steps: int = 30
        """Policy steps of each, with random actions and on past crashes."""

    parsed = _parse(
        Parity,
        args,
        "parity",
        "Run highway-env and our simulator from the same seeds with the same actions, in the "
        "original's configuration, and report the largest differences. Needs highway-env.",
    )
    from policy_inertia.envs import highway

    equal = True
    for task in parsed.tasks or highway.TASKS:
        result = highway.parity(task, range(parsed.seeds), parsed.steps)
        out.print(str(result), soft_wrap=True)
        equal = equal and result.forward <= 1e-9 and not result.flags
    if not equal:
        sys.exit(1)


def theory(args: list[str]) -> None:
    """Check the paper's theorems on exact MDPs, and draw what they come to."""

    @dataclass(frozen=True)
    class Theory:
        mdps: int = 100
        """Random MDPs for each statement."""
        states: int = 4
        """States of each."""
        actions: int = 3
        """Actions of each."""
        gamma: float = 0.9
        """Discount factor."""
        seed: int = 0
        """The random MDPs follow from it."""
        examples: tuple[str, ...] = ("garnet", "windy-line", "chain", "overtaking", "two-way")
        """MDPs to draw. With nothing after it, none is drawn."""
        growth: bool = False
        """Only print how long things take as an MDP grows, up to 500 states and 5 actions."""
        out: Path = Path("runs/theory")
        """Folder for the table and the pictures."""
        quiet: bool = False
        """No progress bar."""

    parsed = _parse(
        Theory,
        args,
        "theory",
        "Try each statement of the paper on random MDPs, exactly: in how many it holds, by how "
        "much at least, and by how much it fails. Then draw nested policy iteration and the best "
        "trade-off of return against switching that any mu has. docs/theory.md explains the rows.",
    )
    from policy_inertia import tabular
    from policy_inertia.storage import cannot_write
    from policy_inertia.tabular import portrait, tables

    if parsed.growth:
        out.print(tables.growth_table(portrait.growth()))
        return
    for name, least in (("mdps", 1), ("states", 1), ("actions", 2)):
        if getattr(parsed, name) < least:
            value = getattr(parsed, name)
            raise InputError(f"--{name} is {value}: it must be at least {least}")
    if not 0 <= parsed.gamma < 1:
        raise InputError(f"--gamma is {parsed.gamma}: it must lie in [0, 1)")
    for name in parsed.examples:
        if name not in tabular.EXAMPLES:
            raise InputError(f"there is no example '{name}'{nearest(name, tabular.EXAMPLES)}")
    try:
        parsed.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(parsed.out, error) from error
    sizes = (parsed.states, parsed.actions, parsed.gamma)
    found: list[tabular.Finding] = []
    portraits: list[portrait.Portrait] = []
    total = len(tabular.CHECKS) + len(parsed.examples)
    with counting("checking", total, parsed.quiet or not out.is_terminal) as watch:
        for check in tabular.CHECKS:
            watch(len(found), total, check.about.strip())
            found += tabular.run_checks(parsed.mdps, parsed.seed, (check,), *sizes)
        for name in parsed.examples:
            watch(len(found) + len(portraits), total, f"drawing {name}")
            portraits.append(portrait.portrait(tabular.EXAMPLES[name]()))
        watch(total, total)
    paper, ours = tabular.median_bounds(parsed.mdps, parsed.seed, *sizes)
    shown: list[Any] = [
        tables.findings_table(f"{parsed.mdps} random MDPs for each statement", found),
        f"\nLemma 3.1 allows a mu of {paper:.2g}, our bound one of {ours:.2g} (medians)\n",
    ]
    if portraits:
        shown.append(tables.portraits_table(portraits))
    with open(parsed.out / "checks.txt", "w") as file:
        for console in (out, Console(file=file, width=120)):
            console.print(*shown, sep="\n")
    if portraits:
        from policy_inertia.tabular.pictures import draw_improvement, draw_tradeoff

        draw_improvement(portraits, parsed.out / "improvement.png")
        draw_tradeoff(portraits, parsed.out / "tradeoff.png")
    out.print(f"The table and the pictures are in {parsed.out}", soft_wrap=True)
    broken = [f.check.about.strip() for f in found if f.check.promised and f.failed]
    if broken:
        complain(f"what should hold did not: {'; '.join(broken)}", "red")
        sys.exit(1)


def methods(args: list[str]) -> None:
    """List the methods."""
    _no_more("methods", args)
    from policy_inertia.methods import METHODS

    table = Table("method", "what it is", "holds an action for", "price of a switch", box=None)
    for name, row in METHODS.items():
        hold = "1 step" if row.repeats == (1,) else f"{', '.join(map(str, row.repeats))} steps"
        table.add_row(name, row.about, hold, f"{row.penalty:g}" if row.penalty else "")
    out.print(table)
    out.print("\nSettings of a method: policy-inertia train METHOD --help")


def tasks(args: list[str]) -> None:
    """List the tasks that settings are kept for."""
    _no_more("tasks", args)
    from policy_inertia.envs.registry import TASKS
    from policy_inertia.presets import preset_of

    task_id = Column("task", no_wrap=True)  # to be copied
    table = Table(task_id, "what it is", "settings that differ from the paper's", box=None)
    for name, task in TASKS.items():
        preset = preset_of(name, task.family)
        text = [f"{k}={v}" for group in preset.values() for k, v in group.items()]
        table.add_row(name, task.about, ", ".join(dict.fromkeys(text)))
    out.print(table)
    out.print(
        "\nEvery other Atari game is there by its name, such as policy_inertia/Breakout-v0, or with"
        "\nsticky actions as ALE/Breakout-v5 (pip install 'policy-inertia\\[atari]')."
        "\nAny other Gymnasium env with discrete actions works by its id (package:Id for your own);"
        "\nthe paper's settings for Highway are then the defaults."
    )


COMMANDS: dict[str, Callable[[list[str]], None]] = {
    "train": train,
    "evaluate": evaluate,
    "dial": dial,
    "smooth": smooth,
    "compare": compare,
    "study": study,
    "report": report,
    "matched": matched,
    "record": record,
    "theory": theory,
    "export": export,
    "parity": parity,
    "methods": methods,
    "tasks": tasks,
}


def _parse(kind: Any, args: list[str], prog: str, description: str, default: Any = None) -> Any:
    """The arguments as a dataclass; a bad value in them is an InputError like any other."""
    extra = {} if default is None else {"default": default}
    return tyro.cli(
        kind,
        prog=f"policy-inertia {prog}",
        description=description,
        args=args,
        config=(tyro.conf.AvoidSubcommands, tyro.conf.FlagCreatePairsOff),
        **extra,
    )


def _no_more(command: str, args: Sequence[str]) -> None:
    if args and args[0] not in ("-h", "--help"):
        raise InputError(f"'{command}' takes no arguments, but '{args[0]}' was given: leave it out")


def _assigned(flag: str, texts: Sequence[str]) -> dict[str, Any]:
    """'config.scenario=simple' as {'config': {'scenario': 'simple'}}; values are JSON."""
    found: dict[str, Any] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        *parents, name = path.split(".")
        if not equals or not all((*parents, name)):
            raise InputError(f"{flag} {text}: write name=value, or group.name=value")
        place: dict[str, Any] = found
        for parent in parents:
            place = place.setdefault(parent, {})
        try:
            place[name] = json.loads(value.lower() if value in ("True", "False") else value)
        except ValueError:
            place[name] = value
    return found


if __name__ == "__main__":
    main()
