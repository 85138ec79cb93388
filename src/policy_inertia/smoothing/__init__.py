"""smoothing."""
