"""Copies of scenes go on like their originals."""

import numpy as np

from policy_inertia.envs.highway import TASKS, configuration
from policy_inertia.envs.highway.simulator.scene_store import SceneStore
from policy_inertia.envs.highway.simulator.simulation import Simulation


def intersection(n: int) -> Simulation:
    simulation = Simulation(TASKS["Intersection"], configuration(TASKS["Intersection"]), n)
    simulation.begin(np.ones(n, bool), list(range(n)))
    return simulation


def test_a_stored_scene_goes_on_like_its_original_where_vehicles_come_and_go() -> None:
    first, second = intersection(3), intersection(3)
    store = SceneStore(5, 2)  # it makes room
    store.put(np.array([4, 0, 2]), first.scenes)
    assert store.entries < first.scenes["x"].shape[1]
    for k in range(8):
        first.step(np.array([2, 1, 0]))
        store.take(np.array([4, 0, 2]), second.scenes)
        second.step(np.array([2, 1, 0]))
        assert first.outcomes.tolist() == second.outcomes.tolist()
        assert np.array_equal(first.seen, second.seen)
        store.put(np.array([4, 0, 2]), second.scenes)
        assert k < 1 or store.entries >= first.scenes["vehicles"].max()


def test_equal_scenes_have_equal_digests_and_others_do_not() -> None:
    scenes = intersection(3).scenes
    store = SceneStore(4, 1)
    store.put(np.arange(4), scenes[[0, 1, 0, 2]])
    one, other, same, third = store.digests(np.arange(4)).tolist()
    assert one == same
    assert len({one, other, third}) == 3
