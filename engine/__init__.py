"""The engine: builds the Pulumi command line and its Python language host from pinned Go modules where a machine lacks them.

Runs before any virtual environment exists, so it uses the standard library alone. `build.py` is the command.
"""
