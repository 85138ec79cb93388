"""Measure a policy at every setting, and choose the setting by a budget."""
