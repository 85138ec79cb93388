import dataclasses
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from PIL import Image

from policy_inertia import InputError, Policy
from policy_inertia.drawing import video
from policy_inertia.drawing.palette import COLOURS
from policy_inertia.evaluation.recording import RecordedStep, record
from tests.support.chase import Chase, Constant
from tests.support.policies import fresh
from tests.support.probes import Seen


def seen() -> gym.Env:
    return Seen(render_mode="rgb_array")


@pytest.fixture(scope="module")
def policy() -> Policy:
    return fresh("nsac", Seen)


def test_continuous_actions_are_drawn_as_one_line_for_each_number(tmp_path: Path) -> None:
    class Drawn(Chase):
        def __init__(self) -> None:
            self.metadata, self.render_mode = {"render_modes": ["rgb_array"]}, "rgb_array"

        def render(self) -> Any:
            return np.full((30, 480, 3), 255, np.uint8)

    (recording,) = record(Constant(np.array([[-2.0, 1.0]], np.float32)), Drawn, steps=9)
    picture = np.asarray(list(video.draw(recording))[-1], int)
    lines = {}
    for colour in COLOURS[:2]:
        red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
        rows, _ = np.nonzero(abs(picture - [red, green, blue]).sum(2) < 30)
        lines[colour] = rows.mean() - (30 + 26)
    low, high = lines.values()
    assert low == pytest.approx(video.TRACES, abs=2)  # at the lower bound
    assert high == pytest.approx(video.TRACES / 4, abs=2)
    video.write([recording], tmp_path / "film.gif")
    assert (tmp_path / "film.gif").exists()


def test_gif_shows_every_step(policy: Policy, tmp_path: Path) -> None:
    recordings = record(policy, seen, episodes=2)
    video.write(recordings, tmp_path / "a.gif", speed=5)
    with Image.open(tmp_path / "a.gif") as gif:
        pictures, duration = [], 0
        for k in range(getattr(gif, "n_frames", 1)):  # equal pictures in a row become one
            gif.seek(k)
            pictures.append(np.asarray(gif.convert("RGB")))
            duration += gif.info["duration"]
    assert duration == 22 * 200
    # the strip below the frame has the colours of the actions
    actions = [s.action for s in recordings[0].steps[:10]]
    row = pictures[0][360 + 26 + 9]
    cells = [row[int(10 + (k + 0.25) * 460 / 10)] for k in range(10)]
    blue = [int(cell[2]) > int(cell[0]) for cell in cells]
    assert blue == [action == 0 for action in actions]


def test_two_films_are_shown_one_above_the_other_until_the_longer_one_ends(
    policy: Policy, tmp_path: Path
) -> None:
    (short,) = record(policy, seen, steps=3)
    (long,) = record(policy, seen)
    video.write([long], tmp_path / "a.gif", others=[short])
    with Image.open(tmp_path / "a.gif") as gif:
        assert gif.size == (480, 2 * (360 + video.PANEL))
        gif.seek(getattr(gif, "n_frames", 1) - 1)
        last = np.asarray(gif.convert("RGB"))
    ends = [list(video.draw(recording))[-1] for recording in (short, long)]
    assert np.abs(last.astype(int) - np.concatenate([np.asarray(e) for e in ends])).mean() < 2


def test_picture_shows_its_own_frame(policy: Policy) -> None:
    (recording,) = record(policy, seen)
    shown = [int(np.asarray(picture)[5, 5, 0]) for picture in video.draw(recording)]
    assert shown == [20 * t for t in range(11)]


def test_strip_of_a_long_episode_is_a_moving_window(policy: Policy) -> None:
    (recording,) = record(policy, seen, steps=1)
    frame = recording.last
    steps = [RecordedStep(frame, -1, k // 60, 1.0) for k in range(120)]
    recording = dataclasses.replace(recording, steps=steps, nested=False)
    rows = [np.asarray(picture)[360 + 26 + 9] for picture in video.draw(recording)]
    first, last = rows[0], rows[-1]
    assert all(int(first[x][2]) > int(first[x][0]) for x in (20, 240, 460))  # blue: action 0
    assert all(int(last[x][2]) < int(last[x][0]) for x in (20, 240, 400))  # orange: action 1


def test_mp4_is_written(policy: Policy, tmp_path: Path) -> None:
    import imageio_ffmpeg

    video.write(record(policy, seen, steps=3), tmp_path / "a.mp4")
    frames, _ = imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "a.mp4"))
    assert frames == 4


def test_impossible_recordings_are_refused(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recordings = record(policy, seen, steps=2)
    with pytest.raises(InputError, match=r"written as \.gif or \.mp4"):
        video.write(recordings, tmp_path / "a.avi")
    with pytest.raises(InputError, match="more than 0"):
        video.write(recordings, tmp_path / "a.gif", speed=0)
    with pytest.raises(InputError, match="frames=True"):
        video.write(record(policy, seen, frames=False), tmp_path / "a.gif")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file: give a folder"):
        video.write(recordings, tmp_path / "file" / "a.gif")
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(InputError, match="pip install imageio-ffmpeg"):
        video.write(recordings, tmp_path / "a.mp4")
