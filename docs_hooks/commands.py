"""The page of the command line: what every command says with --help."""

import os
import re
import subprocess
import sys

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

PAGE = "reference/commands.md"
MARK = "<!-- commands -->"
ENVIRONMENT = os.environ | {"COLUMNS": "88", "NO_COLOR": "1", "TERM": "dumb"}
EXAMPLES = {"train": ["nsac"]}
"""Words that a command needs before it explains its flags."""


def help_of(*words: str) -> str:
    """Return what a command says with --help."""
    command = [sys.executable, "-m", "policy_inertia", *words, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr}")
    return done.stdout.strip()


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the help of every command where the page has its mark."""
    if page.file.src_uri != PAGE:
        return markdown
    overview = help_of()
    names = list(dict.fromkeys(re.findall(r"^ +policy-inertia ([a-z-]+)", overview, re.M)))
    parts = [f"```text\n{overview}\n```"]
    for name in names:
        words = [name, *EXAMPLES.get(name, [])]
        parts.append(f"## {name}\n\n```text\n{help_of(*words)}\n```")
    return markdown.replace(MARK, "\n\n".join(parts))
