"""Stable-Baselines3's policies as layers: DQN, QR-DQN, PPO and A2C, MLP and Nature CNN.

A zip is read without unpickling anything: the weights as tensors, the rest of the network from
their shapes and from the readable part of the zip's JSON. SBX's models answer through JAX.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.interop.description import Kind
from policy_inertia.networks.layers import (
    ACTIVATIONS,
    Activation,
    ChannelsFirst,
    Conv,
    Flatten,
    Layer,
    Layers,
    Linear,
    OneHot,
    Rescale,
    run,
)
from policy_inertia.networks.perceptron import log_softmax
from policy_inertia.policies.probing import examples

POLICIES = (
    "stable_baselines3.common.policies",
    "stable_baselines3.dqn.policies",
    "sb3_contrib.qrdqn.policies",
)
EXTRACTORS = ("FlattenExtractor", "NatureCNN")
HARMLESS = {  # arguments of a policy that do not change what its network computes from its weights
    "net_arch",
    "n_quantiles",
    "ortho_init",
    "share_features_extractor",
    "optimizer_class",
    "optimizer_kwargs",
    "features_extractor_kwargs",
    "log_std_init",
    "use_sde",
}
NATURE = (((8, 8), 4), ((4, 4), 2), ((3, 3), 1))  # kernels and strides of the Nature CNN
Read = tuple[Kind, Any, Layers | None]


class UnknownNetworkError(Exception):
    """The network cannot be rebuilt from shapes; the message says what is not known."""


@dataclass(frozen=True)
class Facts:
    """What shapes do not say of a policy's network."""

    policy: str  # the module its class is defined in
    activation: str | None = None  # PyTorch's name; None: the default of its kind
    extractor: str | None = None  # None: the default of its kind
    normalize_images: bool = True
    others: tuple[str, ...] = ()  # further arguments, which may mean anything


def is_model(core: Any) -> bool:
    """Whether this is a live model of Stable-Baselines3, sb3-contrib or SBX."""
    return any(c.__module__ == "stable_baselines3.common.base_class" for c in type(core).__mro__)


def read_model(model: Any, space: gym.Space, spaces: Spaces, rescale: Rescale | None) -> Read:
    """A live model: its network as layers where it is a standard one, else as it stands."""
    if any(c.__module__.startswith("sbx.") for c in type(model).__mro__):
        kind, ask = _of_sbx(model.policy)
        return kind, ask, None
    return _read_policy(model.policy, space, spaces, rescale, type(model).__name__)


def read_zip(
    path: Path, space: gym.Space, spaces: Spaces, rescale: Rescale | None, trust: bool
) -> Read:
    """A saved model; `trust` unpickles what cannot be known otherwise, and only then."""
    state, data = _open(path)
    try:
        kind, layers = _layers(state, _facts(data), space, spaces, rescale, str(path))
    except UnknownNetworkError as reason:
        if not trust:
            raise InputError(
                f"{path} cannot be rebuilt from its shapes alone, as {reason}: say trust=True to "
                "let it run its pickled code if it is yours, or give the live model"
            ) from None
        policy = _unpickle(path, state)
        return _read_policy(policy, space, spaces, rescale, str(path))
    return kind, lambda obs: run(layers, obs), layers


def statistics(
    given: Any, core: Any, env: Any, spaces: Spaces, trust: bool = False
) -> Rescale | None:
    """What SB3's VecNormalize does to observations; a live model's own if none is given.

    An env that is inside a VecNormalize gives normalised observations already.
    """
    if given is False:
        return None
    if given is None:
        normaliser = getattr(core, "get_vec_normalize_env", lambda: None)()
        if normaliser is None or _normalises(env):
            return None
        given = normaliser
    epsilon, clip = 1e-8, 10.0  # VecNormalize's own defaults
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        if path.suffix != ".npz" and not trust:
            raise InputError(
                f"{path} is a pickle and could run code: say trust=True if it is yours, or give "
                "normalise=(mean, var)"
            )
        try:
            if path.suffix == ".npz":
                with np.load(path, allow_pickle=False) as file:
                    epsilon = float(file.get("epsilon", epsilon))
                    clip = float(file.get("clip", clip))
                    return _rescale(file["mean"], file["var"], epsilon, clip, spaces)
            with open(path, "rb") as pickled:
                given = pickle.load(pickled)
        except (OSError, KeyError, zipfile.BadZipFile, pickle.UnpicklingError, EOFError) as error:
            raise InputError(
                f"{path} cannot be read as VecNormalize statistics ({error}): give a .npz with "
                "mean and var, or what VecNormalize saved"
            ) from error
    if hasattr(given, "obs_rms"):
        if not given.norm_obs:
            return None
        if isinstance(given.obs_rms, dict):
            raise InputError("these VecNormalize statistics are of Dict observations: expected Box")
        rms = given.obs_rms
        return _rescale(rms.mean, rms.var, given.epsilon, given.clip_obs, spaces)
    if isinstance(given, tuple | list) and len(given) == 2:
        mean, var = given
        return _rescale(mean, var, epsilon, clip, spaces)
    raise InputError(
        f"normalise is {type(given).__name__}: give a VecNormalize, (mean, var), a .npz with "
        "both, or its .pkl with trust=True"
    )


def _rescale(mean: Any, var: Any, epsilon: float, clip: float, spaces: Spaces) -> Rescale:
    mean, var = np.asarray(mean, float), np.asarray(var, float)
    if mean.shape != spaces.obs_shape or var.shape != spaces.obs_shape:
        raise InputError(
            f"normalise has a mean of shape {mean.shape} and a variance of shape {var.shape}: "
            f"the observations have shape {spaces.obs_shape}"
        )
    return Rescale(mean, np.sqrt(var + epsilon), clip)


def _normalises(env: Any) -> bool:
    """Whether an SB3 VecEnv has a VecNormalize among its wrappers."""
    while env is not None:
        if hasattr(env, "obs_rms"):
            return True
        env = getattr(env, "venv", None)
    return False


def _open(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The tensors of a zip's policy, and its JSON, of which only plain values are looked at."""
    try:
        import torch
    except ImportError:
        raise InputError(
            "reading a Stable-Baselines3 zip needs torch: pip install policy-inertia[sb3]"
        ) from None
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if "policy.pth" not in names or "data" not in names:
                raise InputError(
                    f"{path} is a zip, but not one of Stable-Baselines3: it holds no policy.pth "
                    "and data, so save the model with model.save (SBX: give the live model)"
                )
            data = json.loads(archive.read("data"))
            with archive.open("policy.pth") as file, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of odd pickles, which are refused anyway
                state = torch.load(file, map_location="cpu", weights_only=True)
        tensors = {key: value.numpy() for key, value in state.items()}
    except zipfile.BadZipFile:
        raise InputError(f"{path} is no zip file, or a broken one: save the model again") from None
    except (
        pickle.UnpicklingError,
        ValueError,
        RuntimeError,
        AttributeError,
        TypeError,
        EOFError,
    ) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path} holds more than weights where weights should be, or is broken, and was not "
            "loaded: get it from whom you trust, saved with model.save"
        ) from error
    if not isinstance(data, dict):
        raise InputError(f"{path} has data that is no table: save the model with model.save")
    return tensors, data


def _facts(data: dict[str, Any]) -> Facts:
    """What the readable part of a zip's JSON says; pickles in it are left alone."""
    policy = data.get("policy_class")
    module = policy.get("__module__") if isinstance(policy, dict) else None
    if not isinstance(module, str):
        raise UnknownNetworkError("it does not say of which class its policy is")
    given = data.get("policy_kwargs") or {}
    if not isinstance(given, dict):
        raise UnknownNetworkError("the arguments of its policy are no table")
    kwargs = {k: v for k, v in given.items() if not k.startswith(":")}
    if given and ":serialized:" in given and not kwargs:
        raise UnknownNetworkError("the arguments of its policy are pickled")
    activation = kwargs.pop("activation_fn", None)
    extractor = kwargs.pop("features_extractor_class", None)
    return Facts(
        module,
        None if activation is None else _class_in(activation, "torch.nn.modules.activation"),
        None
        if extractor is None
        else _class_in(extractor, "stable_baselines3.common.torch_layers"),
        kwargs.pop("normalize_images", True) is True,
        tuple(sorted(set(kwargs) - HARMLESS)),
    )


def _class_in(text: Any, module: str) -> str:
    """The class's name in "<class 'module.Name'>"; anything else is not known."""
    found = re.fullmatch(rf"<class '{re.escape(module)}\.(\w+)'>", str(text))
    if not found:
        raise UnknownNetworkError(f"its network uses {str(text)[:80]}")
    return found[1]


def _layers(
    state: dict[str, np.ndarray],
    facts: Facts,
    space: gym.Space,
    spaces: Spaces,
    rescale: Rescale | None,
    name: str,
) -> tuple[Kind, Layers]:
    """The network that these weights belong to."""
    if any("lstm" in key for key in state) or "recurrent" in facts.policy:
        raise InputError(
            f"{name} is recurrent: it carries a state from step to step, and a core must not, so "
            "give a policy without memory"
        )
    if "maskable" in facts.policy:
        raise InputError(
            f"{name} chooses among masked actions, and a core sees observations alone: give a "
            "callable that applies the mask"
        )
    if "log_std" in state or any(key.startswith("actor.") for key in state):
        raise InputError(
            f"{name} has continuous actions: policy inertia needs Discrete ones, so give a DQN, "
            "QR-DQN, PPO or A2C model of such a task"
        )
    if facts.policy not in POLICIES:
        raise UnknownNetworkError(f"its policy is of a class of {facts.policy}")
    if facts.others:
        raise UnknownNetworkError(f"its policy has the argument {facts.others[0]}")
    if facts.extractor not in (None, *EXTRACTORS):
        raise UnknownNetworkError(f"its features come from a {facts.extractor}")

    kind: Kind = "q"
    rest: tuple[str, ...]
    if any(key.startswith("q_net.q_net.") for key in state):
        body, extractor, rest = "q_net.q_net", "q_net.features_extractor", ("q_net_target.",)
        activation = facts.activation or "ReLU"
    elif any(key.startswith("quantile_net.quantile_net.") for key in state):
        body, extractor = "quantile_net.quantile_net", "quantile_net.features_extractor"
        rest = ("quantile_net_target.",)
        activation = facts.activation or "ReLU"
    elif "action_net.weight" in state:
        kind, body, extractor = "logits", "mlp_extractor.policy_net", "features_extractor"
        rest = ("mlp_extractor.value_net.", "value_net.", "vf_features_extractor.")
        rest = (*rest, "pi_features_extractor.", "action_net.")
        activation = facts.activation or "Tanh"
    else:
        raise InputError(
            f"{name} holds no policy of DQN, QR-DQN, PPO or A2C: its first weights are "
            f"'{next(iter(state), 'none')}'"
        )
    if activation not in ACTIVATIONS:
        raise UnknownNetworkError(f"its activation is {activation}")
    expected = ["action_net.bias"] if kind == "logits" else []
    if f"{extractor}.cnn.0.weight" in state:
        expected += [f"{extractor}.linear.0.weight", f"{extractor}.linear.0.bias"]
    for key in expected:
        if key not in state:
            raise UnknownNetworkError(f"it has no weights named {key}")
    for key in state:
        if not key.startswith((f"{body}.", f"{extractor}.", *rest)):
            raise UnknownNetworkError(f"it has weights named {key}")

    layers = [*_input(state, extractor, facts, space, spaces, rescale)]
    hidden = _perceptron(state, body)
    if kind == "logits":
        hidden.append(Linear(state["action_net.weight"].T, state["action_net.bias"]))
    if body.startswith("quantile"):
        hidden[-1] = _mean_over_quantiles(hidden[-1], spaces.discrete.n, name)
    for linear in hidden:
        layers += [linear, Activation(activation)]
    _refuse_other_spaces(hidden, layers, spaces, name)
    return kind, tuple(layers[:-1])


def _input(
    state: dict[str, np.ndarray],
    extractor: str,
    facts: Facts,
    space: gym.Space,
    spaces: Spaces,
    rescale: Rescale | None,
) -> Layers:
    """What SB3 does with an observation before the perceptron: `preprocess_obs`, the extractor."""
    if spaces.n_states is not None:
        return (OneHot(spaces.n_states, spaces.first_state), Flatten())
    layers: list[Layer] = [] if rescale is None else [rescale]
    image = rescale is None and _is_image(space)
    if image and int(np.argmin(spaces.obs_shape)) != 0:  # SB3 takes channels to be the fewest
        layers.append(ChannelsFirst())
    if image and facts.normalize_images:
        layers.append(Rescale(np.zeros((), np.float32), np.full((), 255, np.float32)))
    if f"{extractor}.cnn.0.weight" not in state:
        return (*layers, Flatten())
    for index, (kernel, stride) in zip((0, 2, 4), NATURE, strict=True):
        w, b = (state.get(f"{extractor}.cnn.{index}.{part}") for part in ("weight", "bias"))
        if w is None or b is None or w.shape[2:] != kernel:
            raise UnknownNetworkError("its convolutions are not those of the Nature CNN")
        layers += [Conv(w, b, stride), Activation("ReLU")]
    w, b = state[f"{extractor}.linear.0.weight"], state[f"{extractor}.linear.0.bias"]
    if sum(key.startswith(f"{extractor}.") for key in state) != 8:
        raise UnknownNetworkError("its features come from more than the Nature CNN")
    return (*layers, Flatten(), Linear(w.T, b), Activation("ReLU"))


def _is_image(space: gym.Space) -> bool:
    """SB3's own rule, which the tests hold beside it: three axes of bytes from 0 to 255."""
    return (
        isinstance(space, gym.spaces.Box)
        and len(space.shape) == 3
        and space.dtype == np.uint8
        and bool((space.low == 0).all() and (space.high == 255).all())
    )


def _perceptron(state: dict[str, np.ndarray], prefix: str) -> list[Linear]:
    """Linear layers at 0, 2, 4, ... with activations between; anything else is not known."""
    keys = [key.removeprefix(f"{prefix}.") for key in state if key.startswith(f"{prefix}.")]
    expected = [f"{2 * i}.{part}" for i in range(len(keys) // 2) for part in ("weight", "bias")]
    if sorted(keys) != sorted(expected):
        raise UnknownNetworkError(f"{prefix} has layers {', '.join(keys)}")
    found = []
    for i in range(len(keys) // 2):
        w, b = state[f"{prefix}.{2 * i}.weight"], state[f"{prefix}.{2 * i}.bias"]
        if w.ndim != 2:
            raise UnknownNetworkError(f"{prefix}.{2 * i} is no linear layer")
        found.append(Linear(np.ascontiguousarray(w.T), b))
    return found


def _mean_over_quantiles(last: Linear, n_actions: int, name: str) -> Linear:
    """QR-DQN's Q is the mean over quantiles, which is linear: it goes into the last layer."""
    outputs = last.w.shape[1]
    if outputs % n_actions:
        raise InputError(
            f"{name} has {outputs} quantiles, which {n_actions} actions do not divide: the "
            "action spaces differ, so give the env that it was trained on"
        )
    return Linear(
        last.w.reshape(len(last.w), -1, n_actions).mean(1), last.b.reshape(-1, n_actions).mean(0)
    )


def _refuse_other_spaces(
    hidden: list[Linear], layers: list[Layer], spaces: Spaces, name: str
) -> None:
    n_actions = hidden[-1].w.shape[1]
    if n_actions != spaces.discrete.n:
        raise InputError(
            f"{name} chooses among {n_actions} actions and the env has {spaces.discrete.n}: the "
            "action spaces differ, so give the env that it was trained on"
        )
    sample = np.zeros((1, *spaces.obs_shape), np.float32)
    try:
        with np.errstate(all="ignore"):
            run(tuple(layers[:-1]), sample)
    except ValueError:
        raise InputError(
            f"{name} does not take observations of shape {spaces.obs_shape}: give the env that it "
            "was trained on, with the same wrappers"
        ) from None


def _read_policy(
    policy: Any, space: gym.Space, spaces: Spaces, rescale: Rescale | None, name: str
) -> Read:
    """A live policy as layers where they give what it gives, else through torch."""
    cls = type(policy)
    kind, ask = _of_torch(policy)
    extractor = getattr(policy, "features_extractor_class", None)
    try:
        facts = Facts(
            cls.__module__,
            getattr(getattr(policy, "activation_fn", None), "__name__", None),
            None if extractor is None else extractor.__name__,
            bool(getattr(policy, "normalize_images", True)),
        )
        state = {key: value.cpu().numpy() for key, value in policy.state_dict().items()}
        kind, layers = _layers(state, facts, space, spaces, rescale, name)
    except UnknownNetworkError:
        return kind, ask, None
    obs = examples(space, 8)
    theirs = ask(obs if rescale is None else run((rescale,), obs))
    ours = run(layers, obs)
    if kind == "logits":
        ours = log_softmax(ours, np)  # as torch's distributions keep them
    if np.allclose(theirs, ours, rtol=1e-4, atol=1e-4):
        return kind, lambda obs: run(layers, obs), layers
    return kind, ask, None  # a module was exchanged by hand


def _of_torch(policy: Any) -> tuple[Kind, Any]:
    """A live torch policy asked as it stands."""
    import torch

    if any("lstm" in key for key in policy.state_dict()):
        raise InputError(
            f"{type(policy).__name__} is recurrent: it carries a state from step to step, and a "
            "core must not, so give a policy without memory"
        )
    policy.set_training_mode(False)
    kind: Kind = "q"
    if hasattr(policy, "q_net"):
        values = policy.q_net
    elif hasattr(policy, "quantile_net"):
        values = lambda obs: policy.quantile_net(obs).mean(1)  # noqa: E731
    elif hasattr(policy, "get_distribution"):
        kind = "logits"
        values = lambda obs: _logits(policy.get_distribution(obs), policy)  # noqa: E731
    else:
        return "action", lambda obs: policy.predict(obs, deterministic=True)[0]

    def ask(obs: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return values(policy.obs_to_tensor(obs)[0]).cpu().numpy()

    return kind, ask


def _logits(distribution: Any, policy: Any) -> Any:
    if not hasattr(distribution.distribution, "logits"):
        raise InputError(
            f"{type(policy).__name__} has continuous actions: policy inertia needs Discrete ones"
        )
    return distribution.distribution.logits


def _of_sbx(policy: Any) -> tuple[Kind, Any]:
    """SBX's policies: the Q-values or the logits that their states' functions give."""
    if hasattr(policy, "qf_state") and not hasattr(policy, "actor_state"):
        return "q", lambda obs: np.asarray(
            policy.qf_state.apply_fn(policy.qf_state.params, policy.prepare_obs(obs)[0])
        )
    state = policy.actor_state
    if hasattr(state.apply_fn(state.params, _some(policy)), "logits_parameter"):
        return "logits", lambda obs: np.asarray(
            state.apply_fn(state.params, policy.prepare_obs(obs)[0]).logits_parameter()
        )
    raise InputError(
        f"{type(policy).__name__} has continuous actions: policy inertia needs Discrete ones"
    )


def _some(policy: Any) -> np.ndarray:
    return policy.prepare_obs(policy.observation_space.sample())[0]


def _unpickle(path: Path, state: dict[str, np.ndarray]) -> Any:
    """The policy of a trusted zip, made by its own pickled class and arguments."""
    import torch
    from stable_baselines3.common.save_util import load_from_zip_file

    data, _, _ = load_from_zip_file(path, device="cpu")
    assert data is not None, "read_zip found it"
    kwargs = dict(data.get("policy_kwargs") or {})
    policy = data["policy_class"](
        data["observation_space"], data["action_space"], lambda _: 0.0, **kwargs
    )
    policy.load_state_dict({key: torch.as_tensor(value) for key, value in state.items()})
    return policy
