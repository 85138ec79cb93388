"""Policies: what acts, with its memory, its filters and its file."""
