"""Declares the objects on a cluster with GPU pools: device plugin, feature labels, metrics, a namespace with its quota, jobs and
services.

Components that serve GPUs are in the namespace gpu-resources, run only on GPU nodes, and are deleted after the jobs.
"""

from collections.abc import Iterator, Mapping, Sequence

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.groups import JOBSET, KUEUE
from azure_gpu.kubernetes import jobs as kubernetes_jobs, objects, services
from azure_gpu.kubernetes.gpu_objects import queues, serving
from azure_gpu.kubernetes.gpu_objects.spec import ClusterObjectsSpec, announcements
from azure_gpu.kubernetes.manifests import filled
from azure_gpu.kubernetes.objects import Manifest

JOBS_LEVEL = "baseline"


def missing_images(spec: ClusterObjectsSpec, images: Mapping[str, object]) -> list[Problem]:
    """The workloads of jobs and services that no registry has built."""
    programs = {name: service.job for name, service in spec.services.items()}
    of_jobs = kubernetes_jobs.missing(spec.jobs, f"{spec.path}.jobs", images)
    return [*of_jobs, *kubernetes_jobs.missing(programs, f"{spec.path}.services", images)]


def of_jobs(spec: ClusterObjectsSpec) -> Iterator[Manifest]:
    """The namespace of jobs and its quota."""
    yield filled("namespace", name=spec.namespace, level=JOBS_LEVEL)
    if spec.quota:
        yield filled("quota", namespace=spec.namespace, hard=spec.quota)


def declare(
    name: str,
    spec: ClusterObjectsSpec,
    *,
    images: Mapping[str, pulumi.Input[str]],
    opts: pulumi.ResourceOptions,
    storage: pulumi.Input[str] = "",
    service_account: str = "",
) -> tuple[list[pulumi.Resource], int]:
    """Declares all objects of the cluster `name`. Returns them, and how many of the first serve GPUs. `opts` has parent and
    provider. Services fetch models from the account `storage` as `service_account`."""
    if pulumi.runtime.is_dry_run():  # an update shows its preview first
        for line in announcements(spec):
            pulumi.log.info(line, opts.parent)
    served = _in_order(name, list(serving.manifests(spec)), opts)
    namespace = _in_order(name, list(of_jobs(spec)), opts)
    groups = [objects.controller(f"{name}-jobset", JOBSET.of(spec.mirror), opts)] if spec.groups else []
    if spec.queue_controller:  # after JobSet, whose kind it looks for at its start
        groups.append(objects.controller(f"{name}-kueue", KUEUE.of(spec.mirror), after(opts, groups)))
    groups += _in_order(name, list(queues.manifests(spec.queues, spec.namespace)), after(opts, [*namespace, *groups]))
    jobs = declare_jobs(name, spec.jobs, spec.settings.get("jobs", {}), images, after(opts, [*served, *namespace, *groups]))
    running = _services(name, spec, images, storage, service_account, after(opts, [*served, *namespace]))
    return [*served, *namespace, *groups, *jobs, *running], len(served)


def _services(
    name: str,
    spec: ClusterObjectsSpec,
    images: Mapping[str, pulumi.Input[str]],
    storage: pulumi.Input[str],
    service_account: str,
    opts: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    declared: list[pulumi.Resource] = []
    for service, each in spec.services.items():
        own = spec.settings.get("services", {})[service].get("secret_environment", {})
        image = kubernetes_jobs.image_of(each.job, images)
        manifests = services.manifests(each, image, storage, service_account)
        named = [(_logical(name, manifest), manifest) for manifest in manifests]
        declared += _with_secret(f"{name}-secret-{service}", each.job, own, named, opts)
    return declared


def declare_jobs(
    name: str,
    specs: Mapping[str, kubernetes_jobs.JobSpec],
    settings: Mapping[str, kubernetes_jobs.JobSettings],
    images: Mapping[str, pulumi.Input[str]],
    opts: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """The Jobs of the cluster `name`, each with its Secret if it has one."""
    declared: list[pulumi.Resource] = []
    for job, spec in specs.items():
        own = settings[job].get("secret_environment", {})
        manifest = kubernetes_jobs.manifest(spec, kubernetes_jobs.image_of(spec, images))
        declared += _with_secret(f"{name}-secret-{job}", spec, own, [(f"{name}-job-{job}", manifest)], opts)
    return declared


def _with_secret(
    name: str,
    spec: kubernetes_jobs.JobSpec,
    own: Mapping[str, pulumi.Input[str]],
    manifests: Sequence[tuple[str, Manifest]],
    opts: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """The Secret `name` of a job's or service's secret variables, if it has any, and its objects; all after the first of them."""
    named = [(name, kubernetes_jobs.secret_manifest(spec, own)), *manifests] if spec.secret_names else manifests
    declared: list[pulumi.Resource] = []
    for logical, manifest in named:
        declared.append(objects.declare(logical, manifest, after(opts, declared[:1])))
    return declared


# Kinds that others depend on. All other objects depend on all of these, and on nothing else.
_GROUND = ("Namespace", "ConfigMap", "CustomResourceDefinition", "ServiceAccount", "ClusterRole", "ClusterRoleBinding")


def _in_order(name: str, manifests: Sequence[Manifest], opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    """Namespaces first, then objects that others depend on, then the rest."""
    spaces = [manifest for manifest in manifests if manifest["kind"] == "Namespace"]
    ground = [manifest for manifest in manifests if manifest["kind"] in _GROUND and manifest not in spaces]
    rest = [manifest for manifest in manifests if manifest["kind"] not in _GROUND]
    declared: list[pulumi.Resource] = []
    for group in (spaces, ground, rest):
        below = after(opts, declared)
        declared += [objects.declare(_logical(name, manifest), manifest, below) for manifest in group]
    return declared


def _logical(name: str, manifest: Manifest) -> str:
    """The resource's name: that of the cluster, the kind and the object, which are in one namespace or in none."""
    kind = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in manifest["kind"]).lstrip("-")
    return f"{name}-{kind}-{manifest['metadata']['name']}"


def after(opts: pulumi.ResourceOptions, resources: Sequence[pulumi.Resource]) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=list(resources)))
