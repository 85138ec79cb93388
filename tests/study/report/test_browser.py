"""The report in a real browser: what it shows, and what the keys and the mouse do."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import Exponential, load_core
from policy_inertia.evaluation.recording import Recording, record
from policy_inertia.planner.known_edges import LABEL
from policy_inertia.policies.policy import Policy
from policy_inertia.run_settings import settings
from policy_inertia.study.analysis import summary
from policy_inertia.study.report import figures
from policy_inertia.study.report import page as report
from policy_inertia.study.report.inspector.element import Scene
from policy_inertia.study.results import ExperimentResults, Results
from policy_inertia.training.session import Session
from tests.support.chase import Chase, follow
from tests.support.synthetic_results import line, results

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ENV = "policy_inertia/TwoWay-v0"
DESKTOP, PHONE = (1280, 900), (390, 844)

pytestmark = pytest.mark.skipif(
    not CHROMIUM, reason="Chromium is not installed: apt-get install chromium to open the report"
)


class Painted(gym.Wrapper[Any, Any, Any, Any]):
    """A task with frames: every step has a colour of its own."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    render_mode = "rgb_array"

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        self.t = 0
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self.t += 1
        return self.env.step(action)

    def render(self) -> np.ndarray:
        return np.full((60, 240, 3), (8 * self.t % 256, 90, 200), np.uint8)


def painted() -> gym.Env[Any, Any]:
    return Painted(gym.make(ENV))


@pytest.fixture(scope="module")
def policies() -> list[Policy]:
    """Untrained policies: their outputs are all that these tests need."""
    sessions = [Session(settings(name, ENV, seed=3), ENV) for name in ("sac", "nsac")]
    return [session.policy() for session in sessions]


@pytest.fixture(scope="module")
def recordings(policies: list[Policy]) -> list[Recording]:
    return [record(p, painted, seed=2, label=p.method.upper())[0] for p in policies]


@pytest.fixture(scope="module")
def study() -> Results:
    lines = [line("SAC", thresholds=(0.1, 1.0)), line("NSAC", 17.5, 0.3, mu=0.5)]
    lines.append(line("<script>document.title = 'owned'</script>", mu=0.4))
    ablation = [line("mu0 = 0", mu=0.4), line("mu0 = 0.5", mu=0.7)]
    return results(
        experiments=[
            ExperimentResults("base", "Base results", "Three.", False, lines),
            ExperimentResults("mu0", "Lower bound", "Two.", True, ablation),
        ]
    )


@pytest.fixture(scope="module")
def written(
    study: Results, recordings: list[Recording], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    scenes = [Scene("Two-Way", recordings), Scene("<b>alone</b>", recordings[1:])]
    return report.write(study, tmp_path_factory.mktemp("browser") / "report.html", scenes)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module", params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def page(browser: Any, written: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The opened report; in the end, no error was logged and nothing was fetched."""
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height})
    opened = context.new_page()
    errors: list[str] = []
    urls: list[str] = []
    opened.on("console", lambda message: errors.append(message.text))
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("request", lambda request: urls.append(request.url))
    opened.goto(written.as_uri())
    yield opened
    assert errors == []
    assert [url for url in urls if not url.startswith("data:")] == [written.as_uri()]
    context.close()


@pytest.fixture
def inspector(page: Any) -> Any:
    element = page.locator(".inspector")
    element.focus()
    page.keyboard.press("Home")
    return element


def step(inspector: Any) -> int:
    return int(inspector.get_attribute("data-step"))


def test_the_page_fits_and_shows_every_figure(page: Any, study: Results) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") == page.viewport_size["width"]
    expected = figures.figures(study, summary.tabulate(study))
    for figure in expected:
        drawn = page.locator(f"#{figure.name} svg")
        assert drawn.count() == len(figure.panels)
        for k in range(drawn.count()):
            box = drawn.nth(k).bounding_box()
            assert box["width"] > 200
            assert box["height"] > 150
            assert drawn.nth(k).get_attribute("role") == "img"
    assert page.locator("figure").count() == len(expected) == 4


def test_text_of_every_chart_is_large_enough_to_read(page: Any) -> None:
    sizes = page.locator("figure svg text").evaluate_all(
        """all => all.map(text => {
          const svg = text.ownerSVGElement;
          const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
          return parseFloat(getComputedStyle(text).fontSize) * scale;
        })"""
    )
    assert len(sizes) > 50
    assert min(sizes) >= 11  # pixels


def test_tables_of_the_verdict_are_not_cut(page: Any) -> None:
    tables = page.locator("#verdict .wide")
    assert tables.count() == 2
    cut = tables.evaluate_all("all => all.map(box => box.scrollWidth - box.clientWidth)")
    assert cut == [0, 0]


def test_names_of_a_figure_stand_in_its_key(page: Any) -> None:
    *names, planner = page.locator("#base-two-way-pareto .key li").all_inner_texts()
    assert planner == f"━{LABEL}"
    assert names == ["●SAC", "■NSAC", "◆<script>document.title = 'owned'</script>"]


def test_player_does_not_cover_the_strips(page: Any, inspector: Any) -> None:
    times = inspector.locator(".time")
    assert times.count() == 2
    for block in ("start", "end", "center"):
        uncovered = times.evaluate_all(
            f"""all => all.map(time => {{
              time.scrollIntoView({{block: "{block}", behavior: "instant"}});
              const strip = time.querySelector(".strip").getBoundingClientRect();
              const x = strip.left + strip.width / 2, y = strip.top + strip.height / 2;
              return time.contains(document.elementFromPoint(x, y));
            }})"""
        )
        assert uncovered == [True, True], block


def test_text_of_a_study_cannot_run(page: Any, study: Results) -> None:
    assert page.title() == study.title
    assert page.get_by_text("<script>document.title = 'owned'</script>").count() > 0


def test_keys_step_and_the_shown_mu_is_the_policys(
    page: Any, inspector: Any, policies: list[Policy], recordings: list[Recording]
) -> None:
    mixed = inspector.locator(".side").nth(1)
    env = gym.make(ENV)
    obs, _ = env.reset(seed=recordings[1].seed)
    previous = -1
    for t, moment in enumerate(recordings[1].steps[:6]):
        assert step(inspector) == t
        mu = float(policies[1].inertia(obs, previous))
        assert float(mixed.get_attribute("data-mu")) == pytest.approx(mu, abs=1e-4)
        if t:
            text = mixed.locator(".mu-text").inner_text()
            # the page rounds what it got with four digits
            assert float(text.rpartition("mu ")[2]) == pytest.approx(mu, abs=6e-4)
            solid = mixed.locator(".controller line[stroke-dasharray]").count() == 0
            assert solid == (mu >= 0.5)
        shown = mixed.locator(".bars i.of-mixed").evaluate_all("all => all.map(i => i.style.width)")
        pi = policies[1].probabilities(obs, previous)
        assert [float(w.rstrip("%")) for w in shown] == pytest.approx(100 * pi, abs=0.06)
        chosen = mixed.locator("tr.chosen th").inner_text()
        assert chosen.startswith(recordings[1].actions[moment.action])
        obs, *_ = env.step(moment.action)
        previous = moment.action
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert step(inspector) == 5


def test_n_and_p_jump_to_switches(page: Any, inspector: Any, recordings: list[Recording]) -> None:
    switches = sorted({t for r in recordings for t, m in enumerate(r.steps) if m.switched})
    for t in switches[:3]:
        page.keyboard.press("n")
        assert step(inspector) == t
        assert "switches from" in inspector.locator(".sides").inner_text()
    page.keyboard.press("p")
    assert step(inspector) == switches[1]


def test_space_plays_and_stops(page: Any, inspector: Any) -> None:
    inspector.locator("select[aria-label='steps per second']").select_option("20")
    inspector.focus()
    page.keyboard.press(" ")
    for _ in range(100):  # wait_for_function needs eval, which the page forbids
        if step(inspector) >= 3:
            break
        page.wait_for_timeout(50)
    assert step(inspector) >= 3
    assert inspector.locator(".play").inner_text() == "Pause"
    page.keyboard.press(" ")
    stopped = step(inspector)
    page.wait_for_timeout(200)
    assert step(inspector) == stopped
    assert inspector.locator(".play").inner_text() == "Play"


def test_the_mouse_points_clicks_and_drags(
    page: Any, inspector: Any, recordings: list[Recording]
) -> None:
    length = max(len(r.steps) for r in recordings)
    strip = inspector.locator(".strip").nth(1)
    strip.scroll_into_view_if_needed()
    box = strip.bounding_box()
    for t in (0, length // 2, length - 1):
        page.mouse.move(box["x"] + (t + 0.5) * box["width"] / length, box["y"] + 4)
        assert step(inspector) == t
    inspector.get_by_role("button", name="one step back").click()
    assert step(inspector) == length - 2
    inspector.get_by_role("button", name="previous switch").click()
    before = [t for r in recordings for t, m in enumerate(r.steps) if m.switched and t < length - 2]
    assert step(inspector) == max(before)
    inspector.get_by_role("slider").fill("2")
    assert step(inspector) == 2
    inspector.get_by_role("button", name="one step forward").click()
    assert step(inspector) == 3


def test_the_end_of_an_episode_is_shown(
    page: Any, inspector: Any, recordings: list[Recording]
) -> None:
    page.keyboard.press("End")
    assert inspector.locator(".where").inner_text() == "the end"
    assert "and the episode" in inspector.locator(".outcome").first.inner_text()
    shown = inspector.locator("h4 span").nth(1).inner_text()
    assert shown == f"return {recordings[1].return_:.2f}"


def test_frames_follow_the_steps(page: Any, inspector: Any) -> None:
    image = inspector.locator("img.frame").first
    sources = set()
    for _ in range(3):
        sources.add(image.get_attribute("src"))
        page.keyboard.press("ArrowRight")
    assert len(sources) == 3
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 240
    assert image.get_attribute("alt") == "painted, step 3"


def test_another_scene_can_be_chosen(page: Any, inspector: Any) -> None:
    inspector.locator("select.scene").select_option("<b>alone</b>")
    assert inspector.locator(".side").count() == 1
    inspector.locator("select.scene").select_option("Two-Way")
    assert inspector.locator(".side").count() == 2


def test_every_control_is_reached_by_tab(page: Any) -> None:
    page.evaluate("document.body.focus()")
    focused = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        focused.add(
            page.evaluate("document.activeElement.className || document.activeElement.tagName")
        )
    assert {"inspector", "play", "SUMMARY", "wide"} <= focused


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(browser: Any, written: Path, scheme: str) -> None:
    page = browser.new_page(color_scheme=scheme)
    page.goto(written.as_uri())

    def brightness(what: str, of: str) -> float:
        colour = page.evaluate(f"getComputedStyle(document.querySelector('{what}')).{of}")
        return sum(float(n) for n in re.findall(r"[\d.]+", colour)[:3]) / 3

    for what in ("body", "figure svg", ".lead"):
        apart = brightness(what, "color") - brightness("body", "backgroundColor")
        assert (apart > 100) if scheme == "dark" else (apart < -100)
    page.close()


def test_continuous_actions_are_shown_as_one_line_for_each_number(
    browser: Any, study: Results, tmp_path: Path
) -> None:
    core = load_core(follow, Chase)
    before, after = (
        record(policy, Chase, frames=False, label=label)[0]
        for label, policy in (("before", core), ("after", core.with_filter(Exponential(0.2))))
    )
    path = report.write(study, tmp_path / "report.html", [Scene("calm", [before, after])])
    opened = browser.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto(path.as_uri())
    lines = opened.locator(".inspector .traces polyline")
    assert lines.count() == 4
    points = [tuple(map(float, p.split(","))) for p in lines.first.get_attribute("points").split()]
    expected = [(t + 0.5, 0.5 - s.action[0] / 2) for t, s in enumerate(before.steps)]
    np.testing.assert_allclose(points, expected, atol=1e-4)
    element = opened.locator(".inspector")
    assert "starts at" in element.locator(".outcome").first.inner_text()
    element.focus()
    opened.keyboard.press("ArrowRight")
    moved = f"moves by {100 * before.steps[1].moved:.1f}% of its range to"
    assert moved in element.locator(".outcome").first.inner_text()
    opened.keyboard.press("n")
    assert step(element) == 2
    names = [text.strip() for text in element.locator(".key li").all_inner_texts()]
    assert names == ["number 0", "number 1"]
    mean = np.mean([s.moved for s in after.steps[1:]])
    assert f"after: moves by {100 * mean:.1f}% of its range per step" in element.inner_text()
    assert errors == []
    opened.close()
