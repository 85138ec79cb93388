"""Replay buffers. They know nothing of algorithms."""
