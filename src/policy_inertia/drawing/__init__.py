"""Plots and videos: views of results that are already computed."""
