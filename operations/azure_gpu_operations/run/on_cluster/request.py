"""The request of a run on a cluster, validated without any request to it. Pure."""

import argparse
import re
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.kubernetes import worker_group
from azure_gpu_operations.clusters.targets import AKS, ClusterTarget
from azure_gpu_operations.run.carried import Files
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.run.workers import group
from azure_gpu_operations.stack_view import StackView

DEFAULT_GPUS = 1
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_LABEL_FORM = "lowercase letters, digits and '-', at most 63"


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


def resolve(options: argparse.Namespace, target: Target, _: StackView | None) -> tuple[ClusterRequest, list[Problem]]:
    problems: list[Problem] = []
    if options.pool and options.on != AKS:
        problems.append(Problem("--pool", "an edge has no pools", value=options.pool, fix="remove it"))
    names = {"--namespace": options.namespace, "--pull-secret": options.pull_secret, "--queue": options.queue}
    for path, word in names.items():
        if word and not _LABEL.fullmatch(word):
            problems.append(Problem(path, "not a valid Kubernetes name", value=word, allowed=_LABEL_FORM))
    workers = group(options.nodes, options.gpus)
    for path, variables in (("--env", target.environment), ("--secret-env", target.secrets)):
        for variable in worker_group.VARIABLES if workers.is_several else ():
            if variable in variables:
                message = "set automatically for groups of workers"
                problems.append(Problem(path, message, value=variable, fix="remove it, or remove --nodes"))
    return ClusterRequest(
        target,
        tuple(options.after),
        DEFAULT_GPUS if workers.gpus is None else workers.gpus,
        options.pool or "",
        options.pull_secret or "",
        options.timeout,
        nodes=workers.nodes,
        queue=options.queue or "",
    ), problems


def check(view: StackView, place: ClusterTarget, request: ClusterRequest) -> list[Problem]:
    """Rejects files in other namespaces: the stack's identity is federated with one namespace."""
    known = view.namespaces.get(place.name)
    if not request.files.are_carried or known is None or known == place.namespace:
        return []
    message = "files are transferred as the stack's identity, which only pods of the stack's namespace can use"
    return [Problem("--namespace", message, value=place.namespace, allowed=known, fix="remove it, or run without files")]
