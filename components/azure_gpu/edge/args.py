"""Settings of a cluster at the edge, given by its kubeconfig, including Azure Stack Edge: `EdgeSharingSettings`.

They are resolved and validated in `edge.resolve`.
"""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

import pulumi

from azure_gpu.foundation.common import CommonArgs
from azure_gpu.kubernetes.args import JobSettings, SharingArgs
from azure_gpu.shared.context import OfStack


class EdgeDeviceArgs(TypedDict):
    """An Azure Stack Edge device. All of it is plain."""

    model: NotRequired[str]
    """Pro GPU or Pro 2. Default: Pro GPU."""
    gpu: NotRequired[str]
    """T4 or A2. Default: T4."""
    gpu_count: NotRequired[int]
    """Number of its GPUs, 1 or 2. Default: 1."""
    gpu_vms: NotRequired[int]
    """Number of virtual machines with a GPU on it; each takes one GPU from Kubernetes. Default: 0."""
    kubernetes_first: NotRequired[bool]
    """True: Kubernetes was configured before those machines, and so has all GPUs. Default: false."""
    managed_iot_edge: NotRequired[bool]
    """True: it runs modules by the managed IoT Edge, which is retired. Default: false."""


class PullArgs(TypedDict):
    """A login at a registry, for a cluster without an identity in Azure. Plain, except for keys marked as wired."""

    server: str
    """Its login server, such as name.azurecr.io."""
    username: str
    """User name: of a token, or a service principal's id."""
    password: pulumi.Input[str]
    """Wired: its password."""


class EdgeJobSettings(JobSettings):
    """A Job that uses a GPU of the device, or none. Plain, except for keys marked as wired."""

    deployment: NotRequired[str]
    """A file with a Job, or with the env of its container, in the format of Microsoft's pages; its path is relative to the
    project's folder. Settings here take precedence over the file's, and secrets are never read from it. Default: none."""
    visible_devices: NotRequired[str]
    """The GPU that the job sees, as NVIDIA_VISIBLE_DEVICES: its index in quotes, or none. Several jobs can see one GPU, but no
    job can see two. Default: none, which is set explicitly: without the variable a job would see all of them."""
    host_ipc: NotRequired[bool]
    """Whether the job shares the device's interprocess communication, which MPS requires. Default: true with mps and a GPU, else
    false."""
    host_pid: NotRequired[bool]
    """Whether the job sees the device's processes, like the jobs in Microsoft's examples. Default: that of `host_ipc`."""


class EdgeSharingSettings(TypedDict):
    """Jobs that share the GPUs of one cluster. Plain, except for keys marked as wired."""

    kubeconfig: NotRequired[pulumi.Input[str]]
    """Wired: the text of its kubeconfig, set by `pulumi config set --secret --path`. Exactly one of `kubeconfig` and
    `kubeconfig_file` is required."""
    kubeconfig_file: NotRequired[str]
    """A file with the kubeconfig, to be kept out of git; its path is relative to the project's folder."""
    context: NotRequired[str]
    """Context in the kubeconfig. Default: the current one."""
    namespace: str
    """The namespace that the jobs run in. A device creates one, and a user for it, by its own commands: see docs/edge.md."""
    create_namespace: NotRequired[bool]
    """True creates the namespace, for which a device's users lack permission. Default: false."""
    device: NotRequired[EdgeDeviceArgs]
    """The Azure Stack Edge device, whose limits are validated. Default: none, for any other cluster, without these limits."""
    sharing: NotRequired[SharingArgs]
    """How jobs share a GPU: none uses only NVIDIA_VISIBLE_DEVICES; mps requires MPS on the device, which a command of the device
    starts. Default: none."""
    pull_from: NotRequired[PullArgs]
    """The login at the registry of the images. Default: none; images are public, or the cluster's nodes have access to them."""
    jobs: NotRequired[Mapping[str, EdgeJobSettings]]
    """Jobs by name. Default: none."""


class EdgeSharingArgs(EdgeSharingSettings, CommonArgs):
    """Arguments of EdgeSharing."""


class EdgeSharingWiring(EdgeSharingSettings, OfStack):
    """Arguments of EdgeSharing, including the outputs of the stack's other parts."""
