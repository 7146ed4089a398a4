"""What ends a request before the model has seen it.

In: why, what would be taken, and the status of HTTP that says so. Out: an exception that carries the three to the answer.
"""


class RefusedError(Exception):
    """The client's mistake: answered with `status`, a message and what is expected."""

    def __init__(self, message: str, expected: str, status: int = 400) -> None:
        super().__init__(f"{message}; expected: {expected}")
        self.message = message
        self.expected = expected
        self.status = status
