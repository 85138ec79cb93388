"""Recorded episodes as an HTML element; inspector.js and inspector.css show it."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from PIL import Image

from policy_inertia.evaluation.recording import RecordedStep, Recording
from policy_inertia.study.report.html import Html, data, tag

# (width, quality) of the frames from fine to coarse: the first pair that fits is used
LADDER = ((560, 80), (480, 72), (400, 65), (320, 60), (240, 50), (180, 40), (120, 30), (80, 20))
BUDGET = 6_000_000  # bytes


@dataclass(frozen=True)
class Scene:
    """Recordings that are shown together: one, or two from the same start."""

    title: str
    sides: Sequence[Recording]


def asset(name: str) -> str:
    """Return the text of a file of this folder."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def element(scenes: Sequence[Scene], budget: int = BUDGET) -> Html:
    """Return the inspector of these scenes; the page must hold its script and style.

    The frames are scaled until they fit into `budget` bytes. If they do not fit at the coarsest
    scale, the scene has no frames.
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
    frames = [_frames(r, left // len(scene.sides)) for r in scene.sides]
    return [n | f for n, f in zip(numbers, frames, strict=True)]


def _numbers(recording: Recording) -> dict[str, Any]:
    """Return everything but the frames, rounded."""

    def rounded(values: Any) -> Any:
        return None if values is None else [round(float(v), 4) for v in values]

    if recording.cut:
        end = f"cut after {len(recording.steps)} steps"
    elif recording.crashed:
        end = "crashed"
    else:
        end = "terminated" if recording.terminated else "reached the time limit"
    steps = [
        [*_actions(m), *rounded([m.reward, m.mu]), rounded(m.core), rounded(m.mixed)]
        + ([] if recording.actions else rounded([m.moved]))
        for m in recording.steps
    ]
    return {
        "label": recording.label,
        "env": recording.env,
        "actions": recording.actions,
        "sampled": not recording.greedy,
        "nested": recording.nested,
        "end": end,
        "steps": steps,
    }


def _actions(step: RecordedStep) -> list[Any]:
    """Previous action (None at first) and action; continuous ones as shares of their range."""
    if not isinstance(step.action, list):
        return [step.previous, step.action]
    pair = (None if step.first else step.previous, step.action)
    return [a and [round((float(x) + 1) / 2, 4) for x in np.ravel(a)] for a in pair]


def _frames(recording: Recording, budget: int) -> dict[str, Any]:
    """Return each different frame once, and the number of the frame of each step and of the end."""
    shown = [m.frame for m in recording.steps] + [recording.last]
    different = {frame: None for frame in shown if frame is not None}
    if not different or None in shown:
        return {"frames": [], "frame": []}
    numbers = {frame: k for k, frame in enumerate(different)}
    images = [Image.open(io.BytesIO(frame)).convert("RGB") for frame in different]
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
