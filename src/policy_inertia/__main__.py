"""`python -m policy_inertia` is the command line."""

from policy_inertia.cli.main import main

main()
