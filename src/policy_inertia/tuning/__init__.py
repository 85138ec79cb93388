"""Tuning: search the settings of a method on a task with Optuna, in a folder that can go on."""
