"""The weather of a server: which of its parts are active, and for how long each lasts."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from localazure.fault import Fault
from localazure.weather.parts import PARTS

ROUGH, CALM = "rough", "calm"
KINDS = (ROUGH, CALM)
ON, OFF = "weather", "calm"  # the kinds of faults that turn one part on, or off


@dataclass(slots=True)
class Weather:
    """Made once by the server; `Faults` keeps it up to date."""

    kind: str = CALM
    _seconds: dict[str, float] = field(default_factory=dict[str, float])
    policies: "tuple[Fault, ...]" = ()  # the assignments of Azure Policy
    refusals: dict[object, datetime] = field(default_factory=dict[object, datetime])  # until when a refusal is kept
    tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])  # what services will do by themselves
    allowances: dict[object, tuple[float, datetime]] = field(default_factory=dict[object, tuple[float, datetime]])

    def __post_init__(self) -> None:
        self.change(())

    def holds(self, part: str) -> bool:
        """KeyError for a part that there isn't."""
        return PARTS[part].name in self._seconds

    def seconds(self, part: str) -> float:
        """How long a part lasts; 0 where it doesn't hold, or lasts until it is turned off."""
        return self._seconds.get(part, 0.0)

    def change(self, faults: "Iterable[Fault]") -> None:
        """Takes the faults that hold; of two about the same part the later one counts."""
        self._seconds = {part.name: part.seconds for part in PARTS.values() if part.rough and self.kind == ROUGH}
        faults = tuple(faults)
        for fault in faults:
            if fault.kind == ON:
                self._seconds[fault.name] = fault.seconds
            elif fault.kind == OFF:
                self._seconds.pop(fault.name, None)
        self.policies = tuple(fault for fault in faults if fault.kind.startswith("policy-"))


def kept(path: Path) -> str:
    """The weather that a state folder names; rough where it names none."""
    text = path.read_text(encoding="utf-8").strip() if path.exists() else ""
    return text if text in KINDS else ROUGH
