"""Draw a recording as a GIF or MP4: the env's frame, and below it the actions over time."""

from __future__ import annotations

import io
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from itertools import accumulate, zip_longest
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from policy_inertia.drawing.palette import COLOURS, INK
from policy_inertia.errors import InputError
from policy_inertia.evaluation.recording import RecordedStep, Recording
from policy_inertia.files import make_folder, write_file, writing

KINDS = (".gif", ".mp4")
WINDOW = 60  # most steps that the strip of actions shows
WIDTH, PANEL = 480, 112  # pixels: width of a picture, height of the panel below the frame
MARGIN, ROW, PLOT = 10, 18, 34  # pixels: at the sides, height of the strip, height of mu's plot
TRACES = 74  # pixels: height of the plot of continuous actions
PAPER, FAINT, RULE, RED = "#ffffff", "#8b949e", "#d0d7de", "#D55E00"


def check_path(path: Path) -> None:
    """Raise an `InputError` if no recording can be written to this path.

    Call it before recording, which takes time.
    """
    if path.suffix.lower() not in KINDS:
        raise InputError(f"{path}: a recording is written as .gif or .mp4")
    if path.suffix.lower() == ".mp4":
        try:
            import imageio_ffmpeg  # noqa: F401
        except ImportError:
            raise InputError(
                f"{path}: MP4 needs imageio-ffmpeg, so pip install imageio-ffmpeg, or write a .gif"
            ) from None


def write(
    recordings: Sequence[Recording],
    path: Path,
    speed: float = 10,
    others: Sequence[Recording] | None = None,
) -> None:
    """Write the episodes one after the other into one file.

    Args:
        recordings: Episodes with frames.
        path: Ends with .gif or .mp4.
        speed: Steps per second.
        others: Episodes of another policy, each of them shown above its partner.

    Raises:
        InputError: The file cannot be written, or the recordings have no frames.
    """
    check_path(path)  # before the drawing, which takes time
    films = [list(draw(recording)) for recording in recordings]
    if others is not None:
        above = [list(draw(recording)) for recording in others]
        films = [_stacked(*pair) for pair in zip(above, films, strict=True)]
    save([image for film in films for image in film], path, speed)


def save(images: list[Image.Image], path: Path, speed: float = 10) -> None:
    """Write pictures of one size as a moving picture.

    Args:
        images: The pictures.
        path: Ends with .gif or .mp4.
        speed: Pictures per second.

    Raises:
        InputError: The file cannot be written.
    """
    check_path(path)
    if not speed > 0:
        raise InputError(f"speed is {speed}: show more than 0 steps a second")
    make_folder(path.parent)
    with writing(path):
        data = (_gif if path.suffix.lower() == ".gif" else _mp4)(images, speed)
    write_file(path, data)


def _stacked(above: list[Image.Image], below: list[Image.Image]) -> list[Image.Image]:
    """Two films as one; the one that ends first waits at its last picture."""
    pictures = []
    for top, bottom in zip_longest(above, below):
        top, bottom = top or above[-1], bottom or below[-1]
        picture = Image.new("RGB", (max(top.width, bottom.width), top.height + bottom.height))
        picture.paste(top)
        picture.paste(bottom, (0, top.height))
        pictures.append(picture)
    return pictures


def _gif(images: list[Image.Image], speed: float) -> bytes:
    # one palette for all images: the file is smaller, and the colours do not flicker
    palette = _mosaic(images).quantize(256)
    reduced = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    data = io.BytesIO()
    reduced[0].save(
        data,
        "GIF",
        save_all=True,
        append_images=reduced[1:],
        duration=max(20, round(1000 / speed)),
        loop=0,
        optimize=False,
    )
    return data.getvalue()


def _mosaic(images: list[Image.Image]) -> Image.Image:
    """A few of the images in one, for a palette that fits all."""
    sample = images[:: max(1, len(images) // 8)]
    return Image.fromarray(np.concatenate([np.asarray(image) for image in sample]))


def _mp4(images: list[Image.Image], speed: float) -> bytes:
    import imageio_ffmpeg

    with tempfile.TemporaryDirectory() as folder:  # FFmpeg opens its file itself
        path = Path(folder, "video.mp4")
        writer = imageio_ffmpeg.write_frames(
            str(path), images[0].size, fps=speed, macro_block_size=2, output_params=["-bitexact"]
        )
        with warnings.catch_warnings():
            # JAX warns about forks; this fork starts another program at once, so it is safe
            warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
            writer.send(None)
        for image in images:
            writer.send(np.ascontiguousarray(image))
        writer.close()
        return path.read_bytes()


def draw(recording: Recording) -> Iterator[Image.Image]:
    """Draw a picture of each step, and one of the end."""
    returns = list(accumulate(step.reward for step in recording.steps))
    for t, step in enumerate(recording.steps):
        yield _picture(recording, t, _open(step.frame), _headline(recording, step, t), returns[t])
    t = len(recording.steps) - 1
    headline = f"{_headline(recording, recording.steps[t], t)}  (end)"
    yield _picture(recording, t, _open(recording.last), headline, returns[t])


def _open(frame: bytes | None) -> Image.Image:
    if frame is None:
        raise InputError("this recording has no frames: record it with frames=True")
    return Image.open(io.BytesIO(frame)).convert("RGB")


def _headline(recording: Recording, step: RecordedStep, t: int) -> str:
    text = f"{recording.label}  step {t}  {_deed(recording, step)}"
    if recording.nested and not step.first:
        text += f"  mu {step.mu:.2f}"
    return text


def _deed(recording: Recording, step: RecordedStep) -> str:
    """What the policy does in a step, in words."""
    if not recording.actions:
        return "begin" if step.first else f"move by {step.moved:.1%} of the range"
    verb = "begin with" if step.first else "switch to" if step.switched else "hold"
    return f"{verb} {recording.actions[step.action]}"


def _picture(
    recording: Recording, t: int, frame: Image.Image, headline: str, return_: float
) -> Image.Image:
    """Draw step t: its frame, a headline, and the actions around it."""
    height = round(frame.height * WIDTH / frame.width / 2) * 2  # MP4 needs even numbers
    picture = Image.new("RGB", (WIDTH, height + PANEL), PAPER)
    picture.paste(frame.resize((WIDTH, height)))
    pen = ImageDraw.Draw(picture)
    font, small = ImageFont.load_default(13), ImageFont.load_default(11)
    top = height + 6
    pen.text((MARGIN, top), headline, INK, font)
    text = f"return {return_:.1f}"
    pen.text((WIDTH - MARGIN - pen.textlength(text, font), top), text, INK, font)

    window = min(WINDOW, len(recording.steps))
    first = max(0, min(t - window // 2, len(recording.steps) - window))
    shown = recording.steps[first : first + window]
    step_width = (WIDTH - 2 * MARGIN) / window
    top += 20
    draw_actions = _draw_strip if recording.actions else _draw_traces
    bottom = draw_actions(pen, recording, shown, top, step_width, small)
    now = MARGIN + (t - first + 0.5) * step_width
    pen.line((now, top - 3, now, bottom), INK, 2)
    return picture


Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def _draw_strip(
    pen: ImageDraw.ImageDraw,
    recording: Recording,
    shown: list[RecordedStep],
    top: int,
    step_width: float,
    font: Font,
) -> int:
    """Draw a colour for each action, mu and the names of actions; return where the plot ends."""
    for k, step in enumerate(shown):
        x = MARGIN + k * step_width
        colour = COLOURS[step.action % len(COLOURS)]
        pen.rectangle((x, top, x + step_width - 1, top + ROW), colour)
    bottom = top + ROW + 3
    if recording.nested:
        bottom = top + ROW + 44
        _draw_mu(pen, shown, bottom, step_width, font)
    _draw_names(pen, recording.actions, top - 26 + PANEL - 18, font)
    return bottom


def _draw_traces(
    pen: ImageDraw.ImageDraw,
    recording: Recording,
    shown: list[RecordedStep],
    top: int,
    step_width: float,
    font: Font,
) -> int:
    """Draw a line for each number of continuous actions; return where the plot ends."""
    bottom = top + TRACES
    for y in (top, (top + bottom) / 2, bottom):
        pen.line((MARGIN, y, WIDTH - MARGIN, y), RULE)
    rows = np.array([step.action for step in shown], float).reshape(len(shown), -1)
    for i, trace in enumerate(rows.T):
        heights = bottom - TRACES * (trace + 1) / 2
        points = [(MARGIN + (k + 0.5) * step_width, float(y)) for k, y in enumerate(heights)]
        pen.line(points, COLOURS[i % len(COLOURS)], 2)
    return bottom


def _draw_mu(
    pen: ImageDraw.ImageDraw, shown: list[RecordedStep], bottom: int, step_width: float, font: Font
) -> None:
    """Draw mu as a curve from 0 (bottom) to 1, with a line at 0.5."""
    pen.line((MARGIN, bottom - PLOT / 2, WIDTH - MARGIN, bottom - PLOT / 2), RULE)
    points = [(MARGIN + (k + 0.5) * step_width, bottom - PLOT * s.mu) for k, s in enumerate(shown)]
    pen.line(points, RED, 2)
    pen.text((MARGIN, bottom - PLOT - 1), "mu", FAINT, font)


def _draw_names(pen: ImageDraw.ImageDraw, names: tuple[str, ...], top: int, font: Font) -> None:
    """Draw the colour and the name of each action in one row."""
    left = float(MARGIN)
    for k, name in enumerate(names):
        pen.rectangle((left, top, left + 10, top + 10), COLOURS[k % len(COLOURS)])
        pen.text((left + 14, top - 2), name, FAINT, font)
        left += 26 + pen.textlength(name, font)
