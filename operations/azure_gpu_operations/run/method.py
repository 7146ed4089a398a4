"""How a program runs: in a container, or directly with Python."""

from enum import StrEnum


class RunMethod(StrEnum):
    CONTAINER = "container"
    PYTHON = "python"
