"""Our policies in other people's hands: Stable-Baselines3's recorder and callbacks, model cards."""

import json
import sys

import numpy as np
import pytest
import yaml

from policy_inertia import InputError, Policy, evaluate, export, model_card
from policy_inertia.smoothing.vec_smooth_actions import VecSmoothActions
from tests.support.policies import OBS, fresh, with_mu


@pytest.fixture
def run(monkeypatch, capfd):
    return lambda *words: call(monkeypatch, capfd, *words)


@pytest.mark.filterwarnings("ignore")  # moviepy and pygame warn of their own parts
def test_stable_baselines_records_a_video_of_our_policy(tmp_path):
    import gymnasium as gym
    from stable_baselines3.common.vec_env import DummyVecEnv, VecVideoRecorder

    vec = DummyVecEnv([lambda: gym.make("CartPole-v1", render_mode="rgb_array")])
    vec = VecVideoRecorder(vec, str(tmp_path), lambda step: step == 0, video_length=20)
    policy = fresh()
    obs, state, start = vec.reset(), None, np.ones(1, bool)
    for _ in range(21):
        action, state = policy.predict(obs, state, start)
        obs, _, start, _ = vec.step(action)
    vec.close()
    (video,) = tmp_path.glob("*.mp4")
    assert video.stat().st_size > 1000


def test_evaluate_policy_calls_back_with_our_policy():
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    seen = []
    mean, _ = evaluate_policy(
        fresh("dqn"),
        make_vec_env("CartPole-v1", 2, seed=0),
        4,
        callback=lambda here, there: seen.append(here["actions"].copy()),
    )
    assert mean > 0
    assert len(seen) > 8


def test_eval_callback_judges_an_agent_inside_a_smoothed_env(tmp_path):
    from stable_baselines3 import A2C
    from stable_baselines3.common.callbacks import EvalCallback
    from stable_baselines3.common.env_util import make_vec_env

    vec = make_vec_env("CartPole-v1", 1, seed=0)
    judged = VecSmoothActions(make_vec_env("CartPole-v1", 1, seed=0), with_mu(fresh(), 60.0))
    callback = EvalCallback(
        judged, eval_freq=20, n_eval_episodes=2, log_path=str(tmp_path), verbose=0
    )
    with pytest.warns(UserWarning, match="not of the same type"):  # smoothed in one alone
        A2C("MlpPolicy", vec, device="cpu", seed=0).learn(40, callback=callback)
    found = np.load(tmp_path / "evaluations.npz", allow_pickle=False)
    assert found["results"].shape == (2, 2)
    assert (found["results"] <= 12).all()  # an action that is held for ever drops the pole


# --- model cards --------------------------------------------------------------------------------


def front_matter(folder) -> dict:
    text = (folder / "README.md").read_text()
    assert text.startswith("---\n")
    return yaml.safe_load(text.split("---\n")[1])


def test_card_holds_what_the_hub_reads(tmp_path):
    policy = fresh("nsac").with_hysteresis(0.1)
    files = model_card(policy, tmp_path / "card", episodes=3)
    names = {"README.md", "results.json", "policy.safetensors", "policy.onnx"}
    assert {f.name for f in files} == {p.name for p in (tmp_path / "card").iterdir()} == names
    front = front_matter(tmp_path / "card")
    assert front["library_name"] == "policy-inertia"
    assert {"CartPole-v1", "reinforcement-learning"} <= set(front["tags"])
    (index,) = front["model-index"]
    metrics = {m["type"]: m["value"] for m in index["results"][0]["metrics"]}
    results = json.loads((tmp_path / "card" / "results.json").read_text())
    assert metrics["mean_reward"] == (
        f"{results['mean_reward']:.2f} +/- {results['std_reward']:.2f}"
    )
    assert results["n_eval_episodes"] == results["episodes"] == 3
    measured = evaluate(policy, "CartPole-v1", 3, 0, deterministic=True).summary()
    assert results["mean_reward"] == measured["return"]
    assert float(metrics["oscillation_ratio"]) == round(measured["oscillation_ratio"], 3)
    text = (tmp_path / "card" / "README.md").read_text()
    assert "unless another is better by 0.1" in text
    loaded = Policy.load(tmp_path / "card")  # a card is a folder that loads
    np.testing.assert_array_equal(loaded.probabilities(OBS), policy.probabilities(OBS))


def test_card_without_onnx_or_for_a_method_that_cannot_be_one(tmp_path, monkeypatch):
    files = model_card(fresh("dqn-repeat"), tmp_path / "repeat", episodes=2)
    assert "policy.onnx" not in {f.name for f in files}
    assert "policy.onnx" not in (tmp_path / "repeat" / "README.md").read_text()
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(InputError, match=r"needs onnx: pip install policy-inertia\[onnx\]"):
        export(fresh("dqn"), tmp_path / "p.onnx")


def test_card_of_an_odd_task_name_stays_yaml(tmp_path):
    policy = fresh("dqn")
    policy.task = 'odd: "name"\n---\nx'
    model_card(policy, tmp_path / "card", env="CartPole-v1", episodes=1)
    assert front_matter_whole(tmp_path / "card")["tags"][0] == policy.task


def front_matter_whole(folder) -> dict:
    head = (folder / "README.md").read_text().removeprefix("---\n").partition("\n---\n")[0]
    return yaml.safe_load(head)


def test_card_is_not_written_over_a_run(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InputError, match="a run's own folder"):
        model_card(fresh("dqn"), tmp_path)
    policy = fresh("dqn")
    policy.task = ""
    with pytest.raises(InputError, match="on which task it was trained: give env"):
        model_card(policy, tmp_path / "card")


# --- the command --------------------------------------------------------------------------------


def test_export_command(run, tmp_path, finished):
    code, text, _ = run("export", finished, "--out", tmp_path / "p.onnx", "--hysteresis", 0.3)
    assert code == 0
    assert "random inputs within" in text
    assert (tmp_path / "p.onnx").exists()
    code, text, _ = run("export", finished, "--best", "--card", tmp_path / "card", "--episodes", 2)
    assert code == 0
    assert (tmp_path / "card" / "README.md").exists()
    assert not (finished / "policy.onnx").exists()


def test_export_command_takes_a_zip(run, tmp_path, sb3_model):
    _, path = sb3_model("DQN", "CartPole-v1")
    code, text, _ = run("export", path, "--env", "CartPole-v1", "--out", tmp_path / "c.onnx")
    assert code == 0
    assert "20 nodes" in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("nowhere", "there is no file nowhere"),
        ("model.zip", "does not say its task: add --env"),
        ("nowhere.zip --env CartPole-v1", "there is no file nowhere.zip"),
        ("nowhere.safetensors --env CartPole-v1", "nowhere.safetensors knows its task"),
    ],
)
def test_bad_words_for_export_are_answered_in_one_sentence(run, tmp_path, words, says, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, text = run("export", *words.split())
    assert code == 2
    assert says in text
    assert text.count("\n") == 1
