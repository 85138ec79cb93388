"""The notebooks as pages of the site, with the outputs that are stored in them."""

import base64
import json
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def output_of(output: dict[str, Any], picture: str) -> tuple[str, bytes | None]:
    """Return the Markdown of one output of a cell, and the picture that it shows."""
    data = output.get("data", {})
    if "image/png" in data:
        return f"![A picture that the cell draws]({picture})", base64.b64decode(data["image/png"])
    text = "".join(output.get("text", data.get("text/plain", []))).strip("\n")
    return (f"```text\n{text}\n```" if text else ""), None


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page, its pictures and the notebook itself for each notebook."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        text = path.read_text()
        parts = [f"*Download: [{path.name}]({path.name})*"]
        for k, cell in enumerate(json.loads(text)["cells"]):
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                parts.insert(0, source) if k == 0 else parts.append(source)
                continue
            parts.append(f"```python\n{source}\n```")
            for i, output in enumerate(cell["outputs"]):
                name = f"{path.stem}-{k}-{i}.png"
                shown, picture = output_of(output, name)
                parts.append(shown)
                if picture:
                    files.append(File.generated(config, f"notebooks/{name}", content=picture))
        content = "\n\n".join(part for part in parts if part)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=content))
        files.append(File.generated(config, f"notebooks/{path.name}", content=text))
    return files
