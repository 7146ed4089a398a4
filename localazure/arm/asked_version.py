"""The api-version of the request that is being answered: a body is read, and an answer written, as that version has them.

It belongs to one request. What continues in the background, or is asked from inside, has none.
"""

from contextvars import ContextVar

_asked: ContextVar[str] = ContextVar("api-version", default="")


def asked() -> str:
    """In lower case; "" where none was sent."""
    return _asked.get()


def forget() -> None:
    _asked.set("")


def remember(version: str) -> None:
    _asked.set(version.lower())
