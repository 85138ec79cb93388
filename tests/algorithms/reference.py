"""Algorithm 2 once more, in NumPy with float64, plain logarithms and numerical gradients.

It shares no code with the library: networks are lists of (weights, bias), probabilities are added
as probabilities, gradients are central differences, Adam is written out.
"""

from __future__ import annotations

import copy

import numpy as np


def network(layers, x):
    for w, b in layers[:-1]:
        x = np.maximum(x @ w + b, 0)
    w, b = layers[-1]
    return x @ w + b


def softmax(logits):
    e = np.exp(logits - logits.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def mixture(x, core, prev, mu0):
    pi = core.copy()
    for i, a in enumerate(prev):
        if a >= 0:
            mu = mu0 + (1 - mu0) * (np.tanh(x[i]) + 1) / 2
            pi[i] *= 1 - mu
            pi[i, a] += mu
    return pi


def differences(f, x, h=1e-6):
    x = np.array(x, float)
    gradient = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        saved = x[i]
        x[i] = saved + h
        up = f(x)
        x[i] = saved - h
        gradient[i] = (up - f(x)) / (2 * h)
        x[i] = saved
    return gradient


def with_previous(obs, prev, n):
    rows = np.zeros((len(obs), n))
    for i, a in enumerate(prev):
        if a >= 0:
            rows[i, a] = 1
    return np.hstack([obs, rows])


class Adam:
    def __init__(self, lr):
        self.lr, self.t, self.m, self.v = lr, 0, {}, {}

    def step(self, layers, loss):
        self.t += 1
        gradients = {}
        for k, pair in enumerate(layers):
            for j in range(2):

                def at(value, k=k, j=j):
                    other = [list(p) for p in layers]
                    other[k][j] = value
                    return loss(other)

                gradients[k, j] = differences(at, pair[j])
        for (k, j), g in gradients.items():
            m = self.m[k, j] = 0.9 * self.m.get((k, j), 0) + 0.1 * g
            v = self.v[k, j] = 0.999 * self.v.get((k, j), 0) + 0.001 * g * g
            step = (m / (1 - 0.9**self.t)) / (np.sqrt(v / (1 - 0.999**self.t)) + 1e-8)
            layers[k][j] = layers[k][j] - self.lr * step


def towards(target, source, rate):
    for pair, new in zip(target, source, strict=True):
        for j in range(2):
            pair[j] = (1 - rate) * pair[j] + rate * new[j]


def highest(function, n):
    """Where a function of n numbers that has one maximum in each is highest, from -12 to 12."""
    low, high, golden = np.full(n, -12.0), np.full(n, 12.0), (np.sqrt(5) - 1) / 2
    for _ in range(90):
        width = golden * (high - low)
        rises = function(high - width) < function(low + width)
        low, high = np.where(rises, high - width, low), np.where(rises, high, low + width)
    return low


class NSAC:
    """The state of one NSAC learner, updated by lines 10 to 18 of Algorithm 2.

    `at_once`: whatever a loss asks the core or the critics is asked before the first step.
    `fit`: mu is fitted to the best one, which a search finds, instead of following the gradient.
    """

    def __init__(
        self, actor, critics, pic, mixed_critics, *, lr, rate, alpha_core, alpha, mu0, at_once, fit
    ):
        self.at_once, self.fit = at_once, fit
        self.actor, self.critics, self.pic, self.mixed = actor, critics, pic, mixed_critics
        self.targets, self.mixed_targets = copy.deepcopy(critics), copy.deepcopy(mixed_critics)
        self.rate, self.alpha_core, self.alpha, self.mu0 = rate, alpha_core, alpha, mu0
        self.adam = {name: Adam(lr) for name in ("actor", "pic", "c0", "c1", "m0", "m1")}

    def update(self, obs, prev, action, reward, discount, next_obs):
        rows, n = np.arange(len(obs)), self.actor[-1][1].shape[-1]

        def value(pi, q, alpha):
            return np.array([p @ (x - alpha * np.log(p)) for p, x in zip(pi, q, strict=True)])

        def lower(pair, x):
            return np.minimum(network(pair[0], x), network(pair[1], x))

        now, then = with_previous(obs, prev, n), with_previous(next_obs, action, n)

        def ask():
            core = [softmax(network(self.actor, x)) for x in (obs, next_obs)]
            return (lower(self.critics, obs), lower(self.mixed, now), *core)

        before = ask()

        def answers():
            return before if self.at_once else ask()

        # inner: the core, as plain SAC
        pi = softmax(network(self.actor, next_obs))
        y = reward + discount * value(pi, lower(self.targets, next_obs), self.alpha_core)
        for i, critic in enumerate(self.critics):
            self.adam[f"c{i}"].step(
                critic, lambda c, y=y: np.mean((network(c, obs)[rows, action] - y) ** 2) / 2
            )
        q = answers()[0]
        self.adam["actor"].step(
            self.actor,
            lambda a: -np.mean(value(softmax(network(a, obs)), q, self.alpha_core)),
        )
        for target, critic in zip(self.targets, self.critics, strict=True):
            towards(target, critic, self.rate)

        # outer: the mixed policy, with the core that was just improved
        core_now, core_next = answers()[2:]
        pi = mixture(network(self.pic, then)[:, 0], core_next, action, self.mu0)
        y = reward + discount * value(pi, lower(self.mixed_targets, then), self.alpha)
        for i, critic in enumerate(self.mixed):
            self.adam[f"m{i}"].step(
                critic, lambda c, y=y: np.mean((network(c, now)[rows, action] - y) ** 2) / 2
            )
        q_mixed = answers()[1]

        def mixed_value(x):
            return value(mixture(x, core_now, prev, self.mu0), q_mixed, self.alpha)

        def gradient(p):
            return -np.mean(mixed_value(network(p, now)[:, 0]))

        def fitted(p):
            m = (np.tanh(network(p, now)[:, 0]) + 1) / 2
            entropy = best * np.log(m) + (1 - best) * np.log(1 - m)
            return -np.mean(np.where(prev >= 0, 1 - core_now[rows, prev], 0) * entropy)

        if self.fit:
            best = (np.tanh(highest(mixed_value, len(obs))) + 1) / 2
        self.adam["pic"].step(self.pic, fitted if self.fit else gradient)
        for target, critic in zip(self.mixed_targets, self.mixed, strict=True):
            towards(target, critic, self.rate)
