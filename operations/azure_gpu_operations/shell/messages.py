"""Messages and errors of `operations shell`."""

from collections.abc import Callable

Say = Callable[[str], None]


class ShellError(Exception):
    """No shell can be opened. The text is for the user."""
