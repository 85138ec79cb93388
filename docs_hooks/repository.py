"""Pages and files of the repository outside docs/, as pages of the site.

The Markdown in docs/ links to CONTRIBUTING.md, to source files and to records, as one does on
GitHub. Here each of them becomes a page too, and the links lead to it.
"""

import os
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(?=[)#])")
FENCED = re.compile(r"(^```.*?^```)", re.M | re.S)
FRONT_PAGES = {"README.md": "index.md"}
TITLED = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
LANGUAGES = {".py": "python", ".json": "json", ".toml": "toml"}
LONGEST = 30_000
"""Characters of a file that a page shows."""


def page_of(path: str) -> str:
    """Return the page of the site that shows a file of the repository."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path in FRONT_PAGES or path in TITLED:
        return FRONT_PAGES.get(path, path)
    return f"repository/{path}" if path.endswith(".md") else f"repository/{path}.md"


def links_of(text: str, folder: str) -> dict[str, str]:
    """Return the relative links of a page and the files of the repository that they lead to."""
    prose = FENCED.sub("", text)
    links = {link for link in LINK.findall(prose) if not re.match(r"\w+:|/", link)}
    return {link: posixpath.normpath(posixpath.join(folder, link)) for link in links}


def content_of(path: Path, name: str) -> str:
    """Return the Markdown of a page that shows a file or lists a folder."""
    if path.suffix == ".md":
        return path.read_text()
    hidden = "---\nsearch:\n  exclude: true\n---\n"
    if path.is_dir():
        rows = "\n".join(f"- `{file.name}`" for file in sorted(path.iterdir()) if file.is_file())
        return f"{hidden}# {name}\n\n{rows}\n"
    text = path.read_text()
    cut = "\n\nThe page shows the beginning of the file.\n" if len(text) > LONGEST else ""
    language = LANGUAGES.get(path.suffix, "text")
    return f"{hidden}# {name}\n\n````{language}\n{text[:LONGEST]}\n````\n{cut}"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for every file of the repository that some page links to."""
    waiting = {f"docs/{file.src_uri}" for file in files if file.src_uri.endswith(".md")}
    waiting |= set(TITLED)
    seen: set[str] = set()
    while waiting:
        path = waiting.pop()
        seen.add(path)
        file = ROOT / path
        if not path.startswith("docs/"):
            files.append(File.generated(config, page_of(path), content=content_of(file, path)))
        if path.endswith(".md"):
            links = links_of(file.read_text(), posixpath.dirname(path)).values()
            outside = {link for link in links if not link.startswith(("docs/", ".."))}
            waiting |= {link for link in outside - {*FRONT_PAGES} - seen if (ROOT / link).exists()}
    return files


def source_of(page: str) -> str | None:
    """Return the file of the repository behind a page of the site, or None."""
    if page in TITLED:
        return page
    if page.startswith("repository/"):
        return page.removeprefix("repository/")
    return f"docs/{page}" if (ROOT / "docs" / page).exists() else None


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let the links of a page lead to pages of the site."""
    here = page.file.src_uri
    source = source_of(here)
    if source is None:
        return markdown
    places = links_of(markdown, posixpath.dirname(source))
    folder = posixpath.dirname(here) or "."

    def replaced(match: re.Match[str]) -> str:
        place = places.get(match[1])
        outside = place is not None and not place.startswith(("docs/", ".."))
        if place is None or (source.startswith("docs/") and not outside):
            return match[1]
        return os.path.relpath(page_of(place), folder)

    parts = FENCED.split(markdown)
    return "".join(p if p.startswith("```") else LINK.sub(replaced, p) for p in parts)
