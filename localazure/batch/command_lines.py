"""Splits a task's command line into words: it runs without a shell, as on a real node, so nothing in it is expanded."""

import shlex


class CommandLineError(Exception):
    """A command line that names no program. The message has the reason."""


def words(command_line: str) -> list[str]:
    """Split at spaces, with the quotes of a POSIX shell."""
    try:
        found = shlex.split(command_line)
    except ValueError as error:
        raise CommandLineError(f"{str(error)[:1].lower()}{str(error)[1:]}") from error
    if not found:
        raise CommandLineError("it is empty")
    return found
