"""Damaged files of our own: each is read, or refused in one sentence.

Nothing else may happen: no other exception, no second line, no large allocation. The short run is
part of `make test`; `make test-slow` runs many more cases. `check_cases(..., first=N, cases=1)`
repeats one case.
"""

from __future__ import annotations

import json
import struct
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_inertia import Policy
from policy_inertia.actions.cost_file import read_costs
from policy_inertia.algorithms.frozen import FrozenConfig
from policy_inertia.metrics.calibration_table import Calibration, Row
from policy_inertia.metrics.measures import MEASURES, Figures
from policy_inertia.networks import layers as network
from policy_inertia.policies.cores import Core
from policy_inertia.policies.spaces_with_core import SpacesWithCore, core_identity
from policy_inertia.run_settings import RunConfig, settings
from policy_inertia.schema import read_as
from policy_inertia.smoothing.smooth_folder import SmoothFolder
from policy_inertia.storage import FORMAT
from policy_inertia.study.analysis.at_budget import budget_records, read_records, write_records
from policy_inertia.study.analysis.summary import tabulate, to_csv
from policy_inertia.study.core_records import CoreRecord, read_core_record
from policy_inertia.study.folder import Levels, RunResult, StudyFolder, collect
from policy_inertia.study.run_records import Record, read_record, restore, write_record
from policy_inertia.study.toml import load_study, study_from_dict
from policy_inertia.training.checkpoints import Checkpoints
from policy_inertia.training.saved_state import RunState
from policy_inertia.training.session import Session
from tests.support.arm import arm_core
from tests.support.box_controllers import around
from tests.support.mutations import (
    Generator,
    check_cases,
    json_text,
    mutate_bytes,
    mutate_json,
    mutate_tree,
)
from tests.support.policies import OBS, fresh
from tests.support.runs import seal
from tests.support.tiny_studies import TINY

SHORT, LONG = 150, 5_000
CASES = pytest.mark.parametrize("cases", [SHORT, pytest.param(LONG, marks=pytest.mark.slow)])


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    """Weights of a damaged file may be huge, so numbers may overflow."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def check_file(
    path: Path, data: bytes, read: Callable[[Path], Any], cases: int, tree: Any = None
) -> None:
    """Read damaged versions of one file; half of the cases change the JSON of `tree`."""

    def one_case(rng: Generator) -> None:
        if tree is not None and rng.random() < 0.5:
            path.write_bytes(mutate_json(tree, rng).encode(errors="surrogatepass"))
        else:
            path.write_bytes(mutate_bytes(data, rng))
        read(path)

    counts = check_cases(one_case, cases)
    assert counts["refused"] > cases / 3


# Policies ----------------------------------------------------------------------------------------


def frozen_core() -> Policy:
    """A controller around a core that the file holds."""
    rng = np.random.default_rng(0)
    layers = (
        network.Linear(rng.normal(size=(4, 8)).astype(np.float32), np.zeros(8, np.float32)),
        network.Activation("Tanh"),
        network.Linear(rng.normal(size=(8, 2)).astype(np.float32), np.zeros(2, np.float32)),
    )
    core = Core.from_layers("core.zip", fresh("dqn").spaces, "q", layers)
    config = settings("smooth", "CartPole-v1", hidden=(8,), core=asdict(core_identity(core)))
    return Session(config, "CartPole-v1", SpacesWithCore.of_core(core)).policy()


def calibrated_dial() -> Policy:
    rows = tuple(Row(price, dict.fromkeys(MEASURES, 0.1)) for price in (0.0, 1.0))
    table = Calibration("price", "CartPole-v1", 5, 0, rows)
    return fresh("dial-dqn", hidden=(8,)).replace(calibration=table)


POLICIES: dict[str, Callable[[], Policy]] = {
    "dqn": lambda: fresh("dqn", hidden=(8,)).with_hysteresis(0.1),
    "nsac": lambda: fresh("nsac", hidden=(8,)),
    "repeat": lambda: fresh("dqn-repeat", hidden=(8,)),
    "dial": calibrated_dial,
    "frozen": frozen_core,
    "frozen box": lambda: around(arm_core()),
}


def use_policy(path: Path) -> None:
    """Load a policy and act with it."""
    policy = Policy.load(path)
    shape = policy.spaces.obs_shape
    obs = OBS[:3] if shape == (4,) else np.zeros((1, *shape), policy.spaces.dtype)
    _, state = policy.predict(obs)
    policy.predict(obs, state, deterministic=True)
    if policy.calibration is not None:
        policy.with_budget(0.5)


@CASES
@pytest.mark.parametrize("name", POLICIES)
def test_damaged_policies_are_refused_in_one_sentence(
    name: str, cases: int, tmp_path: Path
) -> None:
    path = tmp_path / "policy.safetensors"
    POLICIES[name]().save(path)
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    about = json.loads(header["__metadata__"]["policy_inertia"])

    def one_case(rng: Generator) -> None:
        part = rng.random()
        if part < 0.2:
            path.write_bytes(mutate_bytes(data, rng))
        else:
            new = dict(header)
            if part < 0.8:
                text = mutate_json(about, rng)
                new["__metadata__"] = {"policy_inertia": text}
            else:
                new = mutate_tree(header, rng)
            raw = json_text(new).encode(errors="surrogatepass")
            path.write_bytes(struct.pack("<Q", len(raw)) + raw + data[8 + size :])
        use_policy(path)

    counts = check_cases(one_case, cases)
    assert counts["refused"] > cases / 3


# Runs and studies --------------------------------------------------------------------------------


def figures() -> Figures:
    return {**dict.fromkeys(MEASURES, 0.25), "episodes": 4}


@pytest.fixture
def study_folder(tmp_path: Path) -> Path:
    """A study's folder whose runs were never trained: their files hold invented figures."""
    study, out = study_from_dict(TINY | {"seeds": 1}, "tiny"), tmp_path / "s"
    folder = StudyFolder(out, study, "policy-inertia study tiny.toml")
    folder.write_failures([])
    folder.close()
    levels: Levels = {"0.05": {"sampled": figures(), "greedy": figures()}}
    budgets: Levels = {
        "0.3": {**levels["0.05"], "calibrated_return": 0.5},
        "0.2": {"unreachable": "no"},
    }
    curve: dict[str, list[float | None]] = {"step": [0, 1_600], "eval/return": [0.5, None]}
    for run in study.runs(out):
        config = json.loads(json.dumps(run.config.to_dict()))
        result = RunResult(1_600, figures(), figures(), figures())
        restore(Record(config, {"x": "1"}, None, result, curve, levels, budgets), run.path)
    return out


def analyse(folder: Path) -> None:
    """Read a study and make its tables."""
    results = collect(folder)
    to_csv(tabulate(results))
    write_records(folder / "records.csv", budget_records(results))


@CASES
@pytest.mark.parametrize(
    "name", ["study.json", "failed.json", "run.json", "result.json", "hysteresis.json",
             "budgets.json", "metrics.jsonl"],
)  # fmt: skip
def test_damaged_files_of_a_study_are_refused_in_one_sentence(
    name: str, cases: int, study_folder: Path
) -> None:
    analyse(study_folder)
    path = next(study_folder.rglob(name))
    tree = json.loads(path.read_text()) if name.endswith("json") else None
    check_file(path, path.read_bytes(), lambda _: analyse(study_folder), cases // 2, tree)


@CASES
def test_damaged_records_are_refused_in_one_sentence(
    cases: int, study_folder: Path, tmp_path: Path
) -> None:
    path = write_record(next(study_folder.rglob("run.json")).parent, tmp_path / "record.json")

    def use(file: Path) -> None:
        restore(read_record(file), tmp_path / "restored")

    use(path)
    check_file(path, path.read_bytes(), use, cases, json.loads(path.read_text()))


@CASES
def test_damaged_csv_records_are_refused_in_one_sentence(
    cases: int, study_folder: Path, tmp_path: Path
) -> None:
    analyse(study_folder)
    data = (study_folder / "records.csv").read_bytes()
    check_cases(lambda rng: read_bytes(tmp_path / "r.csv", mutate_bytes(data, rng)), cases)


def read_bytes(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    read_records(path)


@CASES
def test_damaged_records_of_cores_are_refused_in_one_sentence(cases: int, tmp_path: Path) -> None:
    measured = {"core": figures(), "random": figures()}
    record = CoreRecord({"seed": 0}, {"jax": "1"}, None, {"core": 1.5}, measured)
    tree = {"format": FORMAT, **asdict(record)}
    path = tmp_path / "seed-0.json"
    check_file(path, json.dumps(tree).encode(), read_core_record, cases, tree)


@CASES
def test_damaged_folders_of_smooth_are_refused_in_one_sentence(cases: int, tmp_path: Path) -> None:
    core = FrozenConfig("jittery.zip", "0123456789abcdef")
    SmoothFolder(tmp_path / "smooth", core, resume=False).close()
    path = tmp_path / "smooth" / "core.json"
    data = path.read_bytes()
    check_file(
        path,
        data,
        lambda _: SmoothFolder(tmp_path / "smooth", core, resume=True).close(),
        cases,
        json.loads(data),
    )


@CASES
def test_damaged_settings_of_a_run_are_refused_in_one_sentence(cases: int) -> None:
    tree = json.loads(json.dumps(settings("dial-dqn", "CartPole-v1").to_dict()))
    check_cases(lambda rng: RunConfig.from_dict(mutate_tree(tree, rng)), cases)


# Checkpoints -------------------------------------------------------------------------------------


@CASES
def test_damaged_checkpoints_are_refused_in_one_sentence(cases: int, tmp_path: Path) -> None:
    """The checksums are made to fit the damage, so that what reads the files is reached."""
    config = settings("nsac", "CartPole-v1", envs=2, hidden=(4,), buffer_size=100)
    session, checkpoints = Session(config, "CartPole-v1"), Checkpoints(tmp_path)
    for _ in range(8):
        session.advance()
    arrays, state = session.state()
    whole = {**asdict(state), "best": 1.0, "next_eval": 5_000, "metrics_size": 0}
    checkpoints.save("16", arrays, session.replay.state(), whole)
    folder = tmp_path / "checkpoint-16"
    files = {p.name: p.read_bytes() for p in folder.iterdir()}
    del files["checksums.json"]

    def one_case(rng: Generator) -> None:
        name = sorted(files)[int(rng.integers(len(files)))]
        data = damaged(name, files[name], rng)
        (folder / name).write_bytes(data)
        seal(folder)
        try:
            use_checkpoint(checkpoints, session)
        finally:
            (folder / name).write_bytes(files[name])

    counts = check_cases(one_case, cases)
    assert counts["refused"] > cases / 3
    seal(folder)
    use_checkpoint(checkpoints, session)
    session.envs.close()


def use_checkpoint(checkpoints: Checkpoints, session: Session) -> None:
    saved = checkpoints.load()
    assert saved is not None
    state = read_as(RunState, saved.state, saved.folder / "state.json")
    session.restore(saved.arrays, saved.records, state, saved.folder)


def damaged(name: str, data: bytes, rng: Generator) -> bytes:
    """Damage a file: its bytes, or its JSON."""
    if rng.random() < 0.3 or name.endswith(".npy"):
        return mutate_bytes(data, rng)
    if name.endswith(".json"):
        return mutate_json(json.loads(data), rng).encode(errors="surrogatepass")
    size = struct.unpack("<Q", data[:8])[0]
    raw = json_text(mutate_tree(json.loads(data[8 : 8 + size]), rng)).encode(errors="surrogatepass")
    return struct.pack("<Q", len(raw)) + raw + data[8 + size :]


@CASES
@pytest.mark.parametrize("name", ["latest.json", "checksums.json"])
def test_damaged_lists_of_checkpoints_are_refused_in_one_sentence(
    name: str, cases: int, tmp_path: Path
) -> None:
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save("16", {"x": np.zeros(3)}, np.zeros((2, 3), np.int32), {"step": 1})
    path = next(tmp_path.rglob(name))
    tree = json.loads(path.read_text())
    check_cases(lambda rng: use_list(path, damaged(name, json.dumps(tree).encode(), rng)), cases)


def use_list(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    Checkpoints(path.parent if path.name == "latest.json" else path.parent.parent).load()


# Tables of costs ---------------------------------------------------------------------------------


@CASES
@pytest.mark.parametrize("ending", ["csv", "json", "toml"])
def test_damaged_tables_of_costs_are_refused_in_one_sentence(
    ending: str, cases: int, tmp_path: Path
) -> None:
    rows: list[list[float]] = [[0, 1, 2.5], [1, 0, 1], [3, 1, 0]]
    lines = "\n".join(",".join(map(str, row)) for row in rows)
    text = {"csv": lines, "json": json.dumps(rows), "toml": f"costs = {rows}"}[ending]
    path, tree = tmp_path / f"costs.{ending}", rows if ending == "json" else None
    check_file(path, text.encode(), read_costs, cases, tree)


# TOML --------------------------------------------------------------------------------------------

TOML = """
name = "s"
seeds = 2
steps = 1_600
hysteresis = [0.05]
settings = {checkpoint_seconds = 0}
[methods.dqn]
method = "dqn"
[tasks."Two-Way"]
env = "policy_inertia/TwoWay-v0"
env_kwargs = {config = {scenario = "simple"}}
[[experiments]]
name = "e"
"""


@CASES
def test_damaged_toml_is_refused_in_one_sentence(cases: int, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"

    def read(file: Path) -> None:
        load_study(file).runs(tmp_path)

    check_file(path, TOML.encode(), read, cases)
    experiment = {"name": "e", "methods": ["dqn"], "tasks": ["Two-Way"], "hysteresis": [0.1]}
    tree = {**TINY, "experiments": [experiment]}
    check_cases(lambda rng: study_from_dict(mutate_table(tree, rng), "s").runs(tmp_path), cases)


def mutate_table(tree: Any, rng: Generator) -> dict[str, Any]:
    """A mutated study; the parser of TOML always gives a table."""
    values = mutate_tree(tree, rng)
    return values if isinstance(values, dict) else {}
