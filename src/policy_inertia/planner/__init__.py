"""Search for the best episodes of a task with a simulator that can be copied."""
