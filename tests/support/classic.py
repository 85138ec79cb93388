"""Settings that CartPole once had as its own: results that were recorded then need them."""

from policy_inertia.presets import Preset

CLASSIC: Preset = {
    "DQNConfig": {
        "learning_rate": 1e-3,
        "target_period": 50,
        "epsilon_decay": 2e-4,
        "epsilon_final": 0.05,
    },
    "SACConfig": {"learning_rate": 1e-3, "target_rate": 0.02},
    "InertiaConfig": {"learning_rate": 1e-3, "target_rate": 0.02},
    "ValuedConfig": {"learning_rate": 1e-3, "target_rate": 0.02},
}
