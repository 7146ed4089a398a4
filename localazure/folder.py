"""The state folder, `.local` in the checkout: every path in it, and how files are written there.

Files that hold a secret are readable only by their owner. Every file is replaced whole, so that nobody ever reads half of one.
"""

import json
import os
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localazure.errors import CommandError

SECRET_MODE = 0o600


def default_cache() -> Path:
    """Where what is made once for a machine is kept: images, environments, Azurite."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "azure-gpu"


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """All paths of one state folder. Nothing is made before `create`."""

    root: Path

    @property
    def database(self) -> Path:
        return self.root / "azure.sqlite"

    @property
    def batch_database(self) -> Path:
        """Jobs and tasks of Batch."""
        return self.root / "batch.sqlite"

    @property
    def batch(self) -> Path:
        """A folder for each node of Batch pools."""
        return self.root / "batch"

    @property
    def authority(self) -> Path:
        """The certificate authority's key and certificate."""
        return self.root / "ca"

    @property
    def authority_certificate(self) -> Path:
        return self.authority / "ca.pem"

    @property
    def ca_bundle(self) -> Path:
        """What clients trust: the system's authorities and ours."""
        return self.root / "ca-bundle.pem"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def server_log(self) -> Path:
        return self.logs / "azure.log"

    @property
    def endpoint(self) -> Path:
        """Where the server answers and which process it is."""
        return self.root / "endpoint.json"

    @property
    def environment(self) -> Path:
        return self.root / "env"

    @property
    def identity(self) -> Path:
        """Tenant, service principal with its secret, token signing key, admin token, passphrase: made once for this folder."""
        return self.root / "identity.json"

    @property
    def weather(self) -> Path:
        """Names the weather that the server is started in; not there: rough."""
        return self.root / "weather"

    @property
    def nothing_runs(self) -> Path:
        """There where nothing runs on the server of this folder: no process is started for what is declared."""
        return self.root / "nothing-runs"

    @property
    def still_programs(self) -> Path:
        """First on PATH where nothing runs: programs that would ask what runs."""
        return self.root / "still"

    @property
    def still_kubeconfig(self) -> Path:
        """The cluster of whoever isn't given one, where nothing runs."""
        return self.still_programs / "kubeconfig"

    @property
    def start_lock(self) -> Path:
        """Held by whoever starts or stops the server."""
        return self.root / "start.lock"

    @property
    def server_lock(self) -> Path:
        """Held by the server for as long as it lives."""
        return self.root / "server.lock"

    @property
    def pulumi_home(self) -> Path:
        return self.root / "pulumi"

    @property
    def backend(self) -> Path:
        """Pulumi's file backend: the stacks' state."""
        return self.root / "stacks"

    @property
    def containers(self) -> Path:
        """What running containers write: logs and state files."""
        return self.root / "containers"

    @property
    def replicas(self) -> Path:
        """The same, of the replicas of Container Apps jobs."""
        return self.root / "replicas"

    @property
    def machines(self) -> Path:
        """A folder for each virtual machine."""
        return self.root / "machines"

    @property
    def machine_containers(self) -> Path:
        """The containers that run on virtual machines."""
        return self.root / "machine-containers"

    @property
    def ml_jobs(self) -> Path:
        """What the nodes of Azure ML's clusters run."""
        return self.root / "ml-jobs"

    @property
    def ml_endpoints(self) -> Path:
        """What the deployments of online endpoints run, and their files and logs."""
        return self.root / "ml-endpoints"

    @property
    def blobs(self) -> Path:
        """What Azurite keeps."""
        return self.root / "blobs"

    @property
    def clusters(self) -> Path:
        """A folder for each Kubernetes cluster."""
        return self.root / "clusters"

    @property
    def kubernetes_bin(self) -> Path:
        """Names the folder of the control plane's programs, where there is one."""
        return self.root / "kubernetes-bin"

    @property
    def groups_bin(self) -> Path:
        """Names the folder of the controllers of groups and of their charts, where there is one."""
        return self.root / "groups-bin"

    @property
    def providers_bin(self) -> Path:
        """Names folders that have Pulumi's own provider plugins, as a PULUMI_HOME has them; a line each."""
        return self.root / "providers-bin"

    def stack_config(self, stack: str) -> Path:
        return self.root / f"Pulumi.{stack}.yaml"

    def create(self) -> None:
        """Makes the folder and those in it, only for their owner."""
        for folder in (self.root, self.authority, self.logs, self.pulumi_home, self.backend, self.containers, self.replicas):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root.chmod(0o700)  # whoever made it before, such as `make`


def write_whole(path: Path, text: str, mode: int = 0o644) -> None:
    """Writes a file so that it is there whole and durable, or as it was before."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_json(path: Path, content: dict[str, Any], mode: int = 0o644) -> None:
    write_whole(path, json.dumps(content, indent=2) + "\n", mode)


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
