"""The api-version of the current request: bodies are read, and answers written, in its form.

It belongs to one request. What continues in the background, or is asked from inside, has none.
"""

from contextvars import ContextVar

_version: ContextVar[str] = ContextVar("api-version", default="")


def current() -> str:
    """In lower case; "" where none was sent."""
    return _version.get()


def forget() -> None:
    _version.set("")


def remember(version: str) -> None:
    _version.set(version.lower())
