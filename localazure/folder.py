"""The state folder, `.local` in the checkout: every path in it, and how files are written there.

Files that hold a secret are readable only by their owner. Every file is replaced whole, so that nobody ever reads half of one.
"""

import contextlib
import fcntl
import json
import os
import secrets
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localazure.errors import CommandError

SECRET_MODE = 0o600


def default_cache() -> Path:
    """Where what is made once for a machine is kept: images, environments, Azurite."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "azure-gpu"


class _Below:
    """A path of the folder, by its name there."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, folder: "LocalFolder", _: object) -> Path:
        return folder.root / self._name


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """All paths of one state folder. Nothing is made before `create`."""

    root: Path
    database = _Below("azure.sqlite")
    batch_database = _Below("batch.sqlite")  # jobs and tasks of Batch
    batch = _Below("batch")  # a folder for each node of Batch pools
    authority = _Below("ca")  # the certificate authority's key and certificate
    authority_certificate = _Below("ca/ca.pem")
    ca_bundle = _Below("ca-bundle.pem")  # what clients trust: the system's authorities and ours
    logs = _Below("logs")
    server_log = _Below("logs/azure.log")
    endpoint = _Below("endpoint.json")  # where the server answers and which process it is
    environment = _Below("env")
    # Tenant, service principal with its secret, token signing key, admin token, passphrase: made once for this folder.
    identity = _Below("identity.json")
    weather = _Below("weather")  # names the weather that the server is started in; not there: rough
    nothing_runs = _Below("nothing-runs")  # there where no process is started for what is declared
    still_programs = _Below("still")  # first on PATH where nothing runs: programs that would ask what runs
    still_kubeconfig = _Below("still/kubeconfig")  # the cluster of whoever isn't given one, where nothing runs
    start_lock = _Below("start.lock")  # held by whoever starts or stops the server
    server_lock = _Below("server.lock")  # held by the server for as long as it lives
    pulumi_home = _Below("pulumi")
    backend = _Below("stacks")  # Pulumi's file backend: the stacks' state
    containers = _Below("containers")  # what running containers write: logs and state files
    replicas = _Below("replicas")  # the same, of the replicas of Container Apps jobs
    machines = _Below("machines")  # a folder for each virtual machine
    machine_containers = _Below("machine-containers")  # the containers that run on virtual machines
    ml_jobs = _Below("ml-jobs")  # what the nodes of Azure ML's clusters run
    ml_endpoints = _Below("ml-endpoints")  # what the deployments of online endpoints run, and their files and logs
    blobs = _Below("blobs")  # what Azurite keeps
    clusters = _Below("clusters")  # a folder for each Kubernetes cluster
    kubernetes_bin = _Below("kubernetes-bin")  # names the folder of the control plane's programs, where there is one
    groups_bin = _Below("groups-bin")  # names the folder of the controllers of groups and of their charts, where there is one
    providers_bin = _Below("providers-bin")  # names folders with Pulumi's own plugins, as a PULUMI_HOME has them; a line each

    def stack_config(self, stack: str) -> Path:
        return self.root / f"Pulumi.{stack}.yaml"

    def create(self) -> None:
        """Makes the folder and those in it, only for their owner."""
        for folder in (self.root, self.authority, self.logs, self.pulumi_home, self.backend, self.containers, self.replicas):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root.chmod(0o700)  # whoever made it before, such as `make`


def write_whole(path: Path, text: str, mode: int = 0o644, *, durable: bool = True) -> None:
    """Writes a file so that it is there whole and durable, or as it was before."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_json(path: Path, content: dict[str, Any], mode: int = 0o644, *, durable: bool = True) -> None:
    """`durable`: False for what means processes, which a machine that loses its power loses, too."""
    write_whole(path, json.dumps(content, indent=2) + "\n", mode, durable=durable)


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a file, or None where the file doesn't exist. CommandError where it holds something else."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise CommandError(f"{path}: invalid JSON ({error}); remove the file or the state folder") from error


def random_secret() -> str:
    """256 random bits, safe in a URL and in a shell."""
    return secrets.token_urlsafe(32)


def same_secret(ours: str, given: str) -> bool:
    """Compared in a time that tells nothing of where they differ."""
    return secrets.compare_digest(ours.encode(), given.encode())


@contextlib.contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[None]:
    """Holds the lock on `path`, which the system releases when its holder ends. CommandError where another process holds it and
    `wait` is false."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise CommandError(f"a server already runs for {path.parent}") from error
        yield
