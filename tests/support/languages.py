"""Programs in other languages: a project's folder in a copy of the checkout, whose `components/` is the package that it names."""

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support import warm_python
from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.installed import LOCKED
from tests.support.stack import connected_environment, connection_keys, run_to_its_end

STACK = "one"


def environment(azure: ServedAzure, folders: Iterable[Path]) -> dict[str, str]:
    """A connection with the programs of these folders, and the packages of this checkout, so that they are in uv's cache."""
    path = Path(os.pathsep.join(map(str, folders)))
    connected = warm_python.with_plugins(connected_environment(azure, path, reaches_others=True))
    kept = {name: value for name, value in connected.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    return {**kept, "UV_CONSTRAINT": str(LOCKED), "npm_config_audit": "false", "npm_config_fund": "false", "NO_COLOR": "1"}


@dataclass
class Project:
    """A folder with a `Pulumi.yaml`, and the engine in it."""

    folder: Path
    azure: ServedAzure
    environment: Mapping[str, str]

    @property
    def name(self) -> str:
        return yaml.safe_load((self.folder / "Pulumi.yaml").read_text())["name"]

    def configure(self, **own: Any) -> None:
        """The stack's file: the connection's keys, and the project's own. Makes the stack where it isn't there yet."""
        file = self.folder / f"Pulumi.{STACK}.yaml"
        earlier = yaml.safe_load(file.read_text()) if file.exists() else {}
        keys = {**connection_keys(self.azure), **{f"{self.name}:{key}": value for key, value in own.items()}}
        file.write_text(yaml.safe_dump({**(earlier or {}), "config": keys}))
        if not earlier:
            self.well("stack", "init", STACK)

    def install(self) -> None:
        """What the README of the examples says comes first."""
        self.well("install")

    def pulumi(self, *words: str) -> "subprocess.CompletedProcess[str]":
        if words[0] in ("up", "preview", "destroy"):
            words = (*words, "--stack", STACK)
        return run_to_its_end(["pulumi", *words, "--non-interactive", "--color", "never"], self.folder, self.environment)

    def well(self, *words: str) -> str:
        done = self.pulumi(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def steps(self) -> dict[str, str]:
        """What a preview would do, by the name of the resource; what stays as it is left out."""
        preview = json.loads(self.well("preview", "--json"))
        found = {step["urn"].rsplit("::", 1)[-1]: step["op"] for step in preview["steps"]}
        return {name: operation for name, operation in found.items() if operation not in ("same", "read")}

    def outputs(self) -> dict[str, Any]:
        return json.loads(self.well("stack", "output", "--json", "--stack", STACK))

    def declared(self) -> set[tuple[str, str]]:
        """Type and name of each resource, but the stack and the default providers, which differ from project to project."""
        return named(json.loads(self.well("stack", "export", "--stack", STACK))["deployment"].get("resources") or [])

    def planned(self) -> set[tuple[str, str]]:
        """The same of what would be there, by a preview."""
        return named(step for step in json.loads(self.well("preview", "--json"))["steps"] if step["op"] in ("create", "same"))


def named(rows: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    urns = [each["urn"].split("::")[2:] for each in rows]
    return {(kind, name) for kind, name in urns if kind != "pulumi:pulumi:Stack" and not name.startswith("default")}


def copied_example(checkout: Path, language: str) -> Path:
    """The folder of the example in a copy of the checkout."""
    return checkout / (EXAMPLES / language).relative_to(CHECKOUT)


EXAMPLES = CHECKOUT / "examples" / "languages"
