import dataclasses
import io
import sys
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
from PIL import Image

from policy_inertia import InputError, Policy, evaluate, train
from policy_inertia.drawing import video
from policy_inertia.envs.vector import episode_seed
from policy_inertia.evaluation.recording import WIDTH, Moment, Recording, action_names, record
from tests.support.probes import Both, Seen


def seen() -> gym.Env:
    return Seen(render_mode="rgb_array")


@pytest.fixture(scope="module")
def policy(tmp_path_factory) -> Policy:
    out = tmp_path_factory.mktemp("recording") / "run"
    short = {"steps": 1_500, "eval_every": 1_500, "eval_episodes": 2, "final_episodes": 2}
    return train("nsac", Seen, out, **short)


def record_frame() -> bytes:
    data = io.BytesIO()
    Image.fromarray(Seen.render(SimpleNamespace(t=1))).save(data, "PNG")
    return data.getvalue()


def brightness(frame: bytes) -> int:
    return int(np.asarray(Image.open(io.BytesIO(frame)))[0, 0, 0])


def test_every_step_is_kept_with_what_was_seen_before_it(policy):
    first, second = record(policy, seen, episodes=2, label="mine")
    assert len(first.moments) == len(second.moments) == 10
    assert [brightness(m.frame) for m in first.moments] == [20 * t for t in range(10)]
    assert brightness(first.last) == 200
    assert [m.previous for m in first.moments] == [-1, *(m.action for m in first.moments[:-1])]
    assert (first.label, first.actions, first.nested) == ("mine", ("STAY", "GO"), True)
    assert (first.terminated, first.crashed, first.cut) == (True, None, False)
    assert first.return_ == sum(m.reward for m in first.moments)
    switched = [m.previous >= 0 and m.previous != m.action for m in first.moments]
    assert [m.switched for m in first.moments] == switched
    assert first.switches == sum(switched)


def test_what_the_policy_said_is_the_papers_mixture(policy):
    env = Seen()
    (recording,) = record(policy, seen, seed=5)
    obs, _ = env.reset(seed=episode_seed(5, 0))
    for m in recording.moments:
        assert m.mu == policy.inertia(obs, m.previous)
        held = np.eye(2)[m.previous] if m.previous >= 0 else np.zeros(2)
        assert m.core == pytest.approx(policy.core_probabilities(obs))
        assert m.mixed == pytest.approx(m.mu * held + (1 - m.mu) * m.core, abs=1e-6)
        assert m.controller_holds == (m.mu >= 0.5)
        obs, reward, *_ = env.step(m.action)
        assert reward == m.reward


def test_greedy_episodes_are_those_of_an_evaluation(policy):
    measured = evaluate(policy, Both, 3, seed=4, deterministic=True).episodes
    recorded = record(policy, seen, 3, seed=4, deterministic=True)
    for ours, theirs in zip(recorded, measured, strict=True):
        assert [m.action for m in ours.moments] == theirs.actions.tolist()
        assert ours.return_ == theirs.return_


def test_same_seed_same_recording(policy):
    assert record(policy, seen, seed=1)[0].return_ == record(policy, seen, seed=1)[0].return_
    once, again = (record(policy, seen, seed=1)[0].moments for _ in range(2))
    assert [m.action for m in once] == [m.action for m in again]


def test_episode_is_cut_at_the_limit(policy):
    (recording,) = record(policy, seen, limit=4)
    assert (len(recording.moments), recording.cut) == (4, True)


def test_any_predictor_can_be_recorded():
    class Alternating:
        def predict(self, observation, state=None, episode_start=None, deterministic=False):
            state = 0 if state is None else 1 - state
            return np.array([state]), state

    (recording,) = record(Alternating(), "CartPole-v1", frames=False)
    assert recording.switches == len(recording.moments) - 1
    assert recording.moments[0].mixed is None
    assert recording.last is None
    assert recording.actions == ("0", "1")


def test_wide_frames_are_made_smaller(policy):
    class Wide(Seen):
        def render(self):
            return np.zeros((300, 2 * WIDTH, 3), np.uint8)

    frame = record(policy, lambda: Wide("rgb_array"), limit=1)[0].last
    assert Image.open(io.BytesIO(frame)).size == (WIDTH, 150)


@pytest.mark.parametrize(
    ("env", "says"),
    [
        (Seen, "render_mode='rgb_array'"),
        ("CartPole-v2", "did you mean 'CartPole-v1'"),
        ("tests.support.registered:Repeat-v0", "cannot be made with"),
    ],
)
def test_env_without_frames_is_refused(policy, env, says):
    with pytest.raises(InputError, match=says):
        record(policy, env)


def test_broken_rendering_is_said(policy):
    class Windowless(Seen):
        def render(self):
            raise RuntimeError("no window\nat all")

    class Talkative(Seen):
        def render(self):
            return "a picture of a car"

    with pytest.raises(InputError, match=r"cannot be rendered: no window$"):
        record(policy, lambda: Windowless("rgb_array"))
    with pytest.raises(InputError, match="gave str"):
        record(policy, lambda: Talkative("rgb_array"))
    with pytest.raises(InputError, match="at least one"):
        record(policy, seen, episodes=0)


def test_actions_have_their_envs_names():
    import highway_env

    gym.register_envs(highway_env)
    theirs = gym.make("highway-v0")
    assert action_names(theirs) == ("LEFT", "IDLE", "RIGHT", "FASTER", "SLOWER")
    theirs.close()
    from policy_inertia.envs import highway  # noqa: F401

    assert action_names(gym.make("policy_inertia/TwoWay-v0")) == (
        "LEFT", "IDLE", "RIGHT", "FASTER", "SLOWER",
    )  # fmt: skip
    crossing = gym.make("policy_inertia/Intersection-v0")
    assert action_names(crossing) == ("SLOWER", "IDLE", "FASTER")


def test_gif_shows_every_step(policy, tmp_path):
    recordings = record(policy, seen, episodes=2)
    video.write(recordings, tmp_path / "a.gif", speed=5)
    with Image.open(tmp_path / "a.gif") as gif:
        shown, lasting = [], 0
        for k in range(gif.n_frames):  # equal pictures in a row are one that lasts longer
            gif.seek(k)
            shown.append(np.asarray(gif.convert("RGB")))
            lasting += gif.info["duration"]
    assert lasting == 22 * 200
    assert shown[3][5, 5, 0] == pytest.approx(60, abs=8)
    # under the picture: the strip, in the colours of the actions that were taken
    first = [m.action for m in recordings[0].moments[:10]]
    row = shown[0][360 + 26 + 9]
    cells = [row[int(10 + (k + 0.25) * 460 / 10)] for k in range(10)]
    blue = [int(c[2]) > int(c[0]) for c in cells]
    assert blue == [a == 0 for a in first]


def test_long_episode_has_a_moving_window():
    moments = [Moment(None, -1, k // 60, 1.0, 0.0, None, None) for k in range(120)]
    frame = record_frame()
    recording = Recording(
        "a",
        "b",
        0,
        True,
        False,
        ("x", "y"),
        [dataclasses.replace(m, frame=frame) for m in moments],
        frame,
        True,
        None,
        False,
    )
    shown = [np.asarray(image)[360 + 26 + 9] for image in video.draw(recording)]
    first, last = shown[0], shown[-1]
    assert all(int(first[x][2]) > int(first[x][0]) for x in (20, 240, 460))  # only blue: x
    assert all(int(last[x][2]) < int(last[x][0]) for x in (20, 240, 400))  # only orange: y


def test_mp4_is_written(policy, tmp_path):
    import imageio_ffmpeg

    video.write(record(policy, seen, limit=3), tmp_path / "a.mp4")
    frames, _ = imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "a.mp4"))
    assert frames == 4


def test_what_cannot_be_written_is_said(policy, tmp_path, monkeypatch):
    recordings = record(policy, seen, limit=2)
    with pytest.raises(InputError, match=r"written as \.gif or \.mp4"):
        video.write(recordings, tmp_path / "a.avi")
    with pytest.raises(InputError, match="more than 0"):
        video.write(recordings, tmp_path / "a.gif", speed=0)
    with pytest.raises(InputError, match="frames=True"):
        video.write(record(policy, seen, frames=False), tmp_path / "a.gif")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="choose another place"):
        video.write(recordings, tmp_path / "file" / "a.gif")
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(InputError, match="pip install imageio-ffmpeg"):
        video.write(recordings, tmp_path / "a.mp4")
