"""Filters of continuous actions: one rule a file; `action_filter.py` applies them."""
