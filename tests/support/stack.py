"""The real program as a stack of its own, run by the real engine on an embedded Azure."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from azure_gpu.formats.azure_types import RESOURCE_GROUP
from tests.support import warm_python
from tests.support.embedded import CHECKOUT, SUBSCRIPTION, ServedAzure
from tests.support.patience import SECONDS

# A line of an update: what the engine has done to a resource of which type and name.
_DONE = re.compile(
    r"^ *[+~-]{1,2} +(\S+) (\S+) (created replacement|deleted original|created|updated|replaced|deleted)\b", re.MULTILINE
)
_OPERATIONS = {
    **{"created": "create", "updated": "update", "deleted": "delete", "replaced": "replace"},
    **{"created replacement": "create-replacement", "deleted original": "delete-replaced"},
}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a preview: what the engine would do to which resource, and the input that makes it replace."""

    operation: str
    type: str
    name: str
    replaced_by: tuple[str, ...] = ()


class ProgramStack:
    """`config` holds the program's keys without their namespace, the connection keys are added; None: the file is there.

    `warm`: what the engine starts comes out of a warm Python, and so does `operations`, where it has no terminal.
    """

    def __init__(
        self, azure: ServedAzure, name: str, config: dict[str, Any] | None, *, engine_bin: Path, warm: bool = True
    ) -> None:
        self.azure = azure
        self.name = name
        self.config_file = azure.state / f"Pulumi.{name}.yaml"
        self.environment = connected_environment(azure, engine_bin)
        self._python = sys.executable
        if warm:
            self.warm_up()
        self.there = False  # made, by `create`
        self._may_hold = False  # whether an `up` was begun since the last `down`
        self._configured: dict[str, Any] | None = None
        self._updated: dict[str, Any] | None = None
        if config is not None:
            self.configure(config)

    def warm_up(self) -> None:
        """From now on a warm Python starts what the engine starts."""
        self.environment = warm_python.warmed(self.environment)
        self._python = str(warm_python.python())

    def configure(self, config: dict[str, Any]) -> None:
        """Writes the stack's configuration, keeping the salt of its secrets. It isn't protected, unless it says so."""
        earlier = yaml.safe_load(self.config_file.read_text()) if self.config_file.exists() else {}
        keys = {f"azure-gpu:{key}": value for key, value in {"protect_data": False, **config}.items()} | connection_keys(
            self.azure
        )
        self.config_file.write_text(yaml.safe_dump({**earlier, "config": keys}, sort_keys=False))
        self._configured, self._updated = deepcopy(config), None

    @contextmanager
    def without(self, section: str) -> Iterator[None]:
        """With a configuration that leaves a section out; afterwards it is as before."""
        text = self.config_file.read_text()
        content = yaml.safe_load(text)
        del content["config"][f"azure-gpu:{section}"]
        self.config_file.write_text(yaml.safe_dump(content, sort_keys=False))
        try:
            yield
        finally:
            self.config_file.write_text(text)

    def become(self, config: dict[str, Any]) -> None:
        """Brings the stack, made where it isn't there yet, to this configuration, whatever it had."""
        if self._updated != config:
            self.prepare(config)
            self.update()

    def prepare(self, config: dict[str, Any]) -> None:
        """Makes the stack where it isn't there yet, and writes this configuration; what is up stays as it is."""
        self.configure(config)
        if not self.there:
            self.create()

    # `python -m operations` and `pulumi`, as a user runs them

    def up(self) -> "subprocess.CompletedProcess[str]":
        return self.operations("up")

    def down(self) -> "subprocess.CompletedProcess[str]":
        return self.operations("down", "--yes")

    def let_go(self) -> None:
        """Lets what is protected go, for a stack that ends."""
        done = self._run(["pulumi", "state", "unprotect", "--all", "--yes", "--stack", self.name])
        assert done.returncode == 0, done.stdout + done.stderr

    def end(self) -> None:
        """Leaves a stack that no test needs any more: its resource groups are deleted in Azure, and then it is forgotten, which
        takes no run of the engine. One that nothing was brought up in is removed, which fails where it has a resource."""
        force = ["--force"] if self._may_hold else []
        if self._may_hold:
            for resource in self.exported().get("resources") or ():
                if resource["type"] == RESOURCE_GROUP.token and not resource.get("external"):
                    assert self.azure.delete(resource["id"], "2024-03-01").status_code in (202, 204)
        done = self._run(["pulumi", "stack", "rm", "--yes", "--preserve-config", *force, "--non-interactive", self.name])
        self._may_hold = False
        assert done.returncode == 0 or "no stack named" in done.stderr, done.stdout + done.stderr

    def update(self) -> str:
        """`pulumi up` alone, which has to go well, and its output. The stack has to exist."""
        done = self.pulumi("up", "--yes", "--skip-preview")
        assert done.returncode == 0, done.stdout + done.stderr
        self._updated = self._configured
        return done.stdout

    def changes(self) -> list[Step]:
        """Updates, and what was done, in the engine's order, without what stayed: shorter than a preview before an update."""
        return changes_of(self.update())

    def operations(self, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        self._note(words)
        done = self._run([self._python, *self.line(*words)[1:]], environment)
        if words[0] == "down" and done.returncode == 0:
            self._may_hold = False
        return done

    def line(self, *words: str) -> list[str]:
        """The command line, with the stack's options before what belongs to the program that `run` runs."""
        at = words.index("--") if "--" in words else len(words)
        options = ["--stack", self.name, "--config-folder", str(self.azure.state)]
        return [sys.executable, "-m", "operations", *words[:at], *options, *words[at:]]

    def start_up(self) -> "subprocess.Popen[str]":
        """Begins an `up` of `pulumi` alone and returns its process, for a test that kills it. The stack has to exist."""
        self._note(("up",))
        return subprocess.Popen(
            ["pulumi", "up", "--yes", "--skip-preview", "--non-interactive", *self._options()],
            cwd=CHECKOUT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def create(self) -> None:
        """Makes the stack, without anything in it, as `up` does first."""
        # The engine writes the salt of the stack's secrets into the project's folder, so it gets one of its own.
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            shutil.copy(CHECKOUT / "Pulumi.yaml", folder)
            shutil.copy(self.config_file, folder / f"Pulumi.{self.name}.yaml")
            done = self._run(["pulumi", "stack", "init", self.name, "--no-select", "--non-interactive"], cwd=folder)
            assert done.returncode == 0, done.stdout + done.stderr
            shutil.copy(folder / f"Pulumi.{self.name}.yaml", self.config_file)
        self.there = True

    def pulumi(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        self._note(arguments)
        return self._run(["pulumi", *arguments, "--non-interactive", *self._options()])

    def steps(self) -> list[Step]:
        """What `pulumi preview` would do, in the engine's order, without what stays as it is."""
        done = self.pulumi("preview", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        steps = [_step(step) for step in json.loads(done.stdout)["steps"]]
        return [step for step in steps if step.operation not in ("same", "read")]

    def exported(self) -> dict[str, Any]:
        done = self._run(["pulumi", "stack", "export", "--stack", self.name])
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)["deployment"]

    def imports(self, deployment: Mapping[str, Any]) -> None:
        """Puts a changed export in the place of the state."""
        file = self.config_file.with_suffix(".state.json")
        file.write_text(json.dumps({"version": 3, "deployment": deployment}))
        done = self._run(["pulumi", "stack", "import", "--file", str(file), "--stack", self.name])
        assert done.returncode == 0, done.stdout + done.stderr

    def outputs(self) -> dict[str, Any]:
        done = self._run(["pulumi", "stack", "output", "--json", "--stack", self.name])
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def names(self) -> list[str]:
        done = self._run(["pulumi", "stack", "ls", "--json"])
        return [stack["name"] for stack in json.loads(done.stdout)]

    def _note(self, words: tuple[str, ...]) -> None:
        """A stack that something was brought up in has to be taken down."""
        self._may_hold |= words[0] in ("up", "import")

    def _options(self) -> list[str]:
        return ["--stack", self.name, "--config-file", str(self.config_file)]

    def _run(
        self, command: list[str], more: Mapping[str, str] | None = None, *, cwd: Path = CHECKOUT
    ) -> "subprocess.CompletedProcess[str]":
        return run_to_its_end(command, cwd, {**self.environment, **(more or {})})


def changes_of(said: str) -> list[Step]:
    """What an update has done, by its output."""
    return [Step(_OPERATIONS[done], type_name, name) for type_name, name, done in _DONE.findall(said)]


def run_to_its_end(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    """A command of the engine, whatever its exit code. One that takes too long fails the test with what it had printed."""
    try:
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired as late:
        said = b"".join(each for each in (late.stdout, late.stderr) if each).decode(errors="replace")
        raise AssertionError(f"{' '.join(command)} took more than {SECONDS} s and had said:\n{said}") from None


@contextmanager
def standing(
    azure: ServedAzure, name: str, config: dict[str, Any], *, engine_bin: Path, kubernetes_bin: Path | None = None
) -> Iterator[ProgramStack]:
    """A stack that is up for the tests of a module, and ends with them."""
    made = ProgramStack(azure, name, config, engine_bin=engine_bin)
    if kubernetes_bin is not None:
        made.environment["PATH"] = f"{kubernetes_bin}:{made.environment['PATH']}"
    done = made.up()
    assert done.returncode == 0, done.stdout + done.stderr
    yield made
    made.end()


def connection_keys(azure: ServedAzure) -> dict[str, str]:
    """The provider's five connection keys, written out here because they are the contract with the real provider."""
    return {
        "azure-native:metadataHost": f"localhost:{azure.port}",
        "azure-native:disableInstanceDiscovery": "true",
        "azure-native:subscriptionId": SUBSCRIPTION,
        "azure-native:tenantId": azure.tenant_id,
        "azure-native:clientId": azure.client_id,
    }


def connected_environment(azure: ServedAzure, engine_bin: Path, *, reaches_others: bool = False) -> dict[str, str]:
    """The variables of the state folder's `env` file, read by a shell as a user's would, with the engine on PATH.

    Its runs are short: where Go's collector waits until they hold five times as much, they take a sixth less of the processors.
    Each connection reads the file of those whom it trusts. Unless something `reaches_others`, such as a package registry, the
    embedded Azure stands there alone: the system's hundred take a twentieth of a second, ten times an `up`.
    """
    script = f"set -a; . {shlex.quote(str(azure.state / 'env'))}; env -0"
    before = {**os.environ, "GOGC": "400", "PATH": f"{engine_bin}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", script], env=before, capture_output=True, text=True, check=True)
    connected = dict(line.split("=", 1) for line in done.stdout.split("\0") if "=" in line)
    alone = str(azure.state / "ca" / "ca.pem")
    return connected if reaches_others else {**connected, "SSL_CERT_FILE": alone, "REQUESTS_CA_BUNDLE": alone}


def _step(step: dict[str, Any]) -> Step:
    type_name, name = step["urn"].split("::")[-2:]
    return Step(step["op"], type_name.split("$")[-1], name, tuple(step.get("replaceReasons") or ()))
