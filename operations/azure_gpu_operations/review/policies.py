"""Violations of Pulumi policy packs by a change, as findings on the lines of the parts that they concern."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from azure_gpu_operations.review.model import Finding, Operation
from azure_gpu_operations.review.source_locations import NOWHERE, SourceLocations
from azure_gpu_operations.review.steps import Planned, owners, path_of

_MANDATORY = "mandatory"
_STACK = "pulumi:pulumi:Stack"
_FAILED = ("preview failed",)  # the engine's error if a mandatory policy is violated


class Packs(NamedTuple):
    """Folders of packs, and the files of their settings: none, or one for each pack."""

    folders: tuple[Path, ...] = ()
    settings: tuple[Path, ...] = ()

    def wrong(self) -> str:
        """The problem of the options; "" if there is none."""
        for each in self.folders:
            if not (each / "PulumiPolicy.yaml").is_file():
                return f"--policy-pack: not a policy pack; given: {each}; allowed: a folder with PulumiPolicy.yaml"
        for each in self.settings:
            if not each.is_file():
                return f"--policy-pack-config: file not found; given: {each}"
        if self.settings and len(self.settings) != len(self.folders):
            return f"--policy-pack-config: requires one per --policy-pack; given: {len(self.settings)} for {len(self.folders)}"
        return ""

    def words(self, events: Path) -> tuple[str, ...]:
        """The options of a preview that writes its events into that file; none without a pack."""
        if not self.folders:
            return ()
        events.unlink(missing_ok=True)
        packs = [word for each in self.folders for word in ("--policy-pack", str(each.resolve()))]
        settings = [word for each in self.settings for word in ("--policy-pack-config", str(each.resolve()))]
        return (*packs, *settings, "--event-log", str(events))


class Violation(NamedTuple):
    """A violation of a policy."""

    policy: str
    is_mandatory: bool
    urn: str  # "": the stack
    message: str


def violations(events: Path) -> tuple[Violation, ...]:
    """The violations among the engine's events; none without events."""
    if not events.is_file():
        return ()
    lines = [json.loads(line) for line in events.read_text(encoding="utf-8").splitlines() if line.strip()]
    return tuple(
        Violation(
            policy=str(event["policyName"]),
            is_mandatory=event.get("enforcementLevel") == _MANDATORY,
            urn=str(event.get("resourceUrn") or ""),
            message=_without_description(str(event.get("message") or "")),
        )
        for line in lines
        if (event := line.get("policyEvent"))
    )


def without_own(errors: Sequence[str], found: Sequence[Violation]) -> tuple[str, ...]:
    """The engine's errors without the one that a mandatory policy is."""
    if not any(each.is_mandatory for each in found):
        return tuple(errors)
    return tuple(each for each in errors if each.strip().removeprefix("error: ") not in _FAILED)


def findings(found: Sequence[Violation], planned: Sequence[Planned], places: SourceLocations) -> tuple[Finding, ...]:
    """News are those of resources that the change creates or changes, or whose surroundings it changes; and those of the whole
    stack where it changes any."""
    by_urn, owned = {each.urn: each for each in planned}, owners(planned)
    changes = any(_is_changed(each) for each in planned)
    event: list[Finding] = []
    for each in found:
        about = by_urn.get(each.urn)
        is_stack = about is None or about.type == _STACK
        path = "" if about is None or is_stack else path_of(about, owned[about.urn])
        event.append(
            Finding(
                severity="error" if each.is_mandatory else "warning",
                code=each.policy,
                path=path,
                message=each.message,
                place=places.of(path) if path else NOWHERE,
                is_new=changes if about is None or is_stack else _is_near_change(about, by_urn),
            )
        )
    return tuple(event)


def _is_near_change(about: Planned, by_urn: Mapping[str, Planned]) -> bool:
    """Whether the change is of it or of what its inputs come from. By that, such as its resource group's tags or its account's
    region, policies of the stack judge it too."""
    around = {urn for urns in about.depends_on.values() for urn in urns}
    return _is_changed(about) or any(_is_changed(by_urn[urn]) for urn in around if urn in by_urn)


def _is_changed(planned: Planned) -> bool:
    return planned.operation not in (Operation.SAME, Operation.READ, Operation.DELETE)


def _without_description(message: str) -> str:
    """Pulumi prints the policy's description on a line before the violation."""
    first, _, rest = message.strip().partition("\n")
    return " ".join(rest.split()) or first
