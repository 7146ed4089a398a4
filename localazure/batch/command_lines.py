"""Splits a task's command line into words: it runs without a shell, as on a real node, so nothing in it is expanded."""

import shlex

from localazure.batch.failures import TaskError


def words(command_line: str, code: str = "CommandLaunchFailed", of: str = "") -> list[str]:
    """Split at spaces, with the quotes of a POSIX shell. TaskError, with this code, where it can't be, or names no program."""
    try:
        found = shlex.split(command_line)
    except ValueError as error:
        raise TaskError(code, Message=f"{of}{str(error)[:1].lower()}{str(error)[1:]}") from error
    if not found:
        raise TaskError(code, Message=f"{of}it is empty")
    return found
