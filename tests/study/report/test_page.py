import csv
import dataclasses
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from policy_inertia import InputError
from policy_inertia.evaluation.recording import RecordedStep, Recording
from policy_inertia.study.report import inspector
from policy_inertia.study.report import page as report
from policy_inertia.study.report.html import Html, data, join, tag
from policy_inertia.study.report.inspector import Scene, scenes
from policy_inertia.study.results import Experiment
from tests.support.synthetic_results import figures, results, series

EVIL = "<script>alert('owned')</script><img src=x onerror=alert(1)>\"&"


class Page(HTMLParser):
    """Collects a page's elements and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, name):
        return [attributes for tag, attributes in self.elements if tag == name]


@pytest.fixture(scope="module")
def written(tiny, tmp_path_factory) -> Path:
    return report.write(tiny, tmp_path_factory.mktemp("report") / "report.html")


def small(**changes):
    lines = [series("SAC", seeds=2), series("NSAC", mu=0.5, seeds=2)]
    return results(experiments=[Experiment("base", "Base", "", False, lines)], **changes)


def test_report_of_real_runs_has_all_its_parts(written, tiny):
    text = written.read_text()
    page = Page(text)
    ids = [a["id"] for _, a in page.elements if "id" in a]
    sections = ["verdict", "curves", "pareto", "statistics", "inspector", "settings", "again"]
    assert [i for i in ids if i in sections] == sections
    assert len(ids) == len(set(ids))
    assert {"base-two-way-curves", "base-two-way-pareto"} <= set(ids)
    assert "policy-inertia study tiny" in text
    assert text.index('id="verdict"') < text.index("<svg")
    for s in tiny.experiments[0].series:
        ret = [r["sampled"]["return"] for r in s.results]
        assert f"{sum(ret) / 2:.1f}" in page.texts
    assert all("scope" in a for a in page.all("th"))
    assert all(a.get("role") == "img" for a in page.all("svg"))
    assert page.all("html")[0]["lang"] == "en"
    inside = next(t for t in page.texts if t.startswith('[{"title"'))
    (scene,) = json.loads(inside)
    assert [s["label"] for s in scene["sides"]] == [
        f"{s.label}, seed {s.seeds[_median(s)]}" for s in tiny.experiments[0].series
    ]
    assert scene["sides"][1]["nested"]


def _median(s) -> int:
    returns = [r["sampled"]["return"] for r in s.results]
    return returns.index(min(returns))  # of two, the lower


def test_summaries_and_figures_lie_beside_it(written):
    beside = {p.name for p in written.parent.iterdir()}
    assert beside == {"report.html", "summary.json", "summary.csv", "figures"}
    listed = json.loads((written.parent / "summary.json").read_text())
    assert listed["command"] == "policy-inertia study tiny"
    lines = (written.parent / "summary.csv").read_text().splitlines()
    assert len(list(csv.DictReader(lines))) > 10
    assert (written.parent / "figures" / "base-two-way-curves.svg").exists()


def test_same_results_same_report(tmp_path):
    made = small()
    once, again = (report.write(made, tmp_path / d / "r.html", False) for d in "ab")
    assert once.read_bytes() == again.read_bytes()


def test_nothing_is_fetched_and_only_our_script_may_run(written):
    text = written.read_text()
    page = Page(text)
    assert not page.all("link")
    assert all("src" not in a for a in page.all("script"))
    fetched = [a for _, attrs in page.elements for k, a in attrs.items() if k in ("src", "href")]
    assert all(re.match(r"#|data:", a) for a in fetched)
    assert "default-src 'none'" in page.all("meta")[1]["content"]


def test_text_cannot_become_html(tmp_path):
    bad = dataclasses.replace(series(EVIL, seeds=2, mu=0.5), task=EVIL, env=EVIL)
    experiment = Experiment("base", EVIL, EVIL, True, [bad, series("SAC", seeds=2)])
    made = results(
        title=EVIL, about=EVIL, command=EVIL, versions={EVIL: EVIL}, failed=[(EVIL, EVIL)],
        experiments=[experiment],
    )  # fmt: skip
    moment = RecordedStep(None, -1, 0, 1.0, 0.0, None, None)
    recording = Recording(
        EVIL, EVIL, 0, False, True, (EVIL, "b"), [moment], None, True, None, False
    )
    path = report.write(made, tmp_path / "r.html", [Scene(EVIL, [recording])])
    page = Page(path.read_text())
    assert len(page.all("script")) == 2  # the data and the inspector
    assert not [a for a in page.all("img") if "onerror" in a]
    assert EVIL in page.texts


def test_nan_is_marked_in_the_table(tmp_path):
    made = small()
    made.experiments[0].series[0].results[0]["sampled"] = figures(math.nan, 0.5, 0.1)
    page = Page(report.write(made, tmp_path / "r.html", False).read_text())
    assert "1 of 2 seeds have no finite number" in page.all("abbr")[0]["title"]
    assert "NaN" in page.texts


def test_single_seed_is_reported_without_intervals_or_best(tmp_path):
    lines = [series("SAC", seeds=1), series("NSAC", seeds=1, mu=0.5)]
    made = results(experiments=[Experiment("base", "Base", "", False, lines)])
    text = report.write(made, tmp_path / "r.html", False).read_text()
    assert "one seed: no interval" in text
    assert 'class="best"' not in text


def test_papers_statistic_calls_nothing_best(tmp_path):
    lines = [series("SAC", osc=0.9), series("NSAC", osc=0.1, mu=0.5)]
    made = results(experiments=[Experiment("base", "Base", "", False, lines)])
    ours, papers = (
        report.write(made, tmp_path / s / "r.html", False, s).read_text() for s in ("iqm", "paper")
    )
    assert 'class="best"' in ours
    assert 'class="best"' not in papers
    assert "half a standard deviation decides nothing" in papers


def test_settings_that_differ_are_apart_from_those_that_do_not(tmp_path):
    page = Page(report.write(small(), tmp_path / "r.html", False).read_text())
    texts = page.texts
    same = texts.index("the same in all")
    assert texts.index("config.mu0") < same < texts.index("config.temperature")
    assert "[64, 64]" in texts


def test_nothing_to_report_is_said(tmp_path):
    with pytest.raises(InputError, match="no finished run"):
        report.write(results(experiments=[]), tmp_path / "r.html")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="choose another place"):
        report.write(small(), tmp_path / "file" / "r.html", False)


def test_lost_policies_cost_only_their_scene(tmp_path):
    found, notes = scenes.choose(small())  # its folders do not exist
    assert not found
    assert "Two-Way could not be recorded: there is no file" in notes[0]
    text = report.write(small(), tmp_path / "r.html").read_text()
    assert "could not be recorded" in text


def test_before_and_after_share_a_core_where_they_can():
    dqn, sac = series("DQN"), series("SAC")
    nsac, ndqn = series("NSAC", mu=0.5), series("NDQN", mu=0.5)
    choose = scenes.before_and_after
    assert choose([dqn, sac, nsac]) == [sac, nsac]
    assert choose([sac, dqn, ndqn]) == [dqn, ndqn]
    assert choose([nsac]) == [nsac]
    assert choose([dqn, sac]) == [dqn, sac]
    assert choose([]) == []


def noisy(steps: int) -> Recording:
    """Frames that cannot be compressed."""
    import io

    import numpy as np
    from PIL import Image

    rng, moments = np.random.default_rng(0), []
    for _ in range(steps):
        frame = io.BytesIO()
        image = Image.fromarray(rng.integers(0, 256, (240, 320, 3), dtype=np.uint8))
        image.save(frame, "PNG", compress_level=1)
        moments.append(RecordedStep(frame.getvalue(), -1, 0, 1.0, 0.0, None, None))
    last = moments[0].frame
    return Recording("a", "b", 0, False, False, ("x",), moments, last, True, None, False)


@pytest.mark.parametrize("budget", [200_000, 40_000, 4_000])
def test_frames_fit_the_budget(budget):
    recording = noisy(12)
    text = inspector.element([Scene("s", [recording])], budget)
    assert len(text) <= budget + 1_000
    frames = json.loads(re.search(r"<script[^>]*>(.*?)</script>", text)[1])[0]["sides"][0]
    # each different frame once: the last one is the first again
    assert len(frames["frames"]) == (12 if budget > 4_000 else 0)
    assert frames["frame"][-1:] == ([0] if budget > 4_000 else [])


def test_report_stays_under_ten_megabytes(tmp_path, monkeypatch):
    monkeypatch.setattr(inspector, "BUDGET", 2_000_000)
    monkeypatch.setattr(report, "LARGEST", 600_000)
    path = report.write(small(), tmp_path / "r.html", [Scene("s", [noisy(30)])])
    assert 300_000 < path.stat().st_size < 600_000


def test_markup_escapes_all_but_html():
    assert tag("p", "a<b", Html("<i>"), ["&", None, 3], class_='x"y', hidden=False) == (
        '<p class="x&quot;y">a&lt;b<i>&amp;3</p>'
    )
    assert tag("meta", http_equiv="a") == '<meta http-equiv="a">'
    assert join("<", Html("<")) == "&lt;<"
    assert data({"a": "</script><!--&"}) == (
        '<script type="application/json">{"a":"\\u003c/script\\u003e\\u003c!--\\u0026"}</script>'
    )


def test_everything_the_report_needs_is_in_the_package():
    from importlib.resources import files

    assert (files("policy_inertia.study") / "report.css").is_file()
    for name in ("inspector.js", "inspector.css"):
        assert (files("policy_inertia.study.inspector") / name).is_file()
