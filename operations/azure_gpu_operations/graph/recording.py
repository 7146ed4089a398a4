"""Runs a Pulumi program without an engine and writes its resources: `python -m azure_gpu_operations.graph.recording`.

It is a separate process because a program changes the state of Pulumi's SDK. It sends no requests to Azure or an engine.
Standard input is a list of JSON objects: the program's folder, project, stack, configuration, and variables of the environment.
Standard output is a list with an object for each: the resources by name, warnings, and the problems of the stack file, or why the
program failed. The program of all is the same, and what it imports is loaded once.
"""

import asyncio
import contextvars
import json
import logging
import os
import runpy
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pulumi
from google.protobuf.json_format import MessageToDict
from pulumi.runtime import get_root_resource
from pulumi.runtime.mocks import MockCallArgs, MockMonitor, MockResourceArgs, Mocks, set_mocks
from pulumi.runtime.stack import Stack

from azure_gpu.formats.stack_file import SECRET
from azure_gpu.shared.provider_keys import SUBSCRIPTION_ID
from azure_gpu.stack import look_ups
from azure_gpu.stack.keys import config_key
from azure_gpu_operations.graph import for_an_engine, stand_ins

_SIGNATURE = "4dabf18193072939515e22adb298388d"  # how the engine marks a special value on the wire
_STACK = "pulumi:pulumi:Stack"


class _Recorded:
    """The registered resources. Registrations come from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers: dict[tuple[str, str], int] = {}
        self.resources: list[dict[str, Any]] = []
        self.outputs: dict[str, Any] = {}  # of components, by URN

    def number(self, token: str, name: str) -> int:
        """The number of a resource: stable over calls."""
        with self._lock:
            return self._numbers.setdefault((token, name), len(self._numbers) + 1)


class _Answers(Mocks):
    def __init__(self, recorded: _Recorded, location: str, subscription: str) -> None:
        self._recorded = recorded
        self._location = location
        self._subscription = subscription

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        if not args.custom:
            return None, dict(args.inputs)
        number = self._recorded.number(args.typ, args.name)
        return stand_ins.id_of(number), stand_ins.outputs(args.typ, args.name, number, args.inputs)

    def call(self, args: MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        return stand_ins.answer(args.token, args.args, self._location, self._subscription_of(args.provider)), []

    def _subscription_of(self, provider: str | None) -> str:
        """A provider's own, where it has one: what exists may lie in another one."""
        given = next((each["inputs"] for each in self._recorded.resources if provider and provider.startswith(each["urn"])), {})
        return str(given.get("subscriptionId", self._subscription))


class _Monitor(MockMonitor):
    """The SDK's mock, which doesn't keep what depends on what."""

    def __init__(self, recorded: _Recorded, mocks: Mocks) -> None:
        super().__init__(mocks)
        self._recorded = recorded

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802  the SDK's name
        if request.type != _STACK:
            self._recorded.resources.append(
                {
                    "urn": self.make_urn(request.parent, request.type, request.name),
                    "type": request.type,
                    "name": request.name,
                    "parent": request.parent,
                    "is_component": not request.custom,
                    "number": self._recorded.number(request.type, request.name),
                    "inputs": _plain(MessageToDict(request.object)),
                    "uses": sorted({urn for each in request.propertyDependencies.values() for urn in each.urns}),
                }
            )
        return super().RegisterResource(request)

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802  the SDK's name
        self._recorded.outputs[request.urn] = _plain(MessageToDict(request.outputs))
        return super().RegisterResourceOutputs(request)


class _Warnings(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def _plain(value: Any) -> Any:
    """A value from the wire; a secret has a stand-in."""
    if isinstance(value, dict):
        return SECRET if _SIGNATURE in value else {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Runs the program of the request and returns its resources."""
    asyncio.set_event_loop(asyncio.new_event_loop())
    recorded, warnings, logger = _Recorded(), _Warnings(), logging.Logger("recorded")
    logger.addHandler(warnings)
    configuration: dict[str, str] = request["configuration"]
    location = configuration.get(config_key("location", request["project"]), "")
    mocks = _Answers(recorded, location, configuration.get(SUBSCRIPTION_ID, ""))
    monitor = _Monitor(recorded, mocks)
    set_mocks(mocks, project=request["project"], stack=request["stack"], preview=False, logger=logger, monitor=monitor)
    look_ups.BY_PROVIDER = stand_ins.look_ups()  # before the program imports it

    def program() -> pulumi.Output[None]:
        root = get_root_resource()
        assert isinstance(root, Stack)
        root.outputs = {}
        pulumi.runtime.set_all_config(configuration)
        runpy.run_path(str(Path(request["program"]) / "__main__.py"), run_name="__main__")
        return pulumi.Output.from_input(root.outputs).apply(lambda _: None)

    problem = failure = ""
    try:
        with for_an_engine.left_out():
            pulumi.runtime.test(program)()
    except pulumi.RunError as error:
        problem = str(error)
    except Exception as error:  # noqa: BLE001  a program fails by anything
        place = traceback.extract_tb(error.__traceback__)[-1]
        failure = f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"
    resources = [{**each, "outputs": recorded.outputs.get(each["urn"], {})} for each in recorded.resources]
    return {
        "resources": sorted(resources, key=lambda each: str(each["urn"])),
        "warnings": sorted(set(warnings.lines)),
        "problem": problem,
        "failure": failure,
    }


def _each(requests: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Runs one after another, each as in a process of its own."""
    for request in requests:
        os.environ.update(request["environment"])
        yield contextvars.copy_context().run(run, request)
        _forget(Path(request["program"]))


def _forget(program: Path) -> None:
    """Unloads the program's own modules, which may declare something when they are imported. The library stays."""
    for name, module in [*sys.modules.items()]:
        file = Path(getattr(module, "__file__", None) or "/")
        if file.is_relative_to(program) and "site-packages" not in file.parts and not name.startswith("azure_gpu"):
            del sys.modules[name]


def main() -> None:
    written, requests = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8"), json.load(sys.stdin)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the program prints isn't the answer
    os.chdir(requests[0]["program"])  # where the engine runs it, and relative paths of a stack file begin
    sys.path.insert(0, requests[0]["program"])
    with written:
        json.dump([*_each(requests)], written)


if __name__ == "__main__":
    main()
