"""What goes wrong with a command: one line for the person who typed it."""


class CommandError(Exception):
    """Ends the command with its text on standard error and exit code 1."""
