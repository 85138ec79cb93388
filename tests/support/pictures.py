"""Compare a picture that is made again with a stored one."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import font_manager, ft2font
from PIL import Image

OTHER_PIXELS = 0.001
"""The largest share of pixels that may differ: the last bits of a processor."""


def is_made_again(data: bytes, file: Path) -> bool:
    """Return whether a PNG shows what the stored one does.

    A picture of another version of Matplotlib, or one that would have another font, cannot be
    compared; it counts as the same.
    """
    stored, again = Image.open(file), Image.open(io.BytesIO(data))
    if not _comparable(stored):
        return True
    if stored.size != again.size:
        return False
    other = np.asarray(stored.convert("RGB")) != np.asarray(again.convert("RGB"))
    return float(other.any(-1).mean()) < OTHER_PIXELS


def _comparable(stored: Image.Image) -> bool:
    same = f"Matplotlib version{matplotlib.__version__}," in stored.info.get("Software", "")
    font = Path(font_manager.findfont("DejaVu Sans"))
    own_font = font.is_relative_to(matplotlib.get_data_path())
    return same and own_font and ft2font.__freetype_build_type__ == "local"
