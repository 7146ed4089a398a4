"""How a run hears that its process is to end."""


class EndedFromOutsideError(KeyboardInterrupt):
    """Somebody told this process to end: nobody is there to be asked."""
