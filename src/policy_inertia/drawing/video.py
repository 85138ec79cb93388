"""A recording as a GIF or MP4: the frame, and under it the strip of actions and mu."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from policy_inertia.drawing.plots import COLOURS
from policy_inertia.errors import InputError
from policy_inertia.evaluation.recording import Moment, Recording
from policy_inertia.storage import cannot_write

KINDS = (".gif", ".mp4")
WINDOW = 60  # steps that the strip shows at most
SIZE = (480, 112)  # of what stands under a frame
MARGIN, ROW = 10, 18
PAPER, INK, FAINT, RED = "#ffffff", "#1B1F24", "#8b949e", "#D55E00"


def refuse_kind(path: Path) -> None:
    """Say before anything is recorded that it could not be written."""
    if path.suffix.lower() not in KINDS:
        raise InputError(f"{path}: a recording is written as .gif or .mp4")
    if path.suffix.lower() == ".mp4":
        try:
            import imageio_ffmpeg  # noqa: F401
        except ImportError:
            raise InputError(
                f"{path}: MP4 needs imageio-ffmpeg, so pip install imageio-ffmpeg, or write a .gif"
            ) from None


def write(recordings: Sequence[Recording], path: Path, speed: float = 10) -> None:
    """Write the episodes one after the other, with `speed` steps a second."""
    refuse_kind(path)
    if not speed > 0:
        raise InputError(f"speed is {speed}: show more than 0 steps a second")
    images = [image for recording in recordings for image in draw(recording)]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        (_gif if path.suffix.lower() == ".gif" else _mp4)(images, path, speed)
    except OSError as error:
        raise cannot_write(path, error) from error


def _gif(images: list[Image.Image], path: Path, speed: float) -> None:
    # one palette for all: smaller, and colours do not flicker
    palette = _mosaic(images).quantize(256)
    few = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    few[0].save(
        path,
        save_all=True,
        append_images=few[1:],
        duration=max(20, round(1000 / speed)),
        loop=0,
        optimize=False,
    )


def _mosaic(images: list[Image.Image]) -> Image.Image:
    chosen = images[:: max(1, len(images) // 8)]
    return Image.fromarray(np.concatenate([np.asarray(image) for image in chosen]))


def _mp4(images: list[Image.Image], path: Path, speed: float) -> None:
    import imageio_ffmpeg

    writer = imageio_ffmpeg.write_frames(
        str(path), images[0].size, fps=speed, macro_block_size=2, output_params=["-bitexact"]
    )
    with warnings.catch_warnings():
        # JAX warns of forks; this one runs another program at once
        warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
        writer.send(None)
    for image in images:
        writer.send(np.ascontiguousarray(image))
    writer.close()


def draw(recording: Recording) -> Iterator[Image.Image]:
    """A picture for each step, and one of the end."""
    moments = recording.moments
    for t, moment in enumerate(moments):
        yield _picture(recording, t, _open(moment.frame))
    yield _picture(recording, len(moments) - 1, _open(recording.last), over=True)


def _open(frame: bytes | None) -> Image.Image:
    if frame is None:
        raise InputError("this recording has no frames: record it with frames=True")
    return Image.open(io.BytesIO(frame)).convert("RGB")


def _picture(recording: Recording, t: int, frame: Image.Image, over: bool = False) -> Image.Image:
    width, under = SIZE
    height = round(frame.height * width / frame.width / 2) * 2  # MP4 wants even numbers
    picture = Image.new("RGB", (width, height + under), PAPER)
    picture.paste(frame.resize((width, height)))
    pen = ImageDraw.Draw(picture)
    font, small = ImageFont.load_default(13), ImageFont.load_default(11)
    now = recording.moments[t]
    reward = sum(m.reward for m in recording.moments[: t + 1])
    top = height + 6
    pen.text((MARGIN, top), _words(recording, now, t, over), INK, font)
    text = f"return {reward:.1f}"
    pen.text((width - MARGIN - pen.textlength(text, font), top), text, INK, font)
    window = min(WINDOW, len(recording.moments))
    first = max(0, min(t - window // 2, len(recording.moments) - window))
    shown = recording.moments[first : first + window]
    wide = (width - 2 * MARGIN) / window
    top += 20
    for k, moment in enumerate(shown):
        x = MARGIN + k * wide
        place = (x, top, x + wide - 1, top + ROW)
        pen.rectangle(place, COLOURS[moment.action % len(COLOURS)])
    bottom = top + ROW + 44
    if recording.nested:
        tall = 34
        pen.line((MARGIN, bottom - tall / 2, width - MARGIN, bottom - tall / 2), "#d0d7de")
        line = [(MARGIN + (k + 0.5) * wide, bottom - tall * m.mu) for k, m in enumerate(shown)]
        pen.line(line, RED, 2)
        pen.text((MARGIN, bottom - tall - 1), "mu", FAINT, small)
    left = float(MARGIN)
    for k, name in enumerate(recording.actions):
        edge = height + under - 18
        pen.rectangle((left, edge, left + 10, edge + 10), COLOURS[k % len(COLOURS)])
        pen.text((left + 14, edge - 2), name, FAINT, small)
        left += 26 + pen.textlength(name, small)
    x = MARGIN + (t - first + 0.5) * wide
    pen.line((x, top - 3, x, bottom if recording.nested else top + ROW + 3), INK, 2)
    return picture


def _words(recording: Recording, now: Moment, t: int, over: bool) -> str:
    did = "switch to" if now.switched else "hold" if now.previous >= 0 else "begin with"
    words = f"{recording.label}  step {t}  {did} {recording.actions[now.action]}"
    if recording.nested and now.previous >= 0:
        words += f"  mu {now.mu:.2f}"
    return words + ("  (end)" if over else "")
