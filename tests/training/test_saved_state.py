"""Checkpoints with the right checksums and wrong contents: each is refused in one sentence."""

import copy
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.replay.interface import Stored
from policy_inertia.run_settings import settings
from policy_inertia.schema import read_as
from policy_inertia.training.saved_state import RunState, SessionState, restore_generator
from policy_inertia.training.session import Session

Saved = tuple[dict[str, np.ndarray], Any, SessionState]


def new_session() -> Session:
    config = settings("sac-repeat", "CartPole-v1", envs=2, buffer_size=500)
    return Session(config, "CartPole-v1")


@pytest.fixture(scope="module")
def saved() -> Saved:
    session = new_session()
    while session.step < 100:
        session.advance()
    arrays, state = session.state()
    records: Stored = session.replay.state()
    return {name: np.array(a) for name, a in arrays.items()}, np.array(records), state


def test_whole_state_is_restored(saved: Saved) -> None:
    session = new_session()
    assert session.restore(*saved, Path("run"))
    assert session.state()[1] == saved[2]
    assert session.step == 100


def refuse(saved: Saved, match: str, arrays: Any = None, records: Any = None, **state: Any) -> None:
    harmed = dataclasses.replace(saved[2], **state)
    parts = (saved[0] | (arrays or {}), saved[1] if records is None else records, harmed)
    with pytest.raises(InputError, match=match) as error:
        new_session().restore(*parts, Path("checkpoint-100"))
    assert str(error.value).startswith("checkpoint-100 ")
    assert "\n" not in str(error.value)


# numbers ------------------------------------------------------------------------------------------


def as_json(saved: Saved) -> dict[str, Any]:
    run = {"best": 3.5, "next_eval": 500, "metrics_size": 100}
    return copy.deepcopy({**dataclasses.asdict(saved[2]), **run})


def test_numbers_come_back_from_json(saved: Saved) -> None:
    state = read_as(RunState, as_json(saved), "state.json")
    assert dataclasses.asdict(state) == as_json(saved)


NO_VALUES: list[Any] = [..., "x", True, float("inf"), [[]]]
NO_COUNTS: list[Any] = [-1, 1.5, 10**40, None]
COUNTS = ["step", "updates", "added", "next_eval", "metrics_size"]
WRONG = [
    *((name, value) for name in COUNTS for value in NO_COUNTS),
    *((field.name, value) for field in dataclasses.fields(RunState) for value in NO_VALUES),
    ("losses", {"loss": "x"}),
    ("losses", {"loss": float("nan")}),
    ("act_rng", None),
    ("best", [1]),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_wrong_or_missing_number_is_refused(saved: Saved, name: str, value: Any) -> None:
    state = {k: v for k, v in as_json(saved).items() if k != name or value is not ...}
    if value is not ...:
        state[name] = value
    with pytest.raises(InputError, match=rf"^state.json cannot be used: {name}|^state.*{name} is"):
        read_as(RunState, state, "state.json")


@pytest.mark.parametrize("recent", [[1], [[1]], [[1, 2, 3]], [["x", 1]], [[1.0, 0.5]], {}])
def test_wrong_episodes_are_refused(saved: Saved, recent: Any) -> None:
    with pytest.raises(InputError, match="recent"):
        read_as(RunState, {**as_json(saved), "recent": recent}, "state.json")


# random generators --------------------------------------------------------------------------------


def test_generator_goes_on_where_it_was() -> None:
    one, two = np.random.default_rng(1), np.random.default_rng(2)
    one.integers(0, 10, 3, dtype=np.int32)
    restore_generator(two, dict(one.bit_generator.state), "state.json")
    assert one.bit_generator.state == two.bit_generator.state
    np.testing.assert_array_equal(one.random(5), two.random(5))


def change(*path: str, to: Any) -> Callable[[dict[str, Any]], None]:
    def apply(state: dict[str, Any]) -> None:
        for key in path[:-1]:
            state = state[key]
        if to is ...:
            del state[path[-1]]
        else:
            state[path[-1]] = to

    return apply


NO_WORDS: list[Any] = [..., None, "1", 1.5, -1, 2**128, True, [], {}]
NO_NAMES: list[Any] = [..., None, 3, "MT19937", "os.system", []]
NO_STATES: list[Any] = [..., None, 3, [], {}, {"state": 1}]
GENERATORS = [
    change(*path, to=value)
    for path in (("state", "state"), ("state", "inc"), ("has_uint32",), ("uinteger",))
    for value in NO_WORDS
]
GENERATORS += [
    *(change("bit_generator", to=x) for x in NO_NAMES),
    *(change("state", to=x) for x in NO_STATES),
    change("state", "inc", to=2),
    change("more", to=3),
    change("state", "more", to=3),
]


@pytest.mark.parametrize("harm", GENERATORS)
def test_wrong_generator_is_refused(harm: Callable[[dict[str, Any]], None]) -> None:
    rng = np.random.default_rng(1)
    state: dict[str, Any] = copy.deepcopy(dict(rng.bit_generator.state))
    harm(state)
    with pytest.raises(InputError, match=r"^state.json holds the state of a random generator"):
        restore_generator(rng, state, "state.json")
    assert rng.bit_generator.state == np.random.default_rng(1).bit_generator.state


def test_wrong_generator_of_a_session_is_refused(saved: Saved) -> None:
    refuse(saved, "a random generator", act_rng={})
    refuse(saved, "a random generator", replay_rng={"bit_generator": "PCG64"})


# arrays -------------------------------------------------------------------------------------------


def test_missing_array_is_refused(saved: Saved) -> None:
    for name in saved[0]:
        arrays = {k: v for k, v in saved[0].items() if k != name}
        with pytest.raises(InputError, match=r"^run (holds nothing for|holds running episodes)"):
            new_session().restore(arrays, saved[1], saved[2], Path("run"))


def test_array_of_another_shape_or_type_is_refused(saved: Saved) -> None:
    for name, array in saved[0].items():
        for other in (array[None], array.reshape(-1)[:0], array.astype(np.complex64), np.zeros(())):
            if (other.dtype, other.shape) != (array.dtype, array.shape):
                refuse(saved, r"holds (complex64|float|int|bool|running episodes)", {name: other})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("envs.lengths", [2**62, 2**62]),
        ("envs.lengths", [-1, 5]),
        ("envs.episode", [-1, 0]),
        ("decisions.remaining", [-1, 0]),
        ("decisions.remaining", [9, 0]),
        ("decisions.choice", [10**6, 0]),
        ("decisions.prev_choice", [0, 10**6]),
        ("decisions.prev_action", [2, 0]),
    ],
)
def test_impossible_episode_is_refused(saved: Saved, name: str, values: list[int]) -> None:
    array = np.array(values, saved[0][name].dtype)
    refuse(saved, "running episodes that do not fit", {name: array})


def test_held_action_must_exist(saved: Saved) -> None:
    null = np.array([-1, -1])
    held = {"decisions.remaining": np.array([1, 1]), "decisions.prev_action": null}
    refuse(saved, "running episodes that do not fit", held)


def test_actions_that_the_env_does_not_have_are_refused(saved: Saved) -> None:
    for action in (-1, 2, 10**6):
        actions = np.full_like(saved[0]["envs.actions"], action)
        refuse(saved, "running episodes that do not fit", {"envs.actions": actions})
    refuse(saved, "running", {"envs.lengths": np.zeros_like(saved[0]["envs.lengths"])})


def test_arrays_cannot_replace_other_attributes(saved: Saved) -> None:
    session = new_session()
    extra = {"decisions.end": np.zeros(3), "envs.step": np.zeros(3)}
    session.restore(saved[0] | extra, saved[1], saved[2], Path("run"))
    session.advance()


# replay -------------------------------------------------------------------------------------------


def test_replay_of_another_shape_or_type_is_refused(saved: Saved) -> None:
    records = saved[1]
    for other in (
        records[:-1],
        records[:, None],
        records[0],
        np.zeros(len(records)),
        np.zeros((), records.dtype),
        {},
        {"frames": records},
    ):
        refuse(saved, "holds a replay buffer that is damaged", records=other)
    refuse(saved, "holds a replay buffer that is damaged", added=saved[2].added + 1)
    refuse(saved, "holds a replay buffer that is damaged", added=0)
