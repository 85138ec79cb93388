"""highway-env itself: its configuration, its envs, and the comparison with our simulator."""
