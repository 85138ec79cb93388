"""Run policies for whole episodes: to measure them, or to look at them."""
