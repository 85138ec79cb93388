"""Other people's tools: Stable-Baselines3 and ONNX in, ONNX and model cards out."""
