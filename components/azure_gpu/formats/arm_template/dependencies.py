"""Resolves the dependencies of resources: `dependsOn`, `reference`, and the order of serial copy loops, as keys of resources.

Names that aren't in the template, duplicates and circles are problems; a circle is named from one end to the other."""

from collections.abc import Iterable

from azure_gpu.formats.arm_ids import RESOURCE_GROUP_TYPE
from azure_gpu.formats.arm_template.frame import Shared
from azure_gpu.formats.arm_template.model import TemplateResource
from azure_gpu.formats.arm_template.resources import Found
from azure_gpu.formats.lenient_json import member


class Index:
    """The resources of a template by everything that they can be called."""

    def __init__(self, found: Iterable[Found]) -> None:
        self._all = list(found)
        self._by: dict[str, list[Found]] = {}
        for each in self._all:
            resource = each.resource
            names = {resource.key, resource.id.lower(), resource.name.lower(), each.loop, each.symbol}
            if resource.type.lower() == RESOURCE_GROUP_TYPE.lower():  # as `resourceId` and `subscriptionResourceId` write it
                names.add(resource.id.lower().replace("/resourcegroups/", f"/providers/{RESOURCE_GROUP_TYPE.lower()}/"))
            for name in names - {""}:
                self._by.setdefault(name, []).append(each)

    def called(self, name: str) -> list[Found]:
        """By id, by type and name, by symbolic name, by copy loop, or by name."""
        key = name.lower().rstrip("/")
        if key in self._by:
            return self._by[key]
        at = key.rfind("/providers/")
        if key.startswith("/") and at >= 0:  # an id in a scope that wasn't known
            return [each for each in self._by.get(key[at + len("/providers/") :], []) if not each.resource.id]
        if key.count("/") > 1 and not key.startswith("/"):  # type and name as `resourceId` doesn't write them: a/b/c/one/two
            steps = key.split("/")
            middle = (len(steps) + 1) // 2
            return [
                each
                for each in self._all
                if each.resource.type.lower() == "/".join(steps[:middle])
                and each.resource.name.lower() == "/".join(steps[middle:])
            ]
        return []

    def one(self, name: str) -> tuple[str, str] | None:
        """Id and version of the one resource that a `reference` means."""
        called = self.called(name)
        if len(called) != 1:
            return None
        resource = called[0].resource
        return (resource.id or name), str(resource.body["apiVersion"])


def resolved(found: list[Found], index: Index, shared: Shared) -> list[TemplateResource]:
    """The resources to deploy, each with what it waits for."""
    _report_duplicates(found, shared)
    below = {each.resource.key: each for each in found}
    waits = {key: _waits_for(each, index, found, shared) for key, each in below.items()}
    _report_circles(below, waits, shared)
    there = {key for key, each in below.items() if each.deployed and not each.resource.existing}
    return [
        each.resource._replace(depends_on=tuple(sorted(waits[each.resource.key] & there)))
        for each in found
        if each.resource.key in there
    ]


def _waits_for(one: Found, index: Index, found: list[Found], shared: Shared) -> set[str]:
    keys: set[str] = set()
    for name, place in one.depends_on:
        called = index.called(name)
        if not called and one.deployed:  # what isn't deployed may wait for anything: azure-ai-ml's template (1.35.2) does
            fix = "write the name, the resourceId or the copy loop of one that is"
            shared.refuse(place, f"the resource '{name}' is not defined in the template", fix)
        if len({each.resource.type.lower() for each in called}) > 1 and not any(each.loop or each.symbol for each in called):
            types = ", ".join(sorted({each.resource.type for each in called}))
            shared.refuse(place, f"'{name}' is the name of several resources ({types})", "write its resourceId")
        keys |= {each.resource.key for each in called}
    for name in one.asked:
        called = index.called(name)
        keys |= {called[0].resource.key} if len(called) == 1 and called[0].resource.key != one.resource.key else set()
    if one.waits_for > 0:
        keys |= {
            each.resource.key
            for each in found
            if each.loop == one.loop and each.resource.path == one.resource.path and each.round < one.waits_for
        }
    return keys


def _report_duplicates(found: list[Found], shared: Shared) -> None:
    first: dict[str, Found] = {}
    for each in found:
        other = first.setdefault(each.resource.key, each)
        if other is not each and each.deployed and other.deployed:
            where, fix = f"also at {other.resource.path}", "give one of them another name"
            if other.resource.path == each.resource.path:
                where, fix = "in the rounds of a copy loop", "put copyIndex() into its name"
            message = f"the resource '{each.resource.type}' '{each.resource.name}' is defined twice, {where}"
            shared.refuse(member(each.resource.path, "name"), message, fix)


def _report_circles(below: dict[str, Found], waits: dict[str, set[str]], shared: Shared) -> None:
    """The first circle. A walk in depth without recursion: 800 may stand in a row."""
    done: set[str] = set()
    for start in below:
        path: dict[str, None] = {}  # in order
        stack = [(start, False)]
        while stack:
            key, leaving = stack.pop()
            if leaving:
                path.popitem()
                done.add(key)
            elif key in path:
                keys = list(path)
                _report_circle([*keys[keys.index(key) :], key], below, shared)
                return
            elif key not in done:
                path[key] = None
                stack.append((key, True))
                stack.extend((other, False) for other in sorted(waits.get(key, ()), reverse=True))


def _report_circle(keys: list[str], below: dict[str, Found], shared: Shared) -> None:
    names = [f"{below[key].resource.type} '{below[key].resource.name}'" for key in keys]
    message = f"circular dependency: {' → '.join(names)}"
    shared.refuse(member(below[keys[0]].resource.path, "dependsOn"), message, "remove one of these dependencies")
