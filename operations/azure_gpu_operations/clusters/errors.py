"""The error of a cluster's API; status 0 means that it didn't answer."""


class ClusterError(Exception):
    """The cluster refused a request, or can't be reached. The text is for the user."""

    def __init__(self, text: str, status: int = 0, fix: str = "") -> None:
        super().__init__(f"{text}; fix: {fix}" if fix else text)
        self.reason = text
        self.status = status

    @property
    def is_refusal(self) -> bool:
        """It answered that this login may not."""
        return self.status in (401, 403)
