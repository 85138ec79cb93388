"""A core in a policy file."""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError, load_core
from policy_inertia.networks import layers as network
from policy_inertia.networks.stored_layers import restore, store
from policy_inertia.policies.box_spaces_with_core import BoxSpacesWithCore
from policy_inertia.policies.core_file import StoredCore, restore_core, store_core
from policy_inertia.policies.cores import Core
from policy_inertia.policies.spaces_with_core import SpacesWithCore, core_identity
from policy_inertia.schema import read_as
from tests.support.arm import LOW, Arm, arm_core
from tests.support.policies import OBS
from tests.support.sb3_models import SB3Model

W = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)


def linear_core() -> Core:
    return load_core(lambda obs: obs @ W, "CartPole-v1", output="q")


@dataclass(frozen=True)
class Described:
    """The part of a policy file's description that is about its core."""

    core: StoredCore
    config: dict[str, Any]
    task: str = "CartPole-v1"
    env_kwargs: dict[str, Any] = field(default_factory=dict)


def described(stored: dict[str, Any], config: dict[str, Any] | None = None) -> Described:
    return Described(read_as(StoredCore, stored), config or {})


def test_measured_numbers_survive_a_checkpoint_and_a_file() -> None:
    spaces = SpacesWithCore.of_core(linear_core(), unit=0.5)
    other = dataclasses.replace(spaces, unit=2.0)
    assert other.with_arrays(spaces.to_arrays()) == spaces
    arrays, stored = store_core(spaces)
    about = described(stored, {"digest": core_identity(spaces.core).digest})
    assert restore_core(spaces.core.spaces, arrays, about, spaces.core).unit == 0.5


def test_stored_core_comes_back_from_a_file(sb3_model: SB3Model) -> None:
    core = load_core(sb3_model("PPO", "CartPole-v1")[1], "CartPole-v1", temperature=0.5)
    arrays, stored = store_core(SpacesWithCore.of_core(core))
    about = described(json.loads(json.dumps(stored)))
    restored = restore_core(core.spaces, arrays, about, None).core
    assert (restored.name, restored.kind) == (core.name, "logits")
    np.testing.assert_array_equal(restored.probabilities(OBS), core.probabilities(OBS))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"kind": "system"}, "kind is 'system': it must be 'action' or 'logits' or"),
        ({"kind": "action"}, "the core's kind is 'action': expected 'logits' or 'q'"),
        ({"unit": -1.0}, "the core's unit is -1.0: expected a number from 0 on"),
        ({"temperature": None}, "temperature is None: it must be a number"),
        ({"layers": [{"kind": "Popen"}]}, "layer 0 is of kind 'Popen'"),
        ({"layers": [{"kind": "Flatten"}]}, r"outputs of shape \[4\]: expected one for each of"),
        ({"layers": [{"kind": "OneHot", "n": 10**12}]}, r"outputs of shape \[4, 1000000000000\]"),
        ({"layers": [{"kind": "Linear"}] * 9}, "layer 0 cannot be used: w is missing"),
    ],
)
def test_damaged_core_in_a_file_is_refused(
    broken: dict[str, Any], message: str, sb3_model: SB3Model
) -> None:
    core = load_core(sb3_model("DQN", "CartPole-v1")[1], "CartPole-v1")
    arrays, stored = store_core(SpacesWithCore.of_core(core))
    with pytest.raises(InputError, match=message):
        restore_core(core.spaces, arrays, described({**stored, **broken}), None)


def test_core_that_a_file_cannot_hold_must_be_given_again_and_be_the_same() -> None:
    core = linear_core()
    arrays, stored = store_core(SpacesWithCore.of_core(core))
    config = {"digest": core_identity(core).digest}
    about = described(stored, config)
    with pytest.raises(InputError, match="which a file cannot hold: give it again"):
        restore_core(core.spaces, arrays, about, None)
    other = load_core(lambda obs: -obs @ W, "CartPole-v1", output="q")
    with pytest.raises(InputError, match="acts differently: give exactly the same core"):
        restore_core(core.spaces, arrays, about, other)
    assert restore_core(core.spaces, arrays, about, core).core is core


def test_core_with_continuous_actions_comes_back_from_a_file() -> None:
    core = arm_core()
    arrays, stored = store_core(BoxSpacesWithCore.of_core(core))
    about = described(json.loads(json.dumps(stored)))
    restored: Any = restore_core(core.spaces, arrays, about, None)
    assert isinstance(restored, BoxSpacesWithCore)
    obs = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    np.testing.assert_array_equal(restored.core.output(obs), core.output(obs))


def test_damaged_core_with_continuous_actions_is_refused() -> None:
    core = arm_core()
    arrays, stored = store_core(BoxSpacesWithCore.of_core(core))
    for broken, message in (
        ({"kind": "q"}, "the core's kind is 'q': expected 'action'"),
        (
            {"layers": stored["layers"][:2]},
            r"outputs of shape \[3\]: .* the 4 numbers of an act",
        ),
        ({"layers": []}, "which a file cannot hold: give it again"),
    ):
        with pytest.raises(InputError, match=message):
            restore_core(core.spaces, arrays, described({**stored, **broken}), None)


def test_other_core_with_continuous_actions_is_refused() -> None:
    core, other = arm_core(), load_core(lambda obs: np.repeat([LOW], len(obs), 0), Arm)
    arrays, stored = store_core(BoxSpacesWithCore.of_core(core))
    about = described(stored, {"core": {"digest": core_identity(core).digest}})
    same: Any = restore_core(core.spaces, arrays, about, core)
    assert same.core is core
    with pytest.raises(InputError, match="acts differently: give exactly the same core"):
        restore_core(core.spaces, arrays, about, other)


def test_layers_of_every_kind_come_back_from_their_arrays() -> None:
    rng = np.random.default_rng(0)
    layers: network.Layers = (
        network.Rescale(np.float32(0), np.full(3, 2.0), 5.0),  # type: ignore[arg-type]
        network.ChannelsFirst(),
        network.Conv(rng.normal(size=(2, 3, 2, 2)), rng.normal(size=(2, 1, 1))[:, 0, 0], 2),
        network.Activation("Tanh"),
        network.Flatten(),
        network.Linear(rng.normal(size=(8, 2)), np.zeros(2)),
    )
    arrays, kinds = store(layers)
    again = restore(arrays, json.loads(json.dumps(kinds)))
    obs = rng.normal(size=(5, 4, 4, 3)).astype(np.float32)
    np.testing.assert_array_equal(network.run(again, obs), network.run(layers, obs))
    (one,) = restore(*store((network.OneHot(3, 1),)))
    assert one == network.OneHot(3, 1)
