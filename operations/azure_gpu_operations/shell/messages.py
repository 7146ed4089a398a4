"""How the parts of `operations shell` speak: a line for the user, on standard error, and what ends it."""

from collections.abc import Callable

Say = Callable[[str], None]


class ShellError(Exception):
    """No shell can be opened. The text is for the user."""
