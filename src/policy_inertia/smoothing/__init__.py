"""Make a policy that you have smooth: train a controller around it, or wrap its env."""
