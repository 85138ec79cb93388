"""Algorithms: what learns, one file each."""
