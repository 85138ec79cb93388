"""The command line: one file per command. A command reads flags, calls the library, shows results.

To add a command, write a subclass of `Command` in a file of its own and add it to `COMMANDS` in
`main`. The overview (`policy-inertia --help`) and the help pages are generated from it.

Command files import the library inside functions. This keeps every help page fast: JAX and NumPy
are imported when a command runs, not when its flags are read.
"""
