"""The documentation site: built without warnings, whole, and readable in a real browser."""

import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import policy_inertia as pi
from policy_inertia.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
DESKTOP, PHONE = (1280, 900), (390, 844)
OPENED = (
    "index.html",
    "start.html",
    "limits.html",
    "reference/policies.html",
    "notebooks/frontier.html",
    "CONTRIBUTING.html",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a warning stops the build."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


class Links(HTMLParser):
    """The addresses, the fetched files and the ids of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in ("img", "script", "link") and values.get("rel") != "canonical":
            self.fetched += [values[name] for name in ("src", "href") if name in values]


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Links]:
    """Every page of the site."""
    return {path: Links(path.read_text()) for path in site.rglob("*.html")}


def test_every_page_of_the_docs_is_a_page_of_the_site(site: Path) -> None:
    docs = ROOT / "docs"
    sources = [path.relative_to(docs) for path in docs.rglob("*.md")]
    assert len(sources) > 25
    missing = [path for path in sources if not (site / path.with_suffix(".html")).exists()]
    assert missing == []


def test_every_link_of_the_site_leads_to_a_page_and_a_heading(
    site: Path, pages: dict[Path, Links]
) -> None:
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        for link in page.links + page.fetched:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            whole = target.is_file() or (target / "index.html").is_file()
            anchor = unquote(parts.fragment)
            if whole and anchor and target in pages and anchor not in pages[target].ids:
                whole = anchor == "__skip" or anchor.startswith("__")
            if not whole:
                broken.append((path.relative_to(site).as_posix(), link))
    assert broken == []


def test_the_site_fetches_nothing_from_other_servers(pages: dict[Path, Links]) -> None:
    files = {file for page in pages.values() for file in page.fetched}
    assert [file for file in files if urlsplit(file).netloc] == []


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    text = "".join(path.read_text() for path in (site / "reference").glob("*.html"))
    names = {name.rsplit(".", 1)[-1] for name in re.findall(r'id="(policy_inertia\.[\w.]+)"', text)}
    assert set(pi.__all__) - names == set()


def test_the_page_of_the_command_line_has_every_command(site: Path) -> None:
    page = Links((site / "reference" / "commands.html").read_text())
    assert set(COMMANDS) - page.ids == set()


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site on a server of this machine: its search needs one."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not CHROMIUM:
        pytest.skip("Chromium is not installed: apt-get install chromium to open the site")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def page(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page of the browser; in the end, no error was logged and nothing else was fetched."""
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(60_000)
    opened = context.new_page()
    errors: list[str] = []
    urls: list[str] = []
    opened.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("request", lambda request: urls.append(request.url))
    yield opened
    assert errors == []
    assert [url for url in urls if not url.startswith((address, "data:", "blob:"))] == []
    context.close()


def test_pages_fit_the_width_and_show_their_pictures(page: Any, address: str) -> None:
    for name in OPENED:
        page.goto(f"{address}/{name}")
        assert page.locator("article h1").count() == 1, name
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
        broken = "all => all.filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        assert page.locator("article img").evaluate_all(broken) == [], name


def test_search_finds_a_page(page: Any, address: str) -> None:
    page.goto(f"{address}/index.html")
    if page.viewport_size["width"] == PHONE[0]:
        page.locator("label.md-header__button[for=__search]").click()
    field = page.locator("input[data-md-component=search-query]")
    field.click()
    field.press_sequentially("hysteresis threshold")
    page.locator(".md-search-result__item").first.wait_for()
    assert "matching" in page.locator(".md-search-result__meta").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_site_follows_the_readers_theme(page: Any, address: str, theme: str) -> None:
    page.emulate_media(color_scheme=theme)
    page.goto(f"{address}/index.html")
    colour = page.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")
    brightness = sum(int(n) for n in re.findall(r"\d+", colour)[:3])
    assert (brightness > 600) == (theme == "light")
