"""The figures of benchmarks in the docs are those of benchmarks/results."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PERFORMANCE = (ROOT / "docs" / "performance.md").read_text()
HIGHWAY = (ROOT / "docs" / "highway.md").read_text()


def figures(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def test_learner() -> None:
    result = figures("learner")
    best = {n: max(x.items(), key=lambda pair: pair[1]) for n, x in result["speed"].items()}
    for name, (envs, speed) in best.items():
        assert f"| {name} | {envs} | {speed:,.0f} |" in PERFORMANCE
    speeds = {name: speed for name, (_, speed) in best.items()}
    peers = {name: speed for name, speed in speeds.items() if not name.startswith("ours")}
    dqn = max(speed for name, speed in peers.items() if name.endswith("dqn"))
    sac = max(speed for name, speed in peers.items() if name.endswith("sac"))
    update, predict = result["update_us"], result["predict_us"]
    products = result["nsac_matmul_us"]
    for row, ratio in {
        "one NSAC update / its matrix products alone": update["nsac"] / products,
        "our DQN / the fastest peer": speeds["ours-dqn"] / dqn,
        "our SAC / the fastest discrete SAC": speeds["ours-sac"] / sac,
        "our NSAC / the fastest discrete SAC": speeds["ours-nsac"] / sac,
        "predict, NSAC / SB3's DQN": predict["nsac"] / predict["sb3-dqn"],
        "predict, DQN / SB3's DQN": predict["dqn"] / predict["sb3-dqn"],
        "resident memory of an NSAC run, GB": result["memory_mb"] / 1024,
    }.items():
        assert f"| {row} | {ratio:.2f} |" in PERFORMANCE
    times = ", ".join(f"{name.upper()} {us:.0f} µs" for name, us in update.items())
    assert f"One update: {times}. The matrix products of an NSAC update: {products:.0f} µs." in (
        PERFORMANCE
    )
    times = ", ".join(f"{name} {us:.0f} µs" for name, us in predict.items())
    assert f"One predict: {times}." in PERFORMANCE


def test_atari() -> None:
    result = figures("atari")
    update, network, training = result["update_ms"], result["network_ms"], result["training"]
    steps = {name: run["steps_per_second"] for name, run in training.items()}
    for row, unit, style, ours, theirs in (
        ("update, NSAC / our DQN", "ms", ".1f", update["ours-nsac"], update["ours-dqn"]),
        ("update, our DQN / SB3's", "ms", ".2f", update["ours-dqn"], update["sb3-dqn"]),
        ("update, our SAC / CleanRL's", "ms", ".2f", update["ours-sac"], update["cleanrl-sac"]),
        (
            "one network, forward and backward, ours / PyTorch channels-last",
            *("ms", ".2f", network["ours"], network["torch-channels-last"]),
        ),
        (
            "one network, ours / its products alone",
            "ms",
            ".2f",
            network["ours"],
            network["products"],
        ),
        ("training, our DQN / SB3's", "steps/s", ".2f", steps["ours-dqn"], steps["sb3-dqn"]),
    ):
        cell = f"| {row} ({ours:.0f} / {theirs:.0f} {unit}) | {ours / theirs:{style}} |"
        assert cell in PERFORMANCE
    words = " ".join(PERFORMANCE.split())
    mb = {name: f"{run['mb']:,.0f} MB" for name, run in training.items()}
    assert (
        f"NSAC trains at {steps['ours-nsac']:.0f} steps/s and SAC at {steps['ours-sac']:.0f}."
        in (words)
    )
    assert (
        f"DQN takes {mb['ours-dqn']} (SB3's DQN {mb['sb3-dqn']}) and NSAC {mb['ours-nsac']}."
        in words
    )


def test_control() -> None:
    result = figures("control")
    pendulum, hopper = (result["speed"][env] for env in ("Pendulum-v1", "Hopper-v5"))
    for name in pendulum:
        assert f"| {name} | {pendulum[name]:.0f} | {hopper[name]:.0f} |" in PERFORMANCE
    for row, ours, theirs in (
        ("our SAC / SBX's", "ours-sac", "sbx-sac"),
        ("our SAC / SB3's", "ours-sac", "sb3-sac"),
        ("our dial / our SAC", "ours-dial-sac", "ours-sac"),
    ):
        ratios = " | ".join(f"{x[ours] / x[theirs]:.2f}" for x in (pendulum, hopper))
        assert f"| {row} | {ratios} |" in PERFORMANCE
    updates, products = result["update_us"], result["products_us"]
    ratios = " | ".join(f"{updates[e]['sac'] / products[e]:.2f}" for e in result["speed"])
    assert f"| an update of SAC / its matrix products | {ratios} |" in PERFORMANCE
    assert f"takes {result['memory_mb'] / 1024:.2f} GB; the goal is below 2" in PERFORMANCE


def test_simulator() -> None:
    result = figures("simulator")
    for task, speed in result["steps_per_second"].items():
        ours, theirs = speed["ours"], speed["theirs"]
        assert f"| {task} | {ours:,.0f} | {theirs:.1f} | {ours / theirs:,.0f} |" in HIGHWAY
        (row,) = [x for x in HIGHWAY.splitlines() if x.startswith(f"| {task} | {ours:,.0f} ")]
        assert row.rstrip("* |").endswith(f"| {result['two_threads'][task]:.2f}")
    few, many = result["growth"]["10"], result["growth"]["200"]
    ours, theirs = (few[side] / many[side] for side in ("ours", "theirs"))
    assert f"takes {ours:.0f} times as long here, {theirs:.0f} times in highway-env." in HIGHWAY
    cold, cached = result["first_step_cold"], result["first_step_cached"]
    assert f"the first step: {cold:.0f} s compiling, {cached:.1f} s from the cache." in HIGHWAY
    nsac = result["nsac"]
    shares = ", ".join(f"{x} {nsac[x]:.0%}" for x in ("act", "simulate", "store", "update"))
    assert f"{nsac['steps_per_second']:,.0f} steps/s ({shares})." in HIGHWAY
