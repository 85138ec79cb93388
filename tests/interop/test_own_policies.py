"""Policies of this library as cores."""

from pathlib import Path

import numpy as np
import pytest

from policy_inertia import InputError, load_core
from tests.support.policies import OBS, fresh


@pytest.mark.parametrize("method", ["dqn", "sac", "nsac", "ndqn", "dial-sac"])
def test_policies_files_and_run_folders_are_cores(method: str, tmp_path: Path) -> None:
    policy = fresh(method)
    policy.save(tmp_path / "policy.safetensors")
    for source in (policy, tmp_path, tmp_path / "policy.safetensors"):
        core = load_core(source, "CartPole-v1")
        np.testing.assert_allclose(
            core.probabilities(OBS), policy.core_probabilities(OBS), atol=1e-6
        )
        assert core.kind == ("q" if "dqn" in method else "logits")
    assert load_core(core) is core


def test_policies_with_a_memory_are_refused() -> None:
    with pytest.raises(InputError, match="holds its actions for several steps, and a core has no"):
        load_core(fresh("dqn-repeat"))
    with pytest.raises(InputError, match="without its hysteresis"):
        load_core(fresh("dqn").with_hysteresis(1))


def test_core_of_a_nested_policy_with_hysteresis_has_none() -> None:
    nested = fresh("nsac").with_hysteresis(0.1)
    core = load_core(nested)
    assert core.hysteresis is None
    np.testing.assert_allclose(core.probabilities(OBS), nested.core_probabilities(OBS), atol=1e-6)


def test_env_with_other_spaces_is_refused() -> None:
    with pytest.raises(InputError, match="give the env that it was trained on"):
        load_core(fresh("dqn"), "Acrobot-v1")
