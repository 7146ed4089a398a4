"""Mail addresses as the services that send mail take them: one, without a name around it."""

import re

_ADDRESS = re.compile(r"[^@\s;,]+@[^@\s;,]+\.[^@\s;,]+")


def is_address(text: str) -> bool:
    """Whether the text is one address, and not a list of several."""
    return _ADDRESS.fullmatch(text) is not None
