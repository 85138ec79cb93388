import csv
import dataclasses
import io
import json
import math
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from PIL import Image

from policy_inertia import InputError
from policy_inertia.evaluation.recording import RecordedStep, Recording
from policy_inertia.metrics.measures import MEASURES, RETURN
from policy_inertia.study.analysis.statistics import Statistic
from policy_inertia.study.analysis.summary import median_run
from policy_inertia.study.report import page as report
from policy_inertia.study.report.html import Html, count_range, data, join, tag
from policy_inertia.study.report.inspector import element as inspector
from policy_inertia.study.report.inspector.element import Scene
from policy_inertia.study.report.inspector.scenes import record_scenes
from policy_inertia.study.results import ExperimentResults, Results
from tests.support.synthetic_results import experiment, figures, line, results

EVIL = "<script>alert('owned')</script><img src=x onerror=alert(1)>\"&"


class Page(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]


@pytest.fixture(scope="module")
def written(two_methods: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.write(two_methods, tmp_path_factory.mktemp("report") / "report.html")


def small(**changes: Any) -> Results:
    lines = [line("SAC", seeds=2), line("NSAC", mu=0.5, seeds=2)]
    return results(experiments=[experiment(*lines)], **changes)


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("\ud800", r"\ud800"),
        ("a\0b", r"a\x00b"),
        ("\x1b[31m", r"\x1b[31m"),
        ("$\\bad{", "$\\bad{"),
        ("%s {0}", "%s {0}"),
        ("次", "次"),
        ("x" * 3_000, "x" * 3_000),
    ],
)
def test_names_that_cannot_be_printed_are_shown_as_codes(
    name: str, seen: str, tmp_path: Path
) -> None:
    """Nothing is raised after the work is done, whatever a study calls its parts."""
    lines = [dataclasses.replace(line(label), task=name) for label in ("SAC", "DQN")]
    lines[0] = dataclasses.replace(lines[0], label=name)
    hostile = dataclasses.replace(experiment(*lines), name=name, title=name, about=name)
    words: dict[str, Any] = {"title": name, "about": name, "command": name}
    everything = results(experiments=[hostile], versions={name: name}, **words)
    everything = dataclasses.replace(everything, failed=[(name, name)])
    path = report.write(everything, tmp_path / "r.html", False)
    assert Page(path.read_text()).texts.count(seen) > 5
    assert name in json.loads((tmp_path / "summary.json").read_text())["title"]


def test_a_report_of_real_runs_has_all_its_parts(written: Path, two_methods: Results) -> None:
    text = written.read_text()
    page = Page(text)
    ids = [a["id"] for _, a in page.elements if "id" in a]
    sections = ["verdict", "curves", "pareto", "statistics", "inspector", "settings", "again"]
    assert [i for i in ids if i in sections] == sections
    assert len(ids) == len(set(ids))
    assert {"base-two-way-curves", "base-two-way-pareto"} <= set(ids)
    assert "policy-inertia study tiny" in text
    assert text.index('id="verdict"') < text.index("<svg")
    for x in two_methods.experiments[0].lines:
        returns = [r["sampled"]["return"] for r in x.results]
        assert RETURN.show(sum(returns) / 2) in page.texts
    assert all("scope" in a for a in page.all("th"))
    assert all(a.get("role") == "img" for a in page.all("svg"))
    assert page.all("html")[0]["lang"] == "en"
    scenes = next(t for t in page.texts if t.startswith('[{"title"'))
    (scene,) = json.loads(scenes)
    assert [s["label"] for s in scene["sides"]] == [
        f"{x.label}, seed {x.seeds[median_run(x)]}" for x in two_methods.experiments[0].lines
    ]
    assert scene["sides"][1]["nested"]


def test_the_report_lists_every_measure_of_the_registry(written: Path) -> None:
    """All but those of movement, heads and masks, which Discrete actions without masks lack."""
    movement = {"action_fluctuation", "sign_reversals", "jerk", "caps_smoothness"}
    shown = set(MEASURES) - movement - {"head_oscillation", "forced_switches"}
    texts = Page(written.read_text()).texts
    assert {MEASURES[name].title for name in shown} <= set(texts)
    lines = (written.parent / "summary.csv").read_text().splitlines()
    assert {row["measure"] for row in csv.DictReader(lines)} == shown


def test_summaries_and_figures_are_written_beside_the_report(written: Path) -> None:
    beside = {p.name for p in written.parent.iterdir()}
    assert beside == {"report.html", "summary.json", "summary.csv", "figures"}
    summary = json.loads((written.parent / "summary.json").read_text())
    assert summary["command"] == "policy-inertia study tiny"
    assert (written.parent / "figures" / "base-two-way-curves.svg").exists()


def test_the_same_results_give_the_same_report(tmp_path: Path) -> None:
    study = small()
    once, again = (report.write(study, tmp_path / d / "r.html", False) for d in "ab")
    assert once.read_bytes() == again.read_bytes()


def test_nothing_is_fetched_and_only_our_script_may_run(written: Path) -> None:
    page = Page(written.read_text())
    assert not page.all("link")
    assert all("src" not in a for a in page.all("script"))
    links = [a for _, attrs in page.elements for k, a in attrs.items() if k in ("src", "href")]
    assert all(re.match(r"#|data:", a or "") for a in links)
    assert "default-src 'none'" in (page.all("meta")[1]["content"] or "")


def test_text_of_a_study_cannot_become_html(tmp_path: Path) -> None:
    evil = dataclasses.replace(line(EVIL, seeds=2, mu=0.5), task=EVIL, env=EVIL)
    bad = ExperimentResults("base", EVIL, EVIL, True, [evil, line("SAC", seeds=2)])
    study = results(
        title=EVIL, about=EVIL, command=EVIL, versions={EVIL: EVIL}, failed=[(EVIL, EVIL)],
        experiments=[bad],
    )  # fmt: skip
    moment = RecordedStep(None, -1, 0, 1.0, 0.0, None, None)
    recording = Recording(
        EVIL, EVIL, 0, False, True, (EVIL, "b"), [moment], None, True, None, False
    )
    path = report.write(study, tmp_path / "r.html", [Scene(EVIL, [recording])])
    page = Page(path.read_text())
    assert len(page.all("script")) == 2  # the data and the inspector
    assert not [a for a in page.all("img") if "onerror" in a]
    assert EVIL in page.texts


def test_nan_is_marked_in_the_table(tmp_path: Path) -> None:
    study = small()
    study.experiments[0].lines[0].results[0]["sampled"] = figures(math.nan, 0.5, 0.1)
    page = Page(report.write(study, tmp_path / "r.html", False).read_text())
    assert "1 of 2 seeds have no finite number" in (page.all("abbr")[0]["title"] or "")
    assert "NaN" in page.texts


def test_a_single_seed_has_no_intervals_and_no_best(tmp_path: Path) -> None:
    lines = [line("SAC", seeds=1), line("NSAC", seeds=1, mu=0.5)]
    study = results(experiments=[experiment(*lines)])
    text = report.write(study, tmp_path / "r.html", False).read_text()
    assert "one seed: no interval" in text
    assert 'class="best"' not in text


def test_the_papers_statistic_calls_nothing_best(tmp_path: Path) -> None:
    lines = [line("SAC", oscillation=0.9), line("NSAC", oscillation=0.1, mu=0.5)]
    study = results(experiments=[experiment(*lines)])
    ours, papers = (
        report.write(study, tmp_path / s / "r.html", False, s).read_text()
        for s in get_args(Statistic)
    )
    assert 'class="best"' in ours
    assert 'class="best"' not in papers
    assert "half a standard deviation decides nothing" in papers


def test_settings_that_differ_come_before_those_that_do_not(tmp_path: Path) -> None:
    texts = Page(report.write(small(), tmp_path / "r.html", False).read_text()).texts
    same = texts.index("the same for all")
    assert texts.index("config.mu0") < same < texts.index("config.temperature")
    assert "[64, 64]" in texts


def test_a_report_of_nothing_or_to_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no finished run"):
        report.write(results(experiments=[]), tmp_path / "r.html")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file: give a folder"):
        report.write(small(), tmp_path / "file" / "r.html", False)


def test_a_lost_policy_costs_only_its_scene(tmp_path: Path) -> None:
    scenes, notes = record_scenes(small())  # its folders do not exist
    assert not scenes
    assert "Two-Way could not be recorded: the policy of SAC is not there" in notes[0]
    text = report.write(small(), tmp_path / "r.html").read_text()
    assert "could not be recorded" in text


def noisy(steps: int) -> Recording:
    """A recording whose frames cannot be compressed."""
    rng, moments = np.random.default_rng(0), []
    for _ in range(steps):
        frame = io.BytesIO()
        image = Image.fromarray(rng.integers(0, 256, (240, 320, 3), dtype=np.uint8))
        image.save(frame, "PNG", compress_level=1)
        moments.append(RecordedStep(frame.getvalue(), -1, 0, 1.0, 0.0, None, None))
    last = moments[0].frame
    return Recording("a", "b", 0, False, False, ("x",), moments, last, True, None, False)


@pytest.mark.parametrize("budget", [200_000, 40_000, 4_000])
def test_frames_fit_into_the_budget(budget: int) -> None:
    text = inspector.element([Scene("s", [noisy(12)])], budget)
    assert len(text) <= budget + 1_000
    script = re.search(r"<script[^>]*>(.*?)</script>", text)
    assert script
    side = json.loads(script[1])[0]["sides"][0]
    # each different frame once: the last frame is the first one again
    assert len(side["frames"]) == (12 if budget > 4_000 else 0)
    assert side["frame"][-1:] == ([0] if budget > 4_000 else [])


def test_the_report_stays_below_its_largest_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspector, "BUDGET", 2_000_000)
    monkeypatch.setattr(report, "LARGEST", 600_000)
    path = report.write(small(), tmp_path / "r.html", [Scene("s", [noisy(30)])])
    assert 300_000 < path.stat().st_size < 600_000


def test_all_text_is_escaped_except_html() -> None:
    assert tag("p", "a<b", Html("<i>"), ["&", None, 3], class_='x"y', hidden=False) == (
        '<p class="x&quot;y">a&lt;b<i>&amp;3</p>'
    )
    assert tag("meta", http_equiv="a") == '<meta http-equiv="a">'
    assert join("<", Html("<")) == "&lt;<"
    assert data({"a": "</script><!--&"}) == (
        '<script type="application/json">{"a":"\\u003c/script\\u003e\\u003c!--\\u0026"}</script>'
    )


def test_counts_have_a_singular_and_a_range() -> None:
    assert count_range([1], "seed") == "1 seed"
    assert count_range([5, 3, 4], "seed") == "3 to 5 seeds"


def test_every_file_of_the_report_is_in_the_package() -> None:
    assert (files("policy_inertia.study.report") / "report.css").is_file()
    for name in ("inspector.js", "inspector.css"):
        assert (files("policy_inertia.study.report.inspector") / name).is_file()
