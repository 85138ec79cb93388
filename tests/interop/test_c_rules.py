"""The numbers by which a compiled policy decides, beside those of the policy itself."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_inertia import export_c
from policy_inertia.interop.onnx_discrete import nearly_tied
from policy_inertia.policies.memory import PREVIOUS_ACTION
from tests.support.c_policies import CPolicy, needs_compiler
from tests.support.exportable import POLICIES
from tests.support.rollouts import CARTPOLE

PROBE = """
#ifndef POLICY_DECLARATIONS_ONLY
void probe(policy_state *state, const float *observation, float *log_pi, float *scores);
void probe(policy_state *state, const float *observation, float *log_pi, float *scores)
{
    policy_decide(state, observation, log_pi, scores);
}
#endif
"""
N = 200


@needs_compiler
@pytest.mark.parametrize("name", POLICIES)
def test_log_probabilities_and_scores_are_those_of_the_policy(name: str, tmp_path: Path) -> None:
    policy: Any = POLICIES[name](CARTPOLE)
    path = export_c(policy, tmp_path / "policy.c").path
    path.write_text(path.read_text() + PROBE)
    copy, rng = CPolicy(path), np.random.default_rng(0)
    obs = rng.normal(0, 1, (N, 4)).astype(np.float32)
    state = policy.memory.sample(rng, N)
    state[PREVIOUS_ACTION][: N // 4] = -1
    acting = policy.acting(policy.spaces.encode(obs), state[PREVIOUS_ACTION], policy.tokens(state))
    choices = acting.scores.shape[1]
    results = np.zeros((N, 2, choices), np.float32)
    pointer = ctypes.POINTER(ctypes.c_float)
    for i in range(N):
        for field, values in state.items():
            setattr(copy.state, field, int(values[i]))
        arguments = (a.ctypes.data_as(pointer) for a in (obs[i], *results[i]))
        copy.library.probe(ctypes.byref(copy.state), *arguments)
    np.testing.assert_allclose(results[:, 1], acting.scores, rtol=1e-4, atol=1e-5)
    clear = ~nearly_tied(np.asarray(acting.scores)) & ~nearly_tied(np.asarray(acting.core.log_pi))
    assert clear.sum() > N / 2
    np.testing.assert_allclose(results[clear, 0], acting.policy.log_pi[clear], rtol=1e-4, atol=1e-5)
