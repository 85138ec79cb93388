"""The report in a real browser: what a reader sees, and what the keys and the mouse do."""

import re
import shutil

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia.evaluation.recording import record
from policy_inertia.settings import settings
from policy_inertia.study.analysis import summary
from policy_inertia.study.report import figures
from policy_inertia.study.report import page as report
from policy_inertia.study.report.inspector import Scene
from policy_inertia.study.results import Experiment
from policy_inertia.training.session import Session
from tests.support.synthetic_results import results, series

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


class Painted(gym.Wrapper):
    """A task with a picture: every frame has a colour of its own."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    render_mode = "rgb_array"

    def reset(self, **kwargs):
        self.t = 0
        return self.env.reset(**kwargs)

    def step(self, action):
        self.t += 1
        return self.env.step(action)

    def render(self):
        return np.full((60, 240, 3), (8 * self.t % 256, 90, 200), np.uint8)


def painted() -> gym.Env:
    return Painted(gym.make(ENV))


@pytest.fixture(scope="module")
def policies():
    """New ones, untrained: what they say is all that is asked of them here."""
    sessions = [Session(settings(name, ENV, seed=3), ENV) for name in ("sac", "nsac")]
    return [session.policy() for session in sessions]


@pytest.fixture(scope="module")
def recordings(policies):
    return [record(p, painted, seed=2, label=p.method.upper())[0] for p in policies]


@pytest.fixture(scope="module")
def made():
    lines = [series("SAC", thresholds=(0.1, 1.0)), series("NSAC", 17.5, 0.3, mu=0.5)]
    lines.append(series("<script>document.title = 'owned'</script>", mu=0.4))
    ablation = [series("mu0 = 0", mu=0.4), series("mu0 = 0.5", mu=0.7)]
    return results(
        experiments=[
            Experiment("base", "Base results", "Three.", False, lines),
            Experiment("mu0", "Lower bound", "Two.", True, ablation),
        ]
    )


@pytest.fixture(scope="module")
def written(made, recordings, tmp_path_factory):
    both = [Scene("Two-Way", recordings), Scene("<b>alone</b>", recordings[1:])]
    return report.write(made, tmp_path_factory.mktemp("browser") / "report.html", both)


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module", params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def page(browser, written, request):
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height})
    opened = context.new_page()
    opened.trouble, opened.asked = [], []
    opened.on("console", lambda message: opened.trouble.append(message.text))
    opened.on("pageerror", lambda error: opened.trouble.append(str(error)))
    opened.on("request", lambda request: opened.asked.append(request.url))
    opened.goto(written.as_uri())
    yield opened
    assert opened.trouble == []
    assert [url for url in opened.asked if not url.startswith("data:")] == [written.as_uri()]
    context.close()


@pytest.fixture
def inspector(page):
    found = page.locator(".inspector")
    found.focus()
    page.keyboard.press("Home")
    return found


def step(inspector) -> int:
    return int(inspector.get_attribute("data-step"))


def test_page_fits_and_every_figure_is_there(page, made):
    assert page.evaluate("document.documentElement.scrollWidth") == page.viewport_size["width"]
    expected = figures.figures(made, summary.tabulate(made))
    for figure in expected:
        drawn = page.locator(f"#{figure.name} svg")
        assert drawn.count() == len(figure.panels)
        for k in range(drawn.count()):
            box = drawn.nth(k).bounding_box()
            assert box["width"] > 200
            assert box["height"] > 150
            assert drawn.nth(k).get_attribute("role") == "img"
    assert page.locator("figure").count() == len(expected) == 4
    # words are large enough to be read on a phone, too
    tick = page.locator("#base-two-way-curves svg text").first.bounding_box()
    assert tick["height"] > 7


def test_text_of_a_study_cannot_run(page, made):
    assert page.title() == made.title
    assert page.get_by_text("<script>document.title = 'owned'</script>").count() > 0


def test_keys_step_and_mu_is_the_policys(page, inspector, policies, recordings):
    mixed = inspector.locator(".side").nth(1)
    env = gym.make(ENV)
    obs, _ = env.reset(seed=recordings[1].seed)
    previous = -1
    for t, moment in enumerate(recordings[1].steps[:6]):
        assert step(inspector) == t
        mu = float(policies[1].inertia(obs, previous))
        assert float(mixed.get_attribute("data-mu")) == pytest.approx(mu, abs=1e-4)
        if t:
            assert mixed.locator(".mu-text").inner_text().endswith(f"mu {mu:.3f}")
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


def test_n_and_p_jump_to_switches(page, inspector, recordings):
    switches = sorted({t for r in recordings for t, m in enumerate(r.steps) if m.switched})
    for t in switches[:3]:
        page.keyboard.press("n")
        assert step(inspector) == t
        assert "switches from" in inspector.locator(".sides").inner_text()
    page.keyboard.press("p")
    assert step(inspector) == switches[1]


def test_space_plays_and_stops(page, inspector):
    inspector.locator("select[aria-label='steps a second']").select_option("20")
    inspector.focus()
    page.keyboard.press(" ")
    for _ in range(100):  # the page lets nobody evaluate strings, and so no wait_for_function
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


def test_mouse_points_clicks_and_drags(page, inspector, recordings):
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
    inspector.get_by_role("button", name="one step on").click()
    assert step(inspector) == 3


def test_end_is_shown(page, inspector, recordings):
    page.keyboard.press("End")
    assert inspector.locator(".where").inner_text() == "the end"
    assert "and the episode" in inspector.locator(".outcome").first.inner_text()
    shown = inspector.locator("h4 span").nth(1).inner_text()
    assert shown == f"return {recordings[1].return_:.2f}"


def test_frames_follow_the_steps(page, inspector):
    image = inspector.locator("img.frame").first
    seen = set()
    for _ in range(3):
        seen.add(image.get_attribute("src"))
        page.keyboard.press("ArrowRight")
    assert len(seen) == 3
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 240
    assert image.get_attribute("alt") == "painted, step 3"


def test_other_episode_can_be_chosen(page, inspector):
    inspector.locator("select.scene").select_option("<b>alone</b>")
    assert inspector.locator(".side").count() == 1
    inspector.locator("select.scene").select_option("Two-Way")
    assert inspector.locator(".side").count() == 2


def test_everything_is_reached_by_tab(page):
    page.evaluate("document.body.focus()")
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.add(
            page.evaluate("document.activeElement.className || document.activeElement.tagName")
        )
    assert {"inspector", "play", "SUMMARY", "wide"} <= seen


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_in_light_and_dark(browser, written, scheme):
    page = browser.new_page(color_scheme=scheme)
    page.goto(written.as_uri())

    def brightness(what: str, of: str) -> float:
        colour = page.evaluate(f"getComputedStyle(document.querySelector('{what}')).{of}")
        return sum(float(n) for n in re.findall(r"[\d.]+", colour)[:3]) / 3

    for what in ("body", "figure svg", ".lead"):
        apart = brightness(what, "color") - brightness("body", "backgroundColor")
        assert (apart > 100) if scheme == "dark" else (apart < -100)
    page.close()
