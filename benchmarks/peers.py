"""Time how fast other RL libraries train on CartPole-v1, all doing the same work on one thread.

The last line printed is a JSON object with the steps per second and the measured updates per step.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

ENV = "CartPole-v1"
HIDDEN = [64, 64]
BATCH = 64
LEARNING_RATE = 3e-4
GAMMA = 0.99
REPLAY = 200_000
LEARNING_STARTS = 1_000
STEPS_PER_UPDATE = 2
EPSILON = 0.05  # DQN: constant, so that nearly every action comes from the network
TARGET_STEPS = 10_000  # DQN: environment steps between two hard target updates
TEMPERATURE = 0.1  # SAC: fixed
TAU = 0.005  # SAC: target rate, applied at each update
DQN_WARMUP = 11_000  # steps; past the first hard target update, which SBX compiles on first use
SAC_WARMUP = 4_000

DISTRIBUTIONS = {"sb3": "stable-baselines3", "sbx": "sbx-rl"}


@dataclass
class Stopwatch:
    """Counts steps and updates for at least `seconds` after the warm-up."""

    seconds: float
    warmup_steps: int
    start: tuple[float, int, int] | None = None
    result: dict[str, float] = field(default_factory=dict)

    def tick(self, steps: int, updates: int) -> bool:
        """Record the totals so far; return whether to continue training."""
        now = time.perf_counter()
        if self.start is None:
            if steps >= self.warmup_steps:
                self.start = (now, steps, updates)
            return True
        started, first_step, first_update = self.start
        elapsed, stepped = now - started, steps - first_step
        if elapsed < self.seconds:
            return True
        self.result = {
            "steps_per_second": round(stepped / elapsed, 1),
            "updates_per_step": round((updates - first_update) / stepped, 4),
        }
        return False


def one_thread() -> None:
    """Limit all libraries to one thread; call before any of them is imported."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    import torch

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)


def make_env() -> Any:
    import gymnasium

    return gymnasium.make(ENV)


def sb3_model(dqn: type, envs: int) -> Any:
    """A DQN of Stable-Baselines3, or of SBX, which shares its interface."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    return dqn(
        "MlpPolicy",
        DummyVecEnv([make_env] * envs),
        learning_rate=LEARNING_RATE,
        buffer_size=REPLAY,
        learning_starts=LEARNING_STARTS,
        batch_size=BATCH,
        gamma=GAMMA,
        train_freq=max(STEPS_PER_UPDATE // envs, 1),
        gradient_steps=max(envs // STEPS_PER_UPDATE, 1),
        target_update_interval=TARGET_STEPS,
        exploration_initial_eps=EPSILON,
        exploration_final_eps=EPSILON,
        policy_kwargs={"net_arch": HIDDEN},
        seed=0,
        device="cpu",
    )


def sb3_learn(dqn: type, envs: int, seconds: float) -> dict[str, float]:
    model = sb3_model(dqn, envs)
    watch = Stopwatch(seconds, DQN_WARMUP)
    model.learn(
        total_timesteps=10**9,  # the callback stops it
        callback=lambda *_: watch.tick(model.num_timesteps, model._n_updates),
        log_interval=None,
    )
    return watch.result


def sb3_dqn(envs: int, seconds: float) -> dict[str, float]:
    from stable_baselines3 import DQN

    return sb3_learn(DQN, envs, seconds)


def sbx_dqn(envs: int, seconds: float) -> dict[str, float]:
    from sbx import DQN

    return sb3_learn(DQN, envs, seconds)


def sb3_predict(calls: int = 2_000, warmup: int = 200) -> dict[str, float]:
    """Time one deterministic `predict` on one observation, in microseconds; the median counts."""
    from stable_baselines3 import DQN

    model = sb3_model(DQN, 1)
    obs, _ = make_env().reset(seed=0)
    times = []
    for _ in range(warmup + calls):
        start = time.perf_counter()
        model.predict(obs, deterministic=True)
        times.append(time.perf_counter() - start)
    return {"median_us": round(1e6 * statistics.median(times[warmup:]), 1)}


def tianshou_train(
    algorithm: Any, envs: int, watch: Stopwatch, *, exploration_noise: bool
) -> dict[str, float]:
    """Collect and update without Tianshou's trainer, which scans the whole replay each time."""
    import torch
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.env import DummyVectorEnv
    from tianshou.utils.torch_utils import policy_within_training_step

    buffer = VectorReplayBuffer(REPLAY, envs)
    collector = Collector(
        algorithm, DummyVectorEnv([make_env] * envs), buffer, exploration_noise=exploration_noise
    )
    collector.reset()
    chunk = max(envs, STEPS_PER_UPDATE)
    steps = chunk * (LEARNING_STARTS // chunk + 1)
    updates = 0
    collector.collect(n_step=steps, random=True)
    with policy_within_training_step(algorithm.policy):
        while watch.tick(steps, updates):
            with torch.no_grad():
                steps += collector.collect(n_step=chunk).n_collected_steps
            for _ in range(chunk // STEPS_PER_UPDATE):
                algorithm.update(buffer, BATCH)
                updates += 1
    return watch.result


def tianshou_net() -> Any:
    from tianshou.utils.net.common import Net

    return Net(state_shape=4, action_shape=2, hidden_sizes=HIDDEN)


def tianshou_dqn(envs: int, seconds: float) -> dict[str, float]:
    from tianshou.algorithm import DQN
    from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory

    algorithm = DQN(
        policy=DiscreteQLearningPolicy(
            model=tianshou_net(), action_space=make_env().action_space, eps_training=EPSILON
        ),
        optim=AdamOptimizerFactory(lr=LEARNING_RATE),
        gamma=GAMMA,
        target_update_freq=TARGET_STEPS // STEPS_PER_UPDATE,  # counted in updates
        is_double=False,
        huber_loss_delta=1.0,
    )
    watch = Stopwatch(seconds, DQN_WARMUP)
    return tianshou_train(algorithm, envs, watch, exploration_noise=True)


def tianshou_sac(envs: int, seconds: float) -> dict[str, float]:
    from tianshou.algorithm import DiscreteSAC
    from tianshou.algorithm.modelfree.discrete_sac import DiscreteSACPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.utils.net.common import Net
    from tianshou.utils.net.discrete import DiscreteCritic

    def critic() -> Any:
        return DiscreteCritic(preprocess_net=Net(state_shape=4, hidden_sizes=HIDDEN), last_size=2)

    adam = AdamOptimizerFactory(lr=LEARNING_RATE)
    algorithm = DiscreteSAC(
        policy=DiscreteSACPolicy(actor=tianshou_net(), action_space=make_env().action_space),
        policy_optim=adam,
        critic=critic(),
        critic_optim=adam,
        critic2=critic(),
        critic2_optim=adam,
        tau=TAU,
        gamma=GAMMA,
        alpha=TEMPERATURE,
    )
    watch = Stopwatch(seconds, SAC_WARMUP)
    return tianshou_train(algorithm, envs, watch, exploration_noise=False)


def torchrl_sac(envs: int, seconds: float) -> dict[str, float]:
    import torch
    from gymnasium.vector import AutoresetMode, SyncVectorEnv
    from tensordict.nn import TensorDictModule
    from torchrl.collectors import Collector
    from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
    from torchrl.envs import GymWrapper
    from torchrl.modules import MLP, ProbabilisticActor
    from torchrl.objectives import DiscreteSACLoss, SoftUpdate

    def net(out_key: str) -> Any:
        mlp = MLP(in_features=4, out_features=2, num_cells=HIDDEN, activation_class=torch.nn.ReLU)
        return TensorDictModule(mlp, ["observation"], [out_key])

    vector = SyncVectorEnv([make_env] * envs, autoreset_mode=AutoresetMode.SAME_STEP)
    # One env is faster without a vector; several are faster here than in torchrl's SerialEnv.
    env = GymWrapper(vector if envs > 1 else make_env(), categorical_action_encoding=True)
    actor = ProbabilisticActor(
        net("logits"),
        in_keys=["logits"],
        spec=env.action_spec,
        distribution_class=torch.distributions.Categorical,
    )
    loss = DiscreteSACLoss(
        actor,
        net("action_value"),
        action_space="categorical",
        num_actions=2,
        num_qvalue_nets=2,
        loss_function="l2",
        alpha_init=TEMPERATURE,
        fixed_alpha=True,
    )
    loss.make_value_estimator(gamma=GAMMA)
    target = SoftUpdate(loss, tau=TAU)
    optimizer = torch.optim.Adam(loss.parameters(), lr=LEARNING_RATE)
    compiled_loss = torch.compile(loss)  # trains about 1.6 times as fast as without
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(REPLAY), batch_size=BATCH)
    collector = Collector(
        env,
        actor,
        frames_per_batch=max(envs, STEPS_PER_UPDATE),
        init_random_frames=LEARNING_STARTS,
        track_traj_ids=False,
        auto_register_policy_transforms=False,
    )

    watch = Stopwatch(seconds, SAC_WARMUP)
    steps = updates = 0
    for data in collector:
        buffer.extend(data.reshape(-1))
        steps += data.numel()
        if steps >= LEARNING_STARTS:
            for _ in range(data.numel() // STEPS_PER_UPDATE):
                losses = compiled_loss(buffer.sample())
                (losses["loss_actor"] + losses["loss_qvalue"]).backward()
                optimizer.step()
                optimizer.zero_grad()
                target.step()
                updates += 1
        if not watch.tick(steps, updates):
            break
    collector.shutdown()
    return watch.result


PEERS: dict[str, Callable[[int, float], dict[str, float]]] = {
    "sb3-dqn": sb3_dqn,
    "sbx-dqn": sbx_dqn,
    "tianshou-sac": tianshou_sac,
    "tianshou-dqn": tianshou_dqn,
    "torchrl-sac": torchrl_sac,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=[*PEERS, "sb3-predict"])
    parser.add_argument("--envs", type=int, default=8, help="1 or an even number")
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="least number of seconds of training"
    )
    args = parser.parse_args()
    if args.envs != 1 and (args.envs < 1 or args.envs % STEPS_PER_UPDATE):
        parser.error("--envs must be 1 or even, for one update per two steps")
    one_thread()
    if args.peer == "sb3-predict":
        print(json.dumps({"peer": args.peer, **sb3_predict()}))
        return
    result = PEERS[args.peer](args.envs, args.seconds)
    library = args.peer.split("-")[0]
    release = version(DISTRIBUTIONS.get(library, library))
    print(json.dumps({"peer": args.peer, "envs": args.envs, **result, "version": release}))


if __name__ == "__main__":
    main()
