"""Draw the four Highway tasks with the paper's settings in one picture.

pip install 'policy-inertia[highway]'
python examples/highway_pictures.py highway.png
"""

import sys

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np

import policy_inertia.envs.highway  # noqa: F401  (registers the tasks)

# its place in the picture, its seed, and its actions: 1 does nothing, 4 drives slower
SCENES = {
    "LaneChange": ("A", 6, [1] * 3),
    "Merge": ("B", 6, [1] * 3),
    "TwoWay": ("C", 0, [4] * 5),
    "Intersection": ("D", 6, [1] * 3),
}


def main(path: str = "highway.png") -> None:
    figure, axes = plt.subplot_mosaic(
        "AD;BD;CD", figsize=(11.4, 5.4), width_ratios=[4, 3], layout="constrained"
    )
    for task, (place, seed, actions) in SCENES.items():
        env = gym.make(f"policy_inertia/{task}-v0", render_mode="rgb_array")
        env.reset(seed=seed)
        for action in actions:
            env.step(action)
        axes[place].imshow(np.asarray(env.render()))
        axes[place].set_title(f"policy_inertia/{task}-v0", fontsize=10)
        axes[place].axis("off")
        env.close()
    figure.savefig(path, dpi=80)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
