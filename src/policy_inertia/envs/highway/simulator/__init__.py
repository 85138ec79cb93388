"""The compiled simulator. It knows no task; `task.py` says what a task is."""
