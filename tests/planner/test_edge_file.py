import json
from pathlib import Path

import pytest

from policy_inertia import InputError
from policy_inertia.actions.bucket import Limit
from policy_inertia.planner.edge_file import load_edge, save_edge
from policy_inertia.planner.upper_edge import find_upper_edge
from tests.planner.test_upper_edge import TINY


def test_the_file_has_the_figures_and_every_episode(tmp_path: Path) -> None:
    edge = find_upper_edge("policy_inertia/TwoWay-v0", 2, **TINY)
    save_edge(edge, tmp_path / "edge.json", (0.2,))
    saved = json.loads((tmp_path / "edge.json").read_text())
    assert list(saved["figures"]) == ["0.2", "no limit"]
    again = load_edge(tmp_path / "edge.json")
    assert again.env_kwargs == TINY["env_kwargs"]
    for budget in (0.2, 0.3, None):
        assert again.within(budget).summary() == edge.within(budget).summary()
    assert saved["figures"]["0.2"] == again.within(0.2).summary()


def test_the_file_has_the_limit(tmp_path: Path) -> None:
    edge = find_upper_edge("policy_inertia/TwoWay-v0", 1, **TINY, limit=Limit(0.1, 2))
    save_edge(edge, tmp_path / "edge.json", ())
    assert load_edge(tmp_path / "edge.json").limit == Limit(0.1, 2)
    saved = json.loads((tmp_path / "edge.json").read_text())
    assert list(saved["figures"]) == ["0.1 per step, burst 2"]


def test_a_damaged_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "edge.json"
    save_edge(find_upper_edge("policy_inertia/TwoWay-v0", 1, **TINY), file)
    saved = json.loads(file.read_text())
    saved["plans"][0]["returns"].append(1.0)
    file.write_text(json.dumps(saved))
    with pytest.raises(InputError, match="are not complete"):
        load_edge(file)
