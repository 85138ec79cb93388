"""Training: one loop for every method, in a run folder that survives a kill."""
