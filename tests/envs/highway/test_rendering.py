"""Images are highway-env's own, of our state."""

import pickle
import sys
import types
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import AddRenderObservation, RenderCollection

from policy_inertia import InputError
from policy_inertia.envs.highway import TASKS, OriginalEnv, TrafficEnv, TrafficVectorEnv
from tests.support.highway_side_by_side import run

SHAPES = dict(zip(TASKS, [(150, 600, 3), (150, 600, 3), (600, 600, 3), (150, 600, 3)], strict=True))


def image(env: gym.Env[Any, Any]) -> np.ndarray:
    return np.asarray(env.render())


@pytest.mark.parametrize("task", TASKS)
def test_a_frame_is_highway_envs_pixel_for_pixel(task: str) -> None:
    report = run("frames", task)
    assert len(report["differing"]) == 10
    assert not any(report["differing"])
    assert min(report["colours"]) >= 5  # a road with vehicles, not an empty image
    assert min(report["moved"]) > 100


@pytest.mark.parametrize("task", TASKS)
def test_the_papers_configuration_can_be_drawn(task: str) -> None:
    env = gym.make(f"policy_inertia/{task}-v0", render_mode="rgb_array")
    env.reset(seed=1)
    first = image(env)
    assert first.shape == SHAPES[task]
    assert first.dtype == np.uint8
    env.step(1)
    assert (image(env) != first).any()
    np.testing.assert_array_equal(image(env), image(env))
    env.close()


def test_gymnasiums_checker_accepts_the_images() -> None:
    env = gym.make("policy_inertia/TwoWay-v0", render_mode="rgb_array")
    assert env.metadata["render_modes"] == ["human", "rgb_array"]
    check_env(env.unwrapped)


def test_there_is_a_frame_for_each_decision_at_twice_real_time() -> None:
    env = TrafficEnv("Merge", {"policy_frequency": 5}, render_mode="rgb_array")
    assert env.metadata["render_fps"] == 10
    assert TrafficEnv("Merge").metadata["render_fps"] == 2


def test_gymnasiums_wrappers_collect_frames() -> None:
    env = RenderCollection(gym.make("policy_inertia/Merge-v0", render_mode="rgb_array"))
    env.reset(seed=0)
    for _ in range(3):
        env.step(1)
    frames: Any = env.render()
    assert [frame.shape for frame in frames] == [(150, 600, 3)] * 4
    pixels = AddRenderObservation(gym.make("policy_inertia/Merge-v0", render_mode="rgb_array"))
    assert pixels.reset(seed=0)[0].shape == (150, 600, 3)


def test_gymnasium_records_videos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoder is replaced, so that nothing is written."""
    written: list[tuple[int, float]] = []

    class Clip:
        def __init__(self, frames: list[Any], fps: float) -> None:
            written.append((len(frames), fps))

        def write_videofile(self, path: str, logger: object = None) -> None:
            pass

    encoder = types.ModuleType("moviepy")
    inner = types.ModuleType("moviepy.video.io.ImageSequenceClip")
    inner.ImageSequenceClip = Clip  # type: ignore[attr-defined]
    for name in ("moviepy.video", "moviepy.video.io"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "moviepy", encoder)
    monkeypatch.setitem(sys.modules, inner.__name__, inner)
    task = gym.make("policy_inertia/TwoWay-v0", config={"duration": 3}, render_mode="rgb_array")
    env = gym.wrappers.RecordVideo(task, str(tmp_path / "videos"), episode_trigger=lambda _: True)
    env.reset(seed=0)
    while not any(env.step(1)[2:4]):
        pass
    env.close()
    assert written == [(4, 2)]


def test_settings_about_drawing_are_used() -> None:
    config = {"screen_width": 320, "screen_height": 96, "scaling": 3, "centering_position": [0, 1]}
    env = TrafficEnv("LaneChange", config, render_mode="rgb_array")
    env.reset(seed=0)
    assert image(env).shape == (96, 320, 3)


@pytest.mark.parametrize("driver", ["dummy", None])
def test_no_screen_is_needed(driver: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """highway-env itself gives black images with SDL's dummy driver."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    if driver:
        monkeypatch.setenv("SDL_VIDEODRIVER", driver)
    env = TrafficEnv("Merge", render_mode="rgb_array")
    env.reset(seed=0)
    assert image(env).std() > 10


def test_a_window_is_drawn_at_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = TrafficEnv("Merge", render_mode="human")
    calls: list[int] = []
    monkeypatch.setattr(
        "policy_inertia.envs.highway.upstream.original.draw", lambda _: calls.append(1)
    )
    env.reset(seed=0)
    env.step(1)
    assert len(calls) == 2


def test_a_window_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    for kind in (TrafficEnv, OriginalEnv):
        env = kind("TwoWay", render_mode="human")
        env.reset(seed=0)
        env.step(1)
        assert env.render() is None
        env.close()


def test_highway_envs_own_env_gives_the_same_image() -> None:
    frames = []
    for kind in (TrafficEnv, OriginalEnv):
        env = kind("TwoWay", render_mode="rgb_array")
        env.reset(seed=2)
        env.step(0)
        frames.append(image(env))
    np.testing.assert_array_equal(frames[0], frames[1])


def test_a_drawn_env_is_pickled_without_its_window() -> None:
    env = TrafficEnv("Merge", render_mode="rgb_array")
    env.reset(seed=0)
    frame = image(env)
    np.testing.assert_array_equal(image(pickle.loads(pickle.dumps(env))), frame)


def test_without_a_mode_render_warns_and_draws_nothing() -> None:
    env = TrafficEnv("Merge")
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_drawing_before_reset_is_refused() -> None:
    with pytest.raises(gym.error.ResetNeeded, match="must be reset"):
        TrafficEnv("Merge", render_mode="rgb_array").render()


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(InputError, match="no render_mode 'ansi': choose one of human, rgb_array"):
        TrafficEnv("Merge", render_mode="ansi")


def test_a_batch_is_not_drawn() -> None:
    with pytest.raises(InputError, match="render a single env"):
        TrafficVectorEnv(2, "Merge", render_mode="rgb_array")
