"""`python -m policy_inertia` is the command line."""

from .cli import main

main()
