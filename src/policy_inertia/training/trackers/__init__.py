"""Trackers: programs that people watch their runs with, such as MLflow. `table` lists them."""
