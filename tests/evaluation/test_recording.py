import io
from typing import Any

import gymnasium as gym
import highway_env
import numpy as np
import pytest
from PIL import Image

from policy_inertia import InputError, Policy, evaluate
from policy_inertia.actions import kinds
from policy_inertia.envs import highway  # noqa: F401 - registers its tasks
from policy_inertia.evaluation.recording import WIDTH, action_names, record
from policy_inertia.seeds import Stream, stream_seed
from tests.evaluation.test_evaluate import Alternating, Counting
from tests.support.chase import Chase, Follower
from tests.support.pair_actions import PairEnv, Pairs
from tests.support.policies import fresh
from tests.support.probes import Both, Seen
from tests.support.recording_env import Loud


def seen() -> gym.Env:
    return Seen(render_mode="rgb_array")


@pytest.fixture(scope="module")
def policy() -> Policy:
    return fresh("nsac", Seen)


def brightness(frame: bytes | None) -> int:
    assert frame is not None
    return int(np.asarray(Image.open(io.BytesIO(frame)))[0, 0, 0])


def test_every_step_is_recorded_with_the_frame_before_it(policy: Policy) -> None:
    first, second = record(policy, seen, episodes=2, label="mine")
    assert len(first.steps) == len(second.steps) == 10
    assert [brightness(s.frame) for s in first.steps] == [20 * t for t in range(10)]
    assert brightness(first.last) == 200
    assert [s.previous for s in first.steps] == [-1, *(s.action for s in first.steps[:-1])]
    assert [s.first for s in first.steps] == [True, *[False] * 9]
    assert (first.label, first.actions, first.nested) == ("mine", ("STAY", "GO"), True)
    assert (first.terminated, first.crashed, first.cut) == (True, None, False)
    assert first.return_ == sum(s.reward for s in first.steps)
    switched = [s.previous >= 0 and s.previous != s.action for s in first.steps]
    assert [s.switched for s in first.steps] == switched
    assert first.switches == sum(switched)


def test_recorded_probabilities_are_the_papers_mixture(policy: Policy) -> None:
    env = Seen()
    (recording,) = record(policy, seen, seed=5)
    obs, _ = env.reset(seed=stream_seed(5, Stream.EPISODE, 0))
    for s in recording.steps:
        assert s.mu == policy.inertia(obs, s.previous)
        held = np.zeros(2) if s.first else np.eye(2)[s.previous]
        assert s.core == pytest.approx(policy.core_probabilities(obs))
        assert s.core is not None
        assert s.mixed == pytest.approx(s.mu * held + (1 - s.mu) * s.core, abs=1e-6)
        obs, reward, *_ = env.step(s.action)
        assert reward == s.reward


def test_greedy_recordings_are_the_episodes_of_an_evaluation(policy: Policy) -> None:
    episodes = evaluate(policy, Both, 3, seed=4, deterministic=True).episodes
    recordings = record(policy, seen, 3, seed=4, deterministic=True)
    for recording, episode in zip(recordings, episodes, strict=True):
        assert [s.action for s in recording.steps] == episode.actions.tolist()
        assert recording.return_ == episode.return_
        assert recording.switches == episode.switches


def test_same_seed_same_recording(policy: Policy) -> None:
    one, other = (record(policy, seen, seed=1)[0].steps for _ in range(2))
    assert [s.action for s in one] == [s.action for s in other]


def test_recording_is_cut_at_its_last_step(policy: Policy) -> None:
    (recording,) = record(policy, seen, steps=4)
    assert (len(recording.steps), recording.cut) == (4, True)


def test_policy_of_another_library_can_be_recorded() -> None:
    (recording,) = record(Alternating(), "CartPole-v1", frames=False)
    assert recording.switches == len(recording.steps) - 1
    assert recording.steps[0].mixed is None
    assert recording.last is None
    assert recording.actions == ("0", "1")


def test_recorded_action_may_be_more_than_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "KINDS", (*kinds.KINDS, Pairs))
    (recording,) = record(Counting(), PairEnv, frames=False)
    assert [s.action for s in recording.steps[:3]] == [[0, 0], [1, 0], [2, 0]]
    assert (recording.switches, recording.return_, recording.actions) == (2, 9.0, ())


def test_recorded_action_may_be_continuous() -> None:
    (recording,) = record(Follower(), Chase, frames=False, steps=3)
    assert [len(step.action) for step in recording.steps] == [2, 2, 2]
    assert (recording.switches, recording.actions) == (2, ())
    moves = [abs(np.subtract(s.action, s.previous)).mean() / 2 for s in recording.steps[1:]]
    assert [step.moved for step in recording.steps] == pytest.approx([0, *moves])
    assert recording.movement == f"action fluctuation {np.mean(moves):.4f} over 3 steps"


def test_wide_frames_are_scaled_down(policy: Policy) -> None:
    class Wide(Seen):
        def render(self) -> Any:
            return np.zeros((300, 2 * WIDTH, 3), np.uint8)

    frame = record(policy, lambda: Wide("rgb_array"), steps=1)[0].last
    assert frame is not None
    assert Image.open(io.BytesIO(frame)).size == (WIDTH, 150)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (Seen, "render_mode='rgb_array'"),
        ("CartPole-v2", "did you mean 'CartPole-v1'"),
        ("tests.support.registered:Repeat-v0", "cannot be made with"),
    ],
)
def test_env_without_frames_is_refused(policy: Policy, env: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        record(policy, env)


def test_broken_rendering_is_reported_in_one_sentence(policy: Policy) -> None:
    class Windowless(Seen):
        def render(self) -> Any:
            raise RuntimeError("no window\nat all")

    class Talkative(Seen):
        def render(self) -> Any:
            return "a picture of a car"

    with pytest.raises(InputError, match=r"cannot be rendered: no window$"):
        record(policy, lambda: Windowless("rgb_array"))
    with pytest.raises(InputError, match="gave str"):
        record(policy, lambda: Talkative("rgb_array"))


def test_zero_episodes_are_refused(policy: Policy) -> None:
    with pytest.raises(InputError, match="at least one"):
        record(policy, seen, episodes=0)


def test_actions_have_the_names_of_their_env() -> None:
    gym.register_envs(highway_env)
    original = gym.make("highway-v0")
    assert action_names(original) == ("LEFT", "IDLE", "RIGHT", "FASTER", "SLOWER")
    original.close()
    two_way = gym.make("policy_inertia/TwoWay-v0")
    assert action_names(two_way) == ("LEFT", "IDLE", "RIGHT", "FASTER", "SLOWER")
    crossing = gym.make("policy_inertia/Intersection-v0")
    assert action_names(crossing) == ("SLOWER", "IDLE", "FASTER")


def test_probabilities_are_those_of_the_tokens_at_each_step() -> None:
    limited = fresh("limit-dqn", env=Loud).with_limit(0, 1)
    (recording,) = record(limited, Loud, frames=False, deterministic=True)
    assert recording.switches == 1
    for step in recording.steps:
        assert step.mixed is not None
        assert step.mixed.argmax() == step.action  # the controller plans what is taken
