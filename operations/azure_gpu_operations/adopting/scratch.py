"""A temporary backend of the engine with a copy of a stack and a separate stack file, and the file of `pulumi import --file`.

Resources are read, and an adoption is tried, there, before the real state is touched. A preview and an import only read Azure.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from azure_gpu_operations.adopting.matching import Planned
from azure_gpu_operations.guard.update_check import write_backend
from azure_gpu_operations.stack import EngineError, Planned as Plan, Stack, start_engine


class Scratch:
    """`text`: of the stack file that counts here."""

    def __init__(self, folder: Path, stack: Stack, text: str) -> None:
        self._folder = folder
        self._of = stack
        self._file = folder / stack.file.name
        self.configure(text)
        self._stack = Stack(stack.project_folder, stack.name, self._file)

    @property
    def backend(self) -> str:
        """Its URL."""
        return self._folder.as_uri()

    def configure(self, text: str) -> None:
        """Another stack file."""
        self._file.write_text(text, encoding="utf-8")
        self._file.chmod(0o600)

    def put(self, deployment: Mapping[str, Any]) -> None:
        """The stack's state; {} is a stack that was never up."""
        write_backend(self._folder, self._of, deployment)

    def planned(self) -> Plan:
        """What an update would do."""
        return self._stack.planned(self.backend)

    def take_in(self, resources: Mapping[str, Any]) -> None:
        """`pulumi import --file`. EngineError where it fails."""
        file = self._folder / "import.json"
        file.write_text(json.dumps(resources), encoding="utf-8")
        self._run("import", "--file", str(file), *IMPORT_OPTIONS, "--stack", self._of.name, "--config-file", str(self._file))

    def deployment(self) -> Mapping[str, Any]:
        """Its state with secrets in plain text, which only this process can decrypt."""
        exported = self._run("stack", "export", "--show-secrets", "--stack", self._of.name)
        return json.loads(exported)["deployment"]

    def _run(self, *words: str) -> str:
        done = start_engine(self._of.project_folder, *words, stack_file=self._file, quiet=True, backend=self.backend)
        if done.returncode != 0:
            raise EngineError("\n".join(_errors(done.stdout + done.stderr)) or f"`pulumi {words[0]}` failed")
        return done.stdout


IMPORT_OPTIONS: Sequence[str] = ("--yes", "--skip-preview", "--generate-code=false")


def _errors(output: str) -> list[str]:
    """The lines of an engine's output that name an error."""
    found = [line.strip().removeprefix("error: ") for line in output.splitlines() if "error:" in line]
    return list(dict.fromkeys(found))


_STACK = "pulumi:pulumi:Stack"


def of_state(deployment: Mapping[str, Any]) -> frozenset[str]:
    """The URNs of a state."""
    return frozenset(each["urn"] for each in deployment.get("resources") or [])


def import_file(
    resources: Sequence[Planned],
    ids: Mapping[str, str],
    plan: Mapping[str, Mapping[str, Any]],
    there: frozenset[str],
    states: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """`ids` by URN; `plan`: new states by URN; `there`: URNs of the stack's state; `states`: inputs and outputs under which a
    resource is taken in, by URN. What has none is read by its provider."""
    table: dict[str, str] = {}
    entries: dict[str, dict[str, Any]] = {}
    for each in resources:
        parent = _parent(each.parent, plan, there, table, entries)
        state = states.get(each.urn, {})
        given = {name: state[name] for name in ("inputs", "outputs") if state.get(name)}
        entries[each.urn] = {
            "type": each.azure_type.token,
            "name": each.urn,
            "logicalName": each.name,
            "id": ids[each.urn],
            "version": _version(each.provider),
            **({"parent": parent} if parent else {}),
            **given,
        }
    return {"nameTable": table, "resources": list(entries.values())}


def _parent(
    urn: str,
    plan: Mapping[str, Mapping[str, Any]],
    there: frozenset[str],
    table: dict[str, str],
    entries: dict[str, dict[str, Any]],
) -> str:
    """The name of a parent in the file; "" for the stack."""
    if not urn or _type(urn) == _STACK:
        return ""
    if urn in there:
        table[urn] = urn
    elif urn not in entries:
        above = _parent(plan[urn].get("parent", ""), plan, there, table, entries)
        of_component = {"type": _type(urn), "name": urn, "logicalName": urn.rsplit("::", 1)[-1], "component": True}
        entries[urn] = {**of_component, **({"parent": above} if above else {})}
    return urn


def _type(urn: str) -> str:
    return urn.split("::")[-2].rsplit("$", 1)[-1]


def _version(provider: str) -> str:
    """The version of a default provider, from its name: `default_3_29_0`."""
    found = re.search(r"::default_(\d+)_(\d+)_(\d+)", provider)
    return ".".join(found.groups()) if found else ""
