"""Losses of an update, from the steps of a preview, and the problems that reject them.

A problem names the resource, its age, the key that forces the replacement, and the fix.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import tags
from azure_gpu_operations.guard.held import Held
from azure_gpu_operations.terminal import some

REPLACE, DELETE = "--replace", "--delete"
_REPLACING = ("replace", "create-replacement", "delete-replaced")
_NAME_KEYS = {tags.PROJECT: "the name of the project", tags.STACK: "the name of the stack", tags.TEAM: "team"}


class Allowed(NamedTuple):
    """What the command line allows to be replaced or deleted, by Pulumi name, such as `foundation-storage`."""

    replace: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()

    def wrong(self, found: Collection[Held]) -> list[Problem]:
        """Problems for unknown and ambiguous names."""
        wrong: list[Problem] = []
        for option, names in ((REPLACE, self.replace), (DELETE, self.delete)):
            for name in names:
                urns = sorted({each.urn for each in found if name in (each.name, each.urn)})
                if not urns:
                    known = ", ".join(sorted({each.name for each in found})) or "none: the stack has no such resource"
                    wrong.append(
                        Problem(option, "no resource of the stack that holds data or serves traffic has this name", name, known)
                    )
                elif len(urns) > 1:
                    wrong.append(Problem(option, f"{len(urns)} resources have this name", name, f"one of {', '.join(urns)}"))
        return wrong


NOTHING_ALLOWED = Allowed()


class Loss(NamedTuple):
    """One resource that an update would replace or delete."""

    held: Held
    is_replaced: bool
    changes: Mapping[str, tuple[object, object]]  # old and new value of each input that forces it
    others: tuple[str, ...] = ()  # of a resource group: resources of others in it

    @property
    def option(self) -> str:
        return REPLACE if self.is_replaced else DELETE

    def is_allowed(self, allowed: Allowed) -> bool:
        return bool({self.held.name, self.held.urn} & {*(allowed.replace if self.is_replaced else allowed.delete)})


def losses(found: Iterable[Held], steps: Iterable[Mapping[str, Any]]) -> list[Loss]:
    """The resources that the steps of a preview replace or delete, in the order of the state."""
    by_urn: dict[str, list[Mapping[str, Any]]] = {}
    for step in steps:
        by_urn.setdefault(_urn(step), []).append(step)
    lost: list[Loss] = []
    for each in found:
        of_it = [step for step in by_urn.get(each.urn, []) if _id(step) in ("", each.id)]
        replacing = [step for step in of_it if step["op"] in _REPLACING]
        if replacing:
            lost.append(Loss(each, is_replaced=True, changes=_changes(each, replacing)))
        elif any(step["op"] == "delete" for step in of_it):
            lost.append(Loss(each, is_replaced=False, changes={}))
    return lost


def gone(steps: Iterable[Mapping[str, Any]]) -> set[str]:
    """The urns of everything that a plan replaces or deletes."""
    return {_urn(step) for step in steps if step["op"] in (*_REPLACING, "delete")}


def _urn(step: Mapping[str, Any]) -> str:
    """The URN in the state: an alias may change it in the same step."""
    return str((step.get("oldState") or {}).get("urn") or step["urn"])


def _id(step: Mapping[str, Any]) -> str:
    return str((step.get("oldState") or {}).get("id") or "")


def renamed(found: Iterable[Held], project: str, stack: str, team: str) -> list[Loss]:
    """Resources whose name in Azure changes with project, stack or team; needs no plan. "": not known."""
    now = {key: word for key, word in ((tags.PROJECT, project), (tags.STACK, stack), (tags.TEAM, team)) if word}
    return [
        Loss(each, is_replaced=True, changes=changes)
        for each in found
        if (changes := {key: (old, now[key]) for key, old in each.owner.items() if old != now.get(key, old)})
    ]


def problem(loss: Loss) -> Problem:
    """The problem that rejects a loss."""
    held = loss.held
    would = "replace" if loss.is_replaced else "delete"
    since = f", which has been there since {held.since[:19]}Z," if held.since else ""
    path, given, fix = _reason(loss)
    return Problem(
        path,
        f"this up would {would} the {held.what} {held.azure_name}{since} and lose {held.lost}"
        + (f": {some(loss.others)}" if loss.others else ""),
        given,
        allowed=f"with {loss.option} {held.name}",
        fix=fix,
    )


def _changes(held: Held, steps: Iterable[Mapping[str, Any]]) -> dict[str, tuple[object, object]]:
    found: dict[str, tuple[object, object]] = {}
    for step in steps:
        old = (step.get("oldState") or {}).get("inputs") or held.inputs
        new = (step.get("newState") or {}).get("inputs") or {}
        old_tags, new_tags = old.get("tags") or {}, new.get("tags") or {}
        for key in _NAME_KEYS:
            if new and key in old_tags and old_tags[key] != new_tags.get(key):
                found[key] = (old_tags[key], new_tags.get(key))
        # For a part of a replaced group the engine names only the group.
        if new.get("location") and old.get("location") != new["location"]:
            found["location"] = (old.get("location"), new["location"])
        for reason in step.get("replaceReasons") or ():
            top = str(reason).split(".")[0].split("[")[0]
            if old.get(top) != new.get(top):
                found.setdefault(top, (old.get(top), new.get(top)))
    return found


def _reason(loss: Loss) -> tuple[str, str | None, str]:
    """The key that forces the loss, its change, and the fix."""
    key = loss.held.key
    named = {name: values for name, values in loss.changes.items() if name in _NAME_KEYS}
    if named:
        name, (old, new) = next(iter(named.items()))
        path = name if name == tags.TEAM else f"{name} name"
        return path, f"{old} -> {new}", _FIX_NAMES.format(what=_NAME_KEYS[name], old=old)
    if "location" in loss.changes:
        old, new = loss.changes["location"]
        fix = f"set `location` back to {old}; set a separate `location` on the parts that are to run elsewhere"
        return "location", f"{old} -> {new}", fix
    if not loss.is_replaced:
        return key, None, f"restore {key}"
    changed = ", ".join(f"{name}: {_short(old)} -> {_short(new)}" for name, (old, new) in loss.changes.items())
    return key, changed or None, "undo this change, or deploy a second stack and copy the data"


_FIX_NAMES = (
    "set {what} back to {old}; to name another owner add a tag below `tags`; to move, deploy a second stack and copy the data"
)
_LONGEST = 60


def _short(value: object) -> str:
    text = "not set" if value is None else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
