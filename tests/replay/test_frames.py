"""The replay of frames against a naive one that keeps every stack."""

import itertools
import os
from collections import deque
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from policy_inertia import InputError, machine
from policy_inertia.actions.discrete import Discrete
from policy_inertia.replay.frame_ring import WRITTEN
from policy_inertia.replay.frames import FrameReplay, bytes_needed
from policy_inertia.replay.transitions import TransitionReplay
from policy_inertia.training.checkpoints import Checkpoints
from policy_inertia.types import Transition
from tests.support.runs import seal

ATARI = (4, 84, 84)
ACTIONS = Discrete(18)


class Each:
    """A generator whose draw is everything there is, once."""

    def integers(self, low: int, high: int, shape: tuple[int, ...]) -> np.ndarray:
        assert (low, (high,)) == (0, shape)
        return np.arange(high)


def transition(*fields: Any) -> Transition:
    """A batch of transitions from arrays or lists."""
    return Transition(*(np.asarray(field) for field in fields))


def everything(replay: FrameReplay) -> Transition:
    n = len(replay)
    rows = 1 << n.bit_length()  # few shapes: each is compiled
    words = np.full((rows, replay.width), -1, np.int32)
    every: Any = Each()
    replay.sample(every, (n,), words[:n])
    return Transition(*(np.asarray(field)[:n] for field in replay.unpack(words)))


class Game:
    """Envs that show frames of few kinds; the reward of a transition is its number.

    Episodes end at random, begin with a stack of one frame, a padded one or any; decisions are held
    for up to `hold` steps; a frame is shown again with probability `still`.
    """

    def __init__(self, seed, envs, image, kinds=3, end=0.1, hold=1, still=0.3):
        self.rng, self.image, self.kinds = np.random.default_rng(seed), image, kinds
        self.end, self.hold, self.still = end, hold, still
        self.pictures = self.rng.integers(0, 256, (kinds, image[1] * image[2]), np.uint8)
        self.pictures[1:2] = self.pictures[0]  # two that differ in their last pixel alone
        self.pictures[1:2, -1] += 1
        self.stacks = np.stack([self.start() for _ in range(envs)])
        self.left = np.zeros(envs, int)
        self.before = self.stacks.copy()
        self.number = 0

    def frame(self):
        return self.pictures[self.rng.integers(self.kinds)]

    def start(self):
        stack = np.stack([self.frame() for _ in range(self.image[0])])
        kind = self.rng.integers(3)
        if kind == 0:
            stack[:] = stack[-1]
        elif kind == 1:
            stack[:-1] = 0
        return stack

    def step(self) -> tuple[Transition, np.ndarray]:
        """One step in every env; the decisions that ended with it, and whose they were."""
        ended, rows = [], []
        for i, stack in enumerate(self.stacks):
            if self.left[i] == 0:
                self.left[i] = self.rng.integers(1, self.hold + 1)
                self.before[i] = stack
            frame = stack[-1] if self.rng.random() < self.still else self.frame()
            stack[:] = np.concatenate([stack[1:], frame[None]])
            self.left[i] -= 1
            done, terminated = self.rng.random(2) < (self.end, 0.5)
            if self.left[i] == 0 or done:
                n, discount = self.number, 0.0 if done and terminated else 0.99
                row = (self.before[i].ravel(), n % 7 - 1, n % 5, n, discount, stack.ravel())
                rows.append([np.copy(a) for a in row])
                ended.append(i)
                self.number += 1
            if done:
                self.left[i] = 0
                stack[:] = self.start()
        pixels = np.prod(self.image)
        columns = zip(*rows, strict=True) if rows else [[] for _ in range(6)]
        batch = Transition(*map(np.array, columns))
        bytes_of = {k: getattr(batch, k).reshape(-1, pixels) for k in ("obs", "next_obs")}
        bytes_of = {k: v.astype(np.uint8) for k, v in bytes_of.items()}
        return batch._replace(**bytes_of), np.array(ended, int)


def fill(replay: FrameReplay, game: Game, steps: int) -> None:
    for _ in range(steps):
        replay.add(*game.step())


class Naive:
    """The last transitions as they came, with the numbers of the frames they were stored under."""

    def __init__(self, replay: FrameReplay) -> None:
        self.replay = replay
        self.stored: deque[Any] = deque(maxlen=replay.capacity)

    def add(self, batch: Transition, who: np.ndarray) -> None:
        """Row by row, so that a frame's place says its number."""
        frames, rows = self.replay._ring.frames, self.replay._ring.rows
        for i in range(len(who)):
            row = Transition(*(a[i : i + 1] for a in batch))
            place = self.replay.added % self.replay.capacity
            self.replay.add(row, who[i : i + 1])
            written = int(self.replay._ring.counts[WRITTEN])
            places = rows[place, :-4].astype(np.int64)
            numbers = written - 1 - (written - 1 - places) % len(frames)
            self.stored.append((row, numbers.min()))

    def complete(self) -> dict[int, Transition]:
        alive = self.replay._ring.counts[WRITTEN] - len(self.replay._ring.frames)
        return {int(row.reward[0]): row for row, oldest in self.stored if oldest >= alive}


@settings(max_examples=120, deadline=None)  # the first call compiles
@given(
    seed=st.integers(0, 2**32 - 1),
    capacity=st.sampled_from([1, 2, 7, 40, 90, 200]),
    image=st.sampled_from([(3, 5, 4), (1, 1, 1), (2, 3, 3), (4, 2, 8), (4, 23, 23)]),
    envs=st.integers(1, 4),
    kinds=st.sampled_from([1, 2, 5, 200]),
    end=st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    hold=st.sampled_from([1, 2, 6]),
    still=st.sampled_from([0.0, 0.3, 0.95]),
    steps=st.integers(0, 150),
)
def test_every_whole_transition_comes_back_as_it_was(
    seed: int,
    capacity: Any,
    image: Any,
    envs: Any,
    kinds: Any,
    end: Any,
    hold: Any,
    still: Any,
    steps: Any,
) -> None:
    replay = FrameReplay(capacity, image, ACTIONS)
    naive, game = Naive(replay), Game(seed, envs, image, kinds, end, hold, still)
    for step in range(steps):
        naive.add(*game.step())
        if step % 10 and step < steps - 1:
            continue
        complete, sampled = naive.complete(), everything(replay)
        assert replay.added == game.number
        assert sorted(sampled.reward.tolist()) == sorted(complete)  # each of them, and no other
        for i, number in enumerate(sampled.reward.tolist()):
            for name, got, want in zip(Transition._fields, sampled, complete[number], strict=True):
                np.testing.assert_array_equal(got[i], want[0].astype(got.dtype), err_msg=name)
    assert bool(len(replay)) == bool(game.number)


def test_frames_may_wrap_around_many_times_within_one_round_of_transitions() -> None:
    replay = FrameReplay(400, (4, 2, 8), ACTIONS)  # 473 frames
    naive, game = Naive(replay), Game(0, 2, (4, 2, 8), kinds=2_000, end=1.0, still=0)
    for step in range(500):
        naive.add(*game.step())
        if step % 20 == 0:
            assert sorted(everything(replay).reward.tolist()) == sorted(naive.complete())
    assert replay._ring.counts[WRITTEN] > 5 * 473
    assert len(replay) < 200


def test_a_batch_is_stored_like_its_rows_one_by_one() -> None:
    one, many = FrameReplay(30, (3, 5, 4), ACTIONS), FrameReplay(30, (3, 5, 4), ACTIONS)
    naive, game, same = Naive(one), Game(1, 4, (3, 5, 4), hold=3), Game(1, 4, (3, 5, 4), hold=3)
    for _ in range(200):
        naive.add(*game.step())
        many.add(*same.step())
    for name, array in one.state().items():
        np.testing.assert_array_equal(array, many.state()[name], err_msg=name)


def distinct(start: int, length: int, image: tuple[int, int, int]) -> np.ndarray:
    """Stacks of an episode whose frames all differ, the first of them repeated at its start."""
    frames = np.arange(start, start + length + 1, dtype=np.uint32)
    pictures = np.zeros((length + 1, image[1] * image[2]), np.uint8)
    pictures[:, :4] = frames.view(np.uint8).reshape(-1, 4)
    at = np.maximum(0, np.arange(length + 1)[:, None] + np.arange(1 - image[0], 1))
    return pictures[at].reshape(length + 1, -1)


def play(replay, start, episodes, length):
    """Episodes of one env after the other, in batches of one."""
    for k in range(episodes):
        stacks = distinct(start + k * 1000, length, replay.image)
        for t in range(length):
            row = (
                stacks[t : t + 1],
                [0],
                [0],
                [start + k * length + t],
                [1],
                stacks[t + 1 : t + 2],
            )
            replay.add(transition(*row))


def test_each_frame_is_stored_once() -> None:
    replay = FrameReplay(1_000, (4, 3, 3), ACTIONS)
    play(replay, 0, 10, 50)
    assert replay._ring.counts[WRITTEN] == 10 * 51  # 50 steps and the first picture
    assert len(replay) == 500


@pytest.mark.parametrize(
    ("stacks", "stored"),
    [
        ("abc bcd cde def", 6),
        ("aaa aab abb bbb bbc", 3),  # a frame that is shown again
        ("abc abc abc", 3),  # nothing moved
        ("abc cde efg", 7),  # held for two steps
        ("abc def", 6),  # held for longer than the stack
        ("00a 0ab abc", 4),  # a padded start
    ],
)
def test_only_new_frames_are_stored(stacks: str, stored: int) -> None:
    replay = FrameReplay(100, (3, 2, 2), ACTIONS)
    seen = [np.repeat(np.frombuffer(s.encode(), np.uint8), 4)[None] for s in stacks.split()]
    for obs, after in itertools.pairwise(seen):
        replay.add(transition(obs, [0], [0], [0], [1], after))
    assert replay._ring.counts[WRITTEN] == stored
    np.testing.assert_array_equal(everything(replay).next_obs, np.concatenate(seen[1:]))


def test_a_full_ring_of_ordinary_play_keeps_its_whole_capacity() -> None:
    replay = FrameReplay(1_000, (4, 3, 3), ACTIONS)
    play(replay, 0, 40, 100)
    assert replay.added == 4_000
    assert len(replay) == 1_000
    assert sorted(everything(replay).reward.tolist()) == list(range(3_000, 4_000))


def test_a_still_picture_is_stored_again_before_it_grows_old() -> None:
    """One env stands still, another moves: without that, all of the first would go at once."""
    replay, image = FrameReplay(400, (2, 2, 2), ACTIONS), (2, 2, 2)
    still, stacks = np.zeros((1, 8), np.uint8), distinct(0, 2_000, image)
    least = 400
    for t in range(2_000):
        obs, after = (np.concatenate([still, stacks[k : k + 1]]) for k in (t, t + 1))
        replay.add(transition(obs, [0, 0], [0, 0], [0, 1], [1, 1], after))
        if t > 400:
            least = min(least, len(replay))
    assert least == 400  # 441 frames; a moving env's 200 transitions need 200 of them


def test_only_whole_transitions_are_drawn_and_all_alike() -> None:
    replay = FrameReplay(200, (3, 5, 4), ACTIONS)
    fill(replay, Game(3, 3, (3, 5, 4), kinds=200, end=0.5, still=0), 200)
    assert 50 < len(replay) < 150  # frames were overwritten before transitions were
    words = np.zeros((200, 100, replay.width), np.int32)
    replay.sample(np.random.default_rng(0), (200, 100), words)
    numbers, counts = np.unique(replay.unpack(words).reward, return_counts=True)
    assert numbers.tolist() == sorted(everything(replay).reward.tolist())
    assert stats.chisquare(counts).pvalue > 1e-3


def test_draws_are_those_of_the_plain_replay() -> None:
    frames, plain = FrameReplay(50, (3, 5, 4), ACTIONS), TransitionReplay(50, 60, ACTIONS)
    game = Game(4, 3, (3, 5, 4), end=0.02)
    for _ in range(40):
        batch, who = game.step()
        frames.add(batch, who)
        plain.add(batch)
        one, two = (np.zeros((2, 8, r.width), np.int32) for r in (frames, plain))
        frames.sample(np.random.default_rng(5), (2, 8), one)
        plain.sample(np.random.default_rng(5), (2, 8), two)
        for a, b in zip(frames.unpack(one), plain.unpack(two), strict=True):
            np.testing.assert_array_equal(a, b)
    assert frames.added == plain.added == 120


def test_compiled_code_reads_bytes_and_numbers() -> None:
    replay = FrameReplay(4, (3, 5, 4), ACTIONS)
    obs, after = np.arange(60, dtype=np.uint8)[None], np.arange(196, 256, dtype=np.uint8)[None]
    replay.add(transition(obs, [-1], [2], [1.5], [0.25], after))
    words = np.zeros((1, 2, replay.width), np.int32)
    replay.sample(np.random.default_rng(0), (1, 2), words)
    got = jax.jit(replay.unpack)(words)
    for value, want in zip(got, (obs[0], -1, 2, 1.5, 0.25, after[0]), strict=True):
        np.testing.assert_array_equal(value, np.broadcast_to(want, value.shape))
    kinds = ("uint8", "int32", "int32", "float32", "float32", "uint8")
    assert tuple(str(value.dtype) for value in got) == kinds
    assert got.obs.shape == got.next_obs.shape == (1, 2, 60)


def saved(replay: FrameReplay, run: Path) -> Any:
    checkpoints = Checkpoints(run)
    checkpoints.save("1", {"x": np.zeros(1)}, replay.state(), {"added": replay.added})
    return checkpoints.load()


@pytest.mark.parametrize("steps", [0, 5, 150])
@pytest.mark.parametrize("mapped", [False, True])
def test_restored_replay_goes_on_like_the_first(tmp_path: Path, steps: int, mapped: bool) -> None:
    image = (3, 5, 4)
    one, two = (FrameReplay(200, image, ACTIONS, tmp_path if mapped else None) for _ in range(2))
    game, hers = (Game(6, 3, image, kinds=200, end=1.0, still=0) for _ in range(2))
    fill(one, game, steps)
    for _ in range(steps):
        hers.step()
    _, _, parts, state = saved(one, tmp_path / "run")
    two.restore(parts, state["added"])
    for _ in range(100):
        assert (len(one), one.added) == (len(two), two.added)
        if len(one):
            words = [np.zeros((4, one.width), np.int32) for _ in range(2)]
            for replay, out in zip((one, two), words, strict=True):
                replay.sample(np.random.default_rng(7), (4,), out)
            np.testing.assert_array_equal(words[0], words[1])
        one.add(*game.step())
        two.add(*hers.step())
    assert len(one) < 200  # frames went before transitions did
    for name, array in one.state().items():
        np.testing.assert_array_equal(array, two.state()[name], err_msg=name)


def test_only_written_frames_are_saved(tmp_path: Path) -> None:
    replay = FrameReplay(100_000, (4, 10, 10), ACTIONS)
    play(replay, 0, 1, 50)
    saved(replay, tmp_path)
    size = sum(f.stat().st_size for f in (tmp_path / "checkpoint-1").glob("replay-*.npy"))
    assert 51 * 100 < size < 51 * 100 + 50 * 60 + 2_000


def damage(name, change):
    def apply(parts):
        parts[name] = change(parts[name].copy())

    return apply


def put(index, value):
    def change(array):
        array[index] = value
        return array

    return change


@pytest.mark.parametrize(
    "harm",
    [
        lambda parts: parts.pop("rows"),
        damage("frames", lambda a: a[:-1]),
        damage("frames", lambda a: a[:, :-1]),
        damage("frames", lambda a: a.astype(np.int8)),
        damage("rows", lambda a: a[:-1]),
        damage("rows", put((3, 1), 10**6)),
        damage("rows", put((3, 0), -1)),
        damage("live", put(0, 60)),
        damage("live", put(0, -1)),
        damage("live", lambda a: np.repeat(a[:1], len(a))),
        damage("last", put((0, 0), 10**9)),
        damage("counts", put(0, 5)),
        damage("counts", put(1, 5)),
        damage("counts", put(2, 5)),
        damage("counts", lambda a: a[:2]),
        damage("counts", lambda a: a.reshape(3, 1)),
    ],
)
def test_damaged_state_is_refused(harm: Any) -> None:
    replay = FrameReplay(60, (3, 5, 4), ACTIONS)
    fill(replay, Game(8, 2, (3, 5, 4), end=0.3), 50)
    parts = dict(replay.state())
    harm(parts)
    with pytest.raises(InputError, match="the run holds a replay buffer that is damaged"):
        FrameReplay(60, (3, 5, 4), ACTIONS).restore(parts, replay.added, "the run")


def test_states_of_other_replays_are_refused() -> None:
    frames, plain = FrameReplay(60, (3, 5, 4), ACTIONS), TransitionReplay(60, 60, ACTIONS)
    fill(frames, Game(8, 2, (3, 5, 4)), 50)
    for replay, state in (
        (frames, plain.state()),
        (plain, frames.state()),
        (FrameReplay(60, (3, 4, 4), ACTIONS), frames.state()),
        (FrameReplay(60, (2, 5, 4), ACTIONS), frames.state()),
        (FrameReplay(61, (3, 5, 4), ACTIONS), frames.state()),
    ):
        with pytest.raises(InputError, match="has other observations"):
            replay.restore(state, frames.added)


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    replay = FrameReplay(60, (3, 5, 4), ACTIONS)
    fill(replay, Game(8, 2, (3, 5, 4)), 50)
    saved(replay, tmp_path)
    path = tmp_path / "checkpoint-1" / "replay-frames.npy"
    complete = path.read_bytes()
    for data in (b"", complete[: len(complete) // 2], b"PK\3\4 an archive", b"\x80\4 a pickle"):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"replay-frames.npy is damaged \(it is not as it was"):
            Checkpoints(tmp_path).load()
        seal(path.parent)
        with pytest.raises(InputError, match=r"replay-frames.npy is damaged \(it is no array"):
            Checkpoints(tmp_path).load()


def test_a_million_atari_transitions_take_less_than_8_gb() -> None:
    assert 7.1e9 < sum(bytes_needed(10**6, ATARI, ACTIONS)) < 8e9


def test_bytes_needed_are_those_of_the_arrays() -> None:
    replay = FrameReplay(1_234, (3, 5, 4), ACTIONS)
    assert sum(bytes_needed(1_234, (3, 5, 4), ACTIONS)) == sum(a.nbytes for a in replay._ring)


def test_a_memory_mapped_replay_is_the_same_and_leaves_nothing(tmp_path: Path) -> None:
    folder, image = tmp_path / "on" / "disk", (3, 5, 4)
    mapped, plain = FrameReplay(60, image, ACTIONS, folder), FrameReplay(60, image, ACTIONS)
    assert not list(folder.iterdir())
    for replay in (mapped, plain):
        fill(replay, Game(9, 3, image, kinds=50, end=0.5), 100)
    for a, b in zip(everything(mapped), everything(plain), strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_does_not_fit_is_refused_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "free_memory", lambda: 4 * 10**9)
    with pytest.raises(
        InputError,
        match=r"1,000,000 transitions of 4x84x84 pixels needs 7\.27 GB of memory and 4\.00 GB are "
        r"free: give a smaller --buffer-size, or keep its frames in a file with --memory-map",
    ):
        FrameReplay(10**6, ATARI, ACTIONS)
    monkeypatch.setattr(machine, "free_disk", lambda folder: 10**9)
    with pytest.raises(InputError, match=r"needs 7\.20 GB in .* and 1\.00 GB are free"):
        FrameReplay(10**6, ATARI, ACTIONS, tmp_path)
    monkeypatch.setattr(machine, "free_memory", lambda: 10**7)
    with pytest.raises(InputError, match=r"needs 0\.07 GB of memory .* --buffer-size$"):
        FrameReplay(10**6, ATARI, ACTIONS, tmp_path)


def test_a_folder_that_cannot_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file is a file: give a folder"):
        FrameReplay(10, (3, 5, 4), ACTIONS, tmp_path / "file" / "folder")

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(InputError, match="No space left on device"):
        FrameReplay(10, (3, 5, 4), ACTIONS, tmp_path)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match=r"0 transitions .* at least 1"):
        FrameReplay(0, ATARI, ACTIONS)
    with pytest.raises(InputError, match=r"images \(84, 84\)"):
        FrameReplay(10, (84, 84), ACTIONS)  # type: ignore[arg-type]
    replay, obs = FrameReplay(10, (3, 5, 4), ACTIONS), np.zeros((2, 60), np.uint8)
    row = transition(obs, [0, 0], [0, 0], [0, 0], [1, 1], obs)
    with pytest.raises(InputError, match=r"float32\[2, 60\]: .* takes uint8\[2, 60\]"):
        replay.add(row._replace(obs=obs.astype(np.float32)))
    with pytest.raises(InputError, match=r"uint8\[2, 59\]"):
        replay.add(row._replace(next_obs=obs[:, 1:]))
    for who in ([0], [0, -1], [[0, 1]]):
        with pytest.raises(InputError, match="an env for each of 2 rows"):
            replay.add(row, np.array(who))
    assert len(replay) == replay.added == 0
    replay.add(row)
    with pytest.raises(ValueError, match=r"contiguous int32\[3, 34\]"):
        replay.sample(np.random.default_rng(0), (3,), np.zeros((3, 33), np.int32))
