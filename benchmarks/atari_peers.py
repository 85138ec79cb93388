"""Learning from pixels in PyTorch: SB3's DQN, and discrete SAC as CleanRL writes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

BATCH, GAMMA, LEARNING_RATE = 64, 0.99, 3e-4
TEMPERATURE, TARGET_RATE = 0.1, 0.005
STEPS_PER_UPDATE = 4
IMAGE = (4, 84, 84)


def nature(outputs: int, channels_last: bool = False) -> nn.Sequential:
    """The network of the paper's table, which is the one of the Nature paper on DQN."""
    network = nn.Sequential(
        nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
        nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(),
        nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, outputs),
    )  # fmt: skip
    # torch's stubs do not know this form of `to`
    return network.to(memory_format=torch.channels_last) if channels_last else network  # type: ignore[call-overload]


def network_pass(pixels: np.ndarray, channels_last: bool) -> Callable[[], None]:
    """A call that runs one network forward and backward, and a step of gradient descent."""
    network = nature(6, channels_last)
    parameters: list[torch.Tensor] = list(network.parameters())
    images = torch.as_tensor(pixels).reshape(-1, *IMAGE)

    def run() -> None:
        x = images.float() / 255
        if channels_last:
            x = x.contiguous(memory_format=torch.channels_last)
        gradients = torch.autograd.grad(network(x).square().sum(), parameters)
        with torch.no_grad():
            torch._foreach_add_(parameters, gradients, alpha=-1e-7)

    return run


def qbert(envs: int) -> Any:
    """Qbert as SB3 prepares it, with raw scores, whole games and no sticky actions."""
    import ale_py
    import gymnasium
    from stable_baselines3.common.env_util import make_atari_env
    from stable_baselines3.common.vec_env import VecFrameStack

    gymnasium.register_envs(ale_py)
    wrapper = {"terminal_on_life_loss": False, "clip_reward": False}
    env = make_atari_env("QbertNoFrameskip-v4", envs, seed=0, wrapper_kwargs=wrapper)
    return VecFrameStack(env, 4)


def sb3_dqn(envs: int, buffer: int, learning_starts: int) -> Any:
    """SB3's DQN on Qbert, with one update every four steps."""
    from stable_baselines3 import DQN

    return DQN(
        "CnnPolicy",
        qbert(envs),
        learning_rate=LEARNING_RATE,
        buffer_size=buffer,
        learning_starts=learning_starts,
        batch_size=BATCH,
        gamma=GAMMA,
        train_freq=max(STEPS_PER_UPDATE // envs, 1),
        gradient_steps=max(envs // STEPS_PER_UPDATE, 1),
        target_update_interval=10_000 * STEPS_PER_UPDATE,
        exploration_initial_eps=0.1,
        exploration_final_eps=0.1,
        optimize_memory_usage=True,
        replay_buffer_kwargs={"handle_timeout_termination": False},
        seed=0,
        device="cpu",
    )


class SAC:
    """Discrete SAC as in CleanRL's sac_atari.py, but with the paper's fixed temperature."""

    def __init__(self, n_actions: int) -> None:
        self.actor = nature(n_actions)
        self.critics = nn.ModuleList(nature(n_actions) for _ in range(2))
        self.targets = nn.ModuleList(nature(n_actions) for _ in range(2))
        self.targets.load_state_dict(self.critics.state_dict())
        self.critic_adam = torch.optim.Adam(self.critics.parameters(), LEARNING_RATE, eps=1e-4)
        self.actor_adam = torch.optim.Adam(self.actor.parameters(), LEARNING_RATE, eps=1e-4)

    def update(self, batch: tuple[torch.Tensor, ...]) -> None:
        """Learn from observations, actions, rewards, discounts and next observations."""
        obs, action, reward, discount, next_obs = batch
        now, then = obs.float() / 255, next_obs.float() / 255
        with torch.no_grad():
            log_pi = F.log_softmax(self.actor(then), -1)
            q = torch.minimum(*(target(then) for target in self.targets))
            value = (log_pi.exp() * (q - TEMPERATURE * log_pi)).sum(-1)
            y = (reward + discount * value)[:, None]
        losses = [F.mse_loss(c(now).gather(1, action[:, None]), y) for c in self.critics]
        self.critic_adam.zero_grad()
        sum(losses).backward()  # type: ignore[union-attr]
        self.critic_adam.step()
        log_pi = F.log_softmax(self.actor(now), -1)
        with torch.no_grad():
            q = torch.minimum(*(critic(now) for critic in self.critics))
        loss = (log_pi.exp() * (TEMPERATURE * log_pi - q)).sum(-1).mean()
        self.actor_adam.zero_grad()
        loss.backward()
        self.actor_adam.step()
        with torch.no_grad():
            targets: list[torch.Tensor] = list(self.targets.parameters())
            critics: list[torch.Tensor] = list(self.critics.parameters())
            torch._foreach_lerp_(targets, critics, TARGET_RATE)
