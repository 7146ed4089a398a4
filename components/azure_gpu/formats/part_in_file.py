"""An entry of a stack file that was read from a file of another tool."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class PartInFile:
    """The settings of one entry. Paths in `written` and `secrets` are relative to the settings."""

    section: str  # of the stack file, such as pools
    name: str  # in the section; "" if the settings are the section's value
    settings: dict[str, Any]
    at: str  # file:line: path
    written: dict[str, str] = field(default_factory=dict[str, str])  # file:line: path of each setting, by key
    notes: list[str] = field(default_factory=list[str])  # comments that belong to no line
    secrets: list[str] = field(default_factory=list[str])
