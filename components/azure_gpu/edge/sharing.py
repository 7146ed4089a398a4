"""Jobs that share the GPUs of a cluster given by its kubeconfig: an Azure Stack Edge device or any other.

A job sees the one GPU that its NVIDIA_VISIBLE_DEVICES names, or none; with NVIDIA's Multi-Process Service it can have a share of
it. Jobs don't request GPUs from Kubernetes, like the jobs that Microsoft shows for such devices. Left out: the device's users and
MPS itself, which commands of the device create and start, as neither ARM nor Kubernetes can declare them; and IoT Edge modules.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Unpack, overload

import pulumi
import pulumi_kubernetes as kubernetes

from azure_gpu.catalog.problems import Problem
from azure_gpu.edge.args import EdgeSharingArgs, EdgeSharingWiring, PullArgs
from azure_gpu.edge.resolve import resolve
from azure_gpu.edge.spec import PULL_SECRET, EdgeSharingSpec, announcement
from azure_gpu.foundation import common
from azure_gpu.kubernetes import jobs as kubernetes_jobs, objects
from azure_gpu.kubernetes.gpu_objects import declare as gpu_objects_declare, serving
from azure_gpu.kubernetes.gpu_objects.declare import JOBS_LEVEL
from azure_gpu.kubernetes.jobs import MANAGED_BY
from azure_gpu.kubernetes.manifests import filled
from azure_gpu.kubernetes.objects import Manifest
from azure_gpu.shared.component import Component, OnlyInPython
from azure_gpu.shared.context import Context
from azure_gpu.shared.program import Described
from azure_gpu.shared.wired import Wired

_Wired = Wired[EdgeSharingWiring, EdgeSharingSpec]


class EdgeSharing(Component[EdgeSharingArgs, EdgeSharingWiring, EdgeSharingSpec]):
    """Jobs on one cluster. Raises `Refused` if its arguments are invalid."""

    namespace: pulumi.Output[str]
    """The namespace that the jobs run in."""
    context: pulumi.Output[str]
    """The context of the kubeconfig; empty for the current one of a kubeconfig that is an output."""
    jobs: pulumi.Output[dict[str, str]]
    """The name in Kubernetes of each job, by its name here."""
    provider: OnlyInPython[kubernetes.Provider]
    """The Kubernetes provider, for resources that this component doesn't offer."""

    @overload
    def __init__(self, name: str, args: EdgeSharingArgs | _Wired, opts: pulumi.ResourceOptions | None = None) -> None: ...

    @overload
    def __init__(self, name: str, *, opts: pulumi.ResourceOptions | None = None, **kw: Unpack[EdgeSharingArgs]) -> None: ...

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)

    @staticmethod
    def _wire(described: Described) -> _Wired:
        return common.wire(described, needs_group=False)  # no resource is in a resource group

    def _resolve(self, args: EdgeSharingWiring, context: Context) -> tuple[EdgeSharingSpec, list[Problem]]:
        spec, problems = resolve(self._name, args, context)
        missing = kubernetes_jobs.missing(spec.jobs, f"{spec.path}.jobs", _images(args))
        return spec, [*problems, *missing]

    def _declare(self, spec: EdgeSharingSpec) -> None:
        self.provider = self._provider_of(spec)
        self._jobs(spec, pulumi.ResourceOptions(parent=self, provider=self.provider))
        if pulumi.runtime.is_dry_run():  # an update shows its preview first
            pulumi.log.info(announcement(spec), self)
        self.namespace = pulumi.Output.from_input(spec.namespace)
        self.context = pulumi.Output.from_input(spec.context)
        self.jobs = pulumi.Output.from_input({job: each.name for job, each in spec.jobs.items()})

    def _provider_of(self, spec: EdgeSharingSpec) -> kubernetes.Provider:
        kubeconfig = spec.kubeconfig if spec.kubeconfig is not None else self._args.get("kubeconfig", "")
        return kubernetes.Provider(
            f"{self._name}-kubernetes",
            kubeconfig=pulumi.Output.secret(kubeconfig),
            context=spec.context or None,
            # A renewed kubeconfig is the same cluster; one with another address is another cluster.
            cluster_identifier=spec.server or self._name,
            opts=self._child,
        )

    def _jobs(self, spec: EdgeSharingSpec, below: pulumi.ResourceOptions) -> None:
        """Declares the jobs, after what they need."""
        before: list[pulumi.Resource] = []
        for manifest in _before_jobs(spec):
            logical = f"{self._name}-{manifest['kind'].lower()}"
            before.append(objects.declare(logical, manifest, gpu_objects_declare.after(below, before)))
        after = gpu_objects_declare.after(below, before)
        gpu_objects_declare.declare_jobs(self._name, spec.jobs, spec.settings, _images(self._args), after)


def _images(args: EdgeSharingWiring) -> Mapping[str, pulumi.Input[str]]:
    return args["registry"]["workload_images"] if "registry" in args else {}


def _before_jobs(spec: EdgeSharingSpec) -> list[Manifest]:
    """The namespace if it is created, and the login for pulling images."""
    manifests: list[Manifest] = []
    if spec.create_namespace:
        manifests.append(filled("namespace", name=spec.namespace, level=serving.LEVEL if spec.privileged else JOBS_LEVEL))
    if "pull_from" in spec.args:
        manifests.append(_pull_secret(spec, spec.args["pull_from"]))
    return manifests


def _pull_secret(spec: EdgeSharingSpec, args: PullArgs) -> Manifest:
    login = pulumi.Output.secret(args["password"]).apply(
        lambda password: json.dumps({"auths": {args["server"]: {"username": args["username"], "password": password}}})
    )
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": PULL_SECRET, "namespace": spec.namespace, "labels": MANAGED_BY},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": login},
    }
