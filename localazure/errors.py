"""The error of a command: one line on standard error."""


class CommandError(Exception):
    """Ends the command with its text on standard error and exit code 1."""
