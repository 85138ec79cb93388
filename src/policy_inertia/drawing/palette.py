"""Colours and markers that readers with any colour vision can tell apart."""

from __future__ import annotations

import colorsys

# the palette of Okabe and Ito; yellow and black come last
COLOURS = ("#0072B2", "#E69F00", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000", "#F0E442")
MARKERS = "osD^vPX*"
INK = "#1B1F24"  # axes and text
READABLE = 4.5  # contrast of text with its background, as WCAG asks for


def colour(i: int) -> str:
    """Return the colour of the i-th line."""
    return COLOURS[i % len(COLOURS)]


def text_colour(line: str) -> str:
    """Return the same hue as a line's colour, dark enough for text on white."""
    r, g, b = (int(line[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, light, saturation = colorsys.rgb_to_hls(r, g, b)
    while 1.05 / (_luminance(r, g, b) + 0.05) < READABLE:
        light *= 0.96
        r, g, b = colorsys.hls_to_rgb(hue, light, saturation)
    return "#" + "".join(f"{round(255 * c):02x}" for c in (r, g, b))


def _luminance(*rgb: float) -> float:
    """Relative luminance of an sRGB colour, as WCAG defines it."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
