"""The parts of the package's metadata that depend on where its repository is.

PROJECT_URL is the address of the repository; the release workflow sets it. Without it the project
has no address to give, and the links of README stay relative.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PAPER = "https://doi.org/10.1609/aaai.v35i8.16864"


def project_urls(address: str) -> dict[str, str]:
    """Return the links that the package's page shows."""
    if not address:
        return {"Paper": PAPER}
    return {
        "Homepage": address,
        "Documentation": f"{address}/blob/main/docs/index.md",
        "Changelog": f"{address}/blob/main/CHANGELOG.md",
        "Issues": f"{address}/issues",
        "Paper": PAPER,
    }


def absolute_links(text: str, address: str) -> str:
    """Let the relative links and pictures of README lead to the repository."""
    if not address:
        return text
    text = re.sub(r"(!\[[^]]*\]\()(?!\w+:|#)", rf"\g<1>{address}/raw/main/", text)
    return re.sub(r"((?<!!)\[[^]]*\]\()(?!\w+:|#)", rf"\g<1>{address}/blob/main/", text)


class ProjectMetadata(MetadataHookInterface):
    """Adds `urls` and `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add them to the metadata of pyproject.toml."""
        address = os.environ.get("PROJECT_URL", "").rstrip("/")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        readme = {"content-type": "text/markdown", "text": absolute_links(text, address)}
        metadata["urls"], metadata["readme"] = project_urls(address), readme
