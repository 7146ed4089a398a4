"""Errors of a run itself, as opposed to those of its program."""

from azure_gpu.catalog.problems import Problem


class RunError(Exception):
    """The run can't go on. The text is for the user."""


class WrongRunError(RunError):
    """The service rejects the run; nothing was started."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems
