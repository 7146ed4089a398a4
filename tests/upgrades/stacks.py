"""A stack of the project's own program on the real engine, in a folder of its own, with provider plugins that need no Azure.

Everything that the engine writes is in the folder: its home, its backend, the stack's file.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from localazure.plugin.installation import install
from tests.components.settings_of import TODAY
from tests.support import warm_python
from tests.support.embedded import CHECKOUT
from tests.upgrades import answers

LIMIT_SECONDS = 1200  # of one command; a stack on the embedded Azure builds images and waits for a cluster
OFFLINE = {"azure-native": "tests.upgrades.offline_azure", "kubernetes": "tests.upgrades.offline_kubernetes"}
_OF_OTHERS = ("ARM_", "AZURE_", "KUBECONFIG", "PULUMI_", "PYTHON")


class EngineFailedError(AssertionError):
    """`pulumi` ended with an error. The text is what it said."""


class RecordedStack:
    """`config`: what the engine hands to the program, as text. `prepared`: what functions answer. `environment`: of a stack that
    has an Azure; without one nobody is asked for anything."""

    def __init__(
        self,
        folder: Path,
        name: str,
        config: Mapping[str, str],
        *,
        engine_bin: Path,
        prepared: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.name = name
        self._file = folder / f"Pulumi.{name}.yaml"
        self.heard = folder / "heard.jsonl"
        self.environment = dict(environment) if environment else self._offline(engine_bin, prepared or {})
        self.environment |= {"CHECKOUT": str(CHECKOUT), "TODAY": TODAY, answers.HEARD: str(self.heard)}
        self._write_project()
        self.pulumi("stack", "init", name, "--no-select")
        self.configure(config)

    def _offline(self, engine_bin: Path, prepared: Mapping[str, Any]) -> dict[str, str]:
        home, backend, given = self.folder / "home", self.folder / "backend", self.folder / "answers.json"
        backend.mkdir()
        given.write_text(json.dumps(prepared))
        for name, module in OFFLINE.items():
            install(home, Path(sys.executable), CHECKOUT, name, module=module)
        mine = {
            **{key: value for key, value in os.environ.items() if not key.startswith(_OF_OTHERS)},
            "PATH": f"{Path(sys.prefix) / 'bin'}:{engine_bin}:{os.environ['PATH']}",
            "PULUMI_HOME": str(home),
            "PULUMI_BACKEND_URL": f"file://{backend}",
            "PULUMI_CONFIG_PASSPHRASE": "not-a-secret",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "OFFLINE": "true",
            answers.GIVEN: str(given),
        }
        return warm_python.warmed(mine)

    def _write_project(self) -> None:
        project = yaml.safe_load((CHECKOUT / "Pulumi.yaml").read_text())
        project.pop("main", None)
        project["runtime"]["options"]["virtualenv"] = sys.prefix
        (self.folder / "Pulumi.yaml").write_text(yaml.safe_dump(project, sort_keys=False))
        shutil.copy(Path(__file__).parent / "program.py", self.folder / "__main__.py")

    def configure(self, config: Mapping[str, str]) -> None:
        """Writes the stack's file, keeping the salt of its secrets."""
        earlier = yaml.safe_load(self._file.read_text())
        self._file.write_text(yaml.safe_dump({**earlier, "config": dict(config)}, sort_keys=False))

    def up(self) -> None:
        self.pulumi("up", "--yes", "--skip-preview", "--stack", self.name)

    def destroy(self) -> None:
        self.pulumi("destroy", "--yes", "--skip-preview", "--stack", self.name)
        self.pulumi("stack", "rm", "--yes", self.name)

    def exported(self) -> dict[str, Any]:
        """The deployment, with its secrets in plain text."""
        return json.loads(self.pulumi("stack", "export", "--show-secrets", "--stack", self.name))["deployment"]

    def take(self, deployment: Mapping[str, Any]) -> None:
        """Imports a deployment, whose secrets are encrypted again with this stack's salt."""
        salt = yaml.safe_load(self._file.read_text())["encryptionsalt"]
        secrets = {"secrets_providers": {"type": "passphrase", "state": {"salt": salt}}}
        file = self.folder / "state.json"
        file.write_text(json.dumps({"version": 3, "deployment": {**deployment, **secrets}}))
        self.pulumi("stack", "import", "--file", str(file), "--stack", self.name)

    def preview(self) -> dict[str, Any]:
        """What a preview says, in the engine's JSON."""
        return json.loads(self.pulumi("preview", "--json", "--stack", self.name))

    def pulumi(self, *arguments: str) -> str:
        done = subprocess.run(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise EngineFailedError(f"pulumi {' '.join(arguments[:2])}: {done.stdout[-6000:]}{done.stderr[-6000:]}")
        return done.stdout
