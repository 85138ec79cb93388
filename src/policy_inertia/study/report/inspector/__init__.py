"""The inspector: recorded episodes, one or two policies side by side, step by step in a browser.

Here recordings become data that fits a budget; inspector.js and inspector.css show it.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from PIL import Image

from policy_inertia.evaluation.recording import Recording
from policy_inertia.study.report.html import Html, data, tag

# (width, quality), from fine to coarse: the first one that fits is taken
LADDER = ((560, 80), (480, 72), (400, 65), (320, 60), (240, 50), (180, 40), (120, 30), (80, 20))
BUDGET = 6_000_000


@dataclass(frozen=True)
class Scene:
    """What is shown together: one recording, or two side by side from the same start."""

    title: str
    sides: Sequence[Recording]


def asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def element(scenes: Sequence[Scene], budget: int = BUDGET) -> Html:
    """The inspector of these scenes, to be put in a page with its script and style.

    The frames are scaled to fit `budget` bytes; what does not fit even at the coarsest has none.
    """
    share = budget // max(1, len(scenes))
    packed = [{"title": s.title, "sides": _sides(s, share)} for s in scenes]
    return tag(
        "div",
        data(packed),
        tag("noscript", tag("p", "The inspector needs JavaScript.")),
        class_="inspector",
        tabindex="0",
        role="group",
        aria_label="Inspector of recorded episodes; arrow keys step, space plays, n and p jump",
    )


def _sides(scene: Scene, budget: int) -> list[dict[str, Any]]:
    numbers = [_numbers(r) for r in scene.sides]
    left = budget - sum(len(json.dumps(n)) for n in numbers)
    pictures = [_pictures(r, left // len(scene.sides)) for r in scene.sides]
    return [n | p for n, p in zip(numbers, pictures, strict=True)]


def _numbers(recording: Recording) -> dict[str, Any]:
    def short(values: Any) -> Any:
        return None if values is None else [round(float(v), 4) for v in values]

    if recording.cut:
        end = f"cut after {len(recording.steps)} steps"
    elif recording.crashed:
        end = "crashed"
    else:
        end = "terminated" if recording.terminated else "reached the time limit"
    return {
        "label": recording.label,
        "env": recording.env,
        "actions": recording.actions,
        "sampled": not recording.greedy,
        "nested": recording.nested,
        "end": end,
        "steps": [
            [
                m.previous,
                m.action,
                round(m.reward, 4),
                round(m.mu, 4),
                short(m.core),
                short(m.mixed),
            ]
            for m in recording.steps
        ],
    }


def _pictures(recording: Recording, budget: int) -> dict[str, Any]:
    """Each different frame once, and which of them belongs to which step; the end is the last."""
    shown = [m.frame for m in recording.steps] + [recording.last]
    seen = {frame: None for frame in shown if frame is not None}
    if not seen or None in shown:
        return {"frames": [], "frame": []}
    numbers = {frame: k for k, frame in enumerate(seen)}
    images = [Image.open(io.BytesIO(frame)).convert("RGB") for frame in seen]
    for width, quality in LADDER:
        sample = images[:: max(1, len(images) // 6)]
        average = sum(len(_encode(i, width, quality)) for i in sample) / len(sample)
        if average * len(images) > budget:
            continue
        encoded = [_encode(i, width, quality) for i in images]
        if sum(map(len, encoded)) <= budget:
            return {"frames": encoded, "frame": [numbers[f] for f in shown if f is not None]}
    return {"frames": [], "frame": []}


def _encode(image: Image.Image, width: int, quality: int) -> str:
    if image.width > width:
        image = image.resize((width, max(1, round(image.height * width / image.width))))
    text = io.BytesIO()
    image.save(text, "WEBP", quality=quality, method=2)
    return "data:image/webp;base64," + base64.b64encode(text.getvalue()).decode()
