"""The request of a run on a cluster, validated without any request to it. Pure."""

import re
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.kubernetes import worker_group
from azure_gpu_operations.clusters.targets import AKS, ClusterTarget
from azure_gpu_operations.run.carried import Files
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.run.workers import Group
from azure_gpu_operations.stack_view import StackView

DEFAULT_GPUS = 1
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_LABEL_FORM = "lowercase letters, digits and '-', at most 63"


class ClusterOptions(NamedTuple):
    """The options of the command line for clusters."""

    pool: str = ""
    group: Group = Group()
    namespace: str = ""
    pull_secret: str = ""
    queue: str = ""
    target: str = ""  # as given, even if invalid


class ClusterRequest(NamedTuple):
    """One Job of one pod, or a group of workers."""

    target: Target
    arguments: tuple[str, ...] = ()
    gpus: int = 1  # per worker
    pool: str = ""
    pull_secret: str = ""  # in the namespace; "": those of its service account
    timeout_minutes: float | None = None
    files: Files = Files()
    nodes: int = 1  # workers of the group
    queue: str = ""  # that admits it; "": none does


def resolve(
    options: ClusterOptions,
    target: Target,
    arguments: list[str],
    timeout_minutes: float | None,
    view: StackView | None,
    kind: str,
) -> tuple[ClusterRequest, list[Problem]]:
    problems: list[Problem] = []
    if target.context is None and not target.image and not options.target:
        fix = "name a script, a workload, a folder or an image"
        problems.append(Problem("TARGET", "no target is given", fix=fix))
    gpus = DEFAULT_GPUS if options.group.gpus is None else options.group.gpus
    if options.pool and kind != AKS:
        problems.append(Problem("--pool", "an edge has no pools", value=options.pool, fix="remove it"))
    for path, word in (("--namespace", options.namespace), ("--pull-secret", options.pull_secret), ("--queue", options.queue)):
        if word and not _LABEL.fullmatch(word):
            problems.append(Problem(path, "not a valid Kubernetes name", value=word, allowed=_LABEL_FORM))
    for path, names in (("--env", target.environment), ("--secret-env", target.secrets)):
        for variable in worker_group.VARIABLES if options.group.is_several else ():
            if variable in names:
                message = "set automatically for groups of workers"
                problems.append(Problem(path, message, value=variable, fix="remove it, or remove --nodes"))
    if view is not None and target.context is not None and not view.registry:
        message = "the stack has no registry to build the image"
        fix = "add `registry: create` to the stack's foundation, or name an image that the cluster can pull"
        problems.append(Problem("--stack", message, value=view.name, fix=fix))
    return ClusterRequest(
        target,
        tuple(arguments),
        gpus,
        options.pool,
        options.pull_secret,
        timeout_minutes,
        nodes=options.group.nodes,
        queue=options.queue,
    ), problems


def check_files(files: Files, view: StackView, place: ClusterTarget) -> list[Problem]:
    """Rejects files in other namespaces: the stack's identity is federated with one namespace."""
    known = view.namespaces.get(place.name)
    if not files.are_carried or known is None or known == place.namespace:
        return []
    message = "files are transferred as the stack's identity, which only pods of the stack's namespace can use"
    return [Problem("--namespace", message, value=place.namespace, allowed=known, fix="remove it, or run without files")]
