"""Termination of this process from outside."""


class EndedFromOutsideError(KeyboardInterrupt):
    """The process got SIGTERM, so the user can't be asked."""
