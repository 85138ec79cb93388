"""A study's figures as parts of a page, in the page's own colours."""

from __future__ import annotations

import re

from policy_inertia.drawing.plots import COLOURS, INK, render, text_colour
from policy_inertia.study.analysis.statistics import Statistic
from policy_inertia.study.analysis.summary import Row
from policy_inertia.study.report import figures
from policy_inertia.study.report.html import Html, tag
from policy_inertia.study.results import Results


def pictures(
    results: Results, found: dict[str, list[Row]], statistic: Statistic
) -> dict[str, list[Html]]:
    """The figures by kind, under their experiments' titles."""
    titles = {e.name: e.title for e in results.experiments}
    parts: dict[str, list[Html]] = {"curves": [], "pareto": []}
    headed: set[tuple[str, str]] = set()
    for figure in figures.figures(results, found, statistic):
        place = parts[figure.kind]
        if (figure.kind, figure.experiment) not in headed:
            headed.add((figure.kind, figure.experiment))
            place.append(tag("h3", titles[figure.experiment]))
        panels = [
            _inline(render([p], salt=f"{figure.name}-{k}")[0], f"{figure.alt}: {p.y_label}")
            for k, p in enumerate(figure.panels)
        ]
        caption = tag("figcaption", tag("b", figure.task), f": {figure.caption}")
        place.append(tag("figure", tag("div", panels, class_="panels"), caption, id=figure.name))
    return parts


def _inline(svg: bytes, alt: str) -> Html:
    """A picture as part of the page: named, as wide as its place, in the page's own colours."""
    text = svg.decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    start, end = text.split(">", 1)
    box = re.search(r'viewBox="[^"]*"', start)
    assert box, "Matplotlib writes a viewBox"
    used = set(re.findall(r"#([\w-]+)[)\"]", end))  # other names would be there twice in a page
    end = re.sub(r' id="([^"]*)"', lambda m: m[0] if m[1] in used else "", end)
    for i, line in enumerate(COLOURS):
        if text_colour(line) != line.lower():
            end = end.replace(text_colour(line), f"var(--t{i})")
        end = end.replace(line.lower(), f"var(--s{i})")
    end = end.replace(INK.lower(), "currentColor")
    name = tag("title", alt)
    return Html(f'<svg xmlns="http://www.w3.org/2000/svg" {box[0]} role="img">{name}{end}')
