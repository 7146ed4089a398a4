"""Settings of a cluster at the edge, given by its kubeconfig, including Azure Stack Edge: `EdgeSharingSettings`.

They are resolved in `edge.resolve` and validated in `edge.rules`.
"""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

import pulumi

from azure_gpu.foundation.common import CommonArgs
from azure_gpu.kubernetes.job_args import JobSettings
from azure_gpu.kubernetes.sharing_args import SharingArgs
from azure_gpu.shared.context import OfStack

DEFAULT_MODEL = "Pro GPU"
DEFAULT_GPU = "T4"
DEFAULT_GPU_COUNT = 1


class EdgeDeviceArgs(TypedDict):
    """An Azure Stack Edge device. All of it is plain."""

    model: NotRequired[str]
    """Pro GPU or Pro 2. Default: Pro GPU."""
    gpu: NotRequired[str]
    """T4 or A2. Default: T4."""
    gpu_count: NotRequired[int]
    """How many GPUs it has, 1 or 2. Default: 1."""
    gpu_vms: NotRequired[int]
    """How many virtual machines with a GPU it runs; each takes one GPU from Kubernetes. Default: 0."""
    kubernetes_first: NotRequired[bool]
    """True: Kubernetes was configured before those machines, and so has all GPUs. Default: false."""
    managed_iot_edge: NotRequired[bool]
    """True: it runs modules by the managed IoT Edge, which has ended. Default: false."""


class PullArgs(TypedDict):
    """A registry's login, for a cluster that has no identity in Azure. Plain, but for what is called wired."""

    server: str
    """Its login server, such as name.azurecr.io."""
    username: str
    """Whom it knows: a token's name, or a service principal's id."""
    password: pulumi.Input[str]
    """Wired: that one's password."""


class EdgeJobSettings(JobSettings):
    """A Job that uses a GPU of the device, or none. Plain, but for what is called wired."""

    deployment: NotRequired[str]
    """A file with a Job, or with the env of its container, as Microsoft's pages have them; its path starts at the project's
    folder. What is said here comes before what is written there, and a secret is never taken from it. Default: none."""
    visible_devices: NotRequired[str]
    """Which GPU the job sees, as NVIDIA_VISIBLE_DEVICES: its index in quotes, or none. Several jobs can see one GPU, and no job
    two. Default: none, which is written too: left out, it would mean all of them."""
    host_ipc: NotRequired[bool]
    """Whether the job shares the device's interprocess communication, through which it reaches MPS. Default: true with mps and a
    GPU, else false."""
    host_pid: NotRequired[bool]
    """Whether the job sees the device's processes, as the jobs do that Microsoft shows. Default: that of `host_ipc`."""


class EdgeSharingSettings(TypedDict):
    """Jobs that share the GPUs of one cluster. Plain, but for what is called wired."""

    kubeconfig: NotRequired[pulumi.Input[str]]
    """Wired: the text of its kubeconfig, written by `pulumi config set --secret --path`. Exactly one of `kubeconfig` and
    `kubeconfig_file` is needed."""
    kubeconfig_file: NotRequired[str]
    """The file that it is in, which git shouldn't have; its path starts at the project's folder."""
    context: NotRequired[str]
    """Which of its contexts. Default: the current one."""
    namespace: str
    """The namespace that the jobs run in. A device makes one, and a user for it, by commands of its own: see docs/edge.md."""
    create_namespace: NotRequired[bool]
    """True makes the namespace, which a device's users may not. Default: false."""
    device: NotRequired[EdgeDeviceArgs]
    """The Azure Stack Edge device that it is, by whose limits it is judged. Default: it is none, and has none of them."""
    sharing: NotRequired[SharingArgs]
    """How jobs share a GPU: none is by NVIDIA_VISIBLE_DEVICES alone; mps needs MPS on the device, which its own command starts.
    Default: none."""
    pull_from: NotRequired[PullArgs]
    """The login at the registry that images are pulled from. Default: none; images are what anybody may pull, or the
    cluster's own nodes may."""
    jobs: NotRequired[Mapping[str, EdgeJobSettings]]
    """Jobs by name. Default: none."""


class EdgeSharingArgs(EdgeSharingSettings, CommonArgs):
    """A cluster at the edge, and what its jobs share with others."""


class EdgeSharingWiring(EdgeSharingSettings, OfStack):
    """The same, wired to what it needs."""
