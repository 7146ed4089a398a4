"""The resolved cluster at the edge, `EdgeSharingSpec`, from which the component declares."""

from dataclasses import dataclass

from azure_gpu.catalog.services.gpu_sharing import SharingRequest
from azure_gpu.edge.args import EdgeJobSettings, EdgeSharingSettings
from azure_gpu.kubernetes.jobs import JobSpec

PULL_SECRET = "azure-gpu-registry"  # noqa: S105  the name of an object


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSharingSpec:
    """A resolved cluster at the edge. Secrets stay in the settings, except the kubeconfig of a file."""

    path: str
    args: EdgeSharingSettings
    kubeconfig: str | None  # None: an output, or unreadable
    context: str  # empty: the current one of an unknown kubeconfig
    server: str  # empty if unknown
    namespace: str
    create_namespace: bool
    device: str  # a description; empty: none
    sharing: SharingRequest
    settings: dict[str, EdgeJobSettings]  # of jobs, merged with those of their files
    jobs: dict[str, JobSpec]

    @property
    def kubeconfig_path(self) -> str:
        return f"{self.path}.{'kubeconfig_file' if 'kubeconfig_file' in self.args else 'kubeconfig'}"

    @property
    def privileged(self) -> bool:
        """Whether a job shares a namespace of the host, which Kubernetes allows only in privileged namespaces."""
        return any(job.placement.host_ipc or job.placement.host_pid for job in self.jobs.values())


def announcement(spec: EdgeSharingSpec) -> str:
    """How the cluster's GPUs are shared, for a preview."""
    where = spec.device or "the cluster"
    if spec.sharing.strategy == "mps":
        return f"{where}: jobs share a GPU through MPS, which a command of the device starts, each within its own limits"
    return f"{where}: jobs see the whole GPU that NVIDIA_VISIBLE_DEVICES names, and jobs on the same GPU aren't isolated"
