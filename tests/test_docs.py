"""What docs/interop.md and docs/tutorial.md show must run as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from policy_inertia.policies.probing import example_observations

DOCS = Path(__file__).parents[2] / "docs"


def run(page: str, tmp_path: Path) -> str:
    """What the Python of a page prints, from top to bottom."""
    code = "\n".join(re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.S))
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python_of_the_page_runs_from_top_to_bottom(tmp_path):
    text = run("interop.md", tmp_path)
    assert len(re.findall(r"^ *[\d.]+: return", text, re.M)) == 3
    assert "random inputs within" in text
    assert re.search(r"^return \d+\.0$", text, re.M)


def test_python_of_the_tutorial_makes_a_policy_smooth(tmp_path):
    text = run("tutorial.md", tmp_path)
    before = re.search(r"switches at (\d+)% of steps", text)
    after = re.findall(r"Recommended: .* It switches at ([\d.]+) of the steps", text)
    assert before
    assert len(after) == 2  # of the filter alone, and with a controller
    assert all(float(share) <= 0.22 < int(before[1]) / 100 for share in after)
    assert "random inputs within" in text
    assert (tmp_path / "smooth" / "recommended.safetensors").exists()


def test_sbx_models_answer_through_jax():
    sbx = pytest.importorskip("sbx", reason="SBX is no dependency of ours")
    from policy_inertia import load_core

    for cls, kind in ((sbx.DQN, "q"), (sbx.PPO, "logits")):
        model = cls("MlpPolicy", "CartPole-v1", seed=0).learn(300)
        core = load_core(model, "CartPole-v1")
        obs = 2 * example_observations(core.space, 500)
        ours, _ = core.predict(obs, deterministic=True)
        theirs, _ = model.predict(obs, deterministic=True)
        assert core.kind == kind
        assert (ours != theirs).sum() <= 1  # at a tie
        assert len(set(theirs.tolist())) == 2
