"""How a run fails before or beside what it runs.

In: nothing. Out: `RunError`, `WrongRunError`.
"""

from azure_gpu.catalog.problems import Problem


class RunError(Exception):
    """The run can't go on. The text is for the user."""


class WrongRunError(RunError):
    """What Azure, or a cluster, says of the place speaks against the run; nothing was started."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems
