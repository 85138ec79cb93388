"""Train a smooth policy, measure it, use it."""

import gymnasium as gym

import policy_inertia as pi

policy = pi.train("nsac", "CartPole-v1", steps=20_000, out="runs/example", resume=True)
print(pi.evaluate(policy, "CartPole-v1", deterministic=True).summary())

env = gym.make("CartPole-v1")
obs, _ = env.reset(seed=0)
state, done = None, False
while not done:
    action, state = policy.predict(obs, state)  # the state holds the previous action
    obs, reward, terminated, truncated, _ = env.step(action)
    done = terminated or truncated
