"""The error of an invalid request: message, expected input and HTTP status."""


class RefusedError(Exception):
    """The client's mistake: answered with `status`, a message and what is expected."""

    def __init__(self, message: str, expected: str, status: int = 400) -> None:
        super().__init__(f"{message}; expected: {expected}")
        self.message = message
        self.expected = expected
        self.status = status
