"""Compute the reported numbers from the results of a study."""
