"""What a run on a cluster is asked to do.

In: the words of the command line. Out: a `Wanted` and every problem that shows without asking anybody. Pure.
"""

import re
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.kubernetes import worker_group
from azure_gpu_operations.clusters.places import AKS, Place
from azure_gpu_operations.run.carried import Files
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.run.workers import Group
from azure_gpu_operations.stack_view import StackView

DEFAULT_GPUS = 1
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_LABEL_FORM = "lowercase letters, digits and '-', at most 63"


class Said(NamedTuple):
    """The words of the command line that are about clusters alone."""

    pool: str = ""
    group: Group = Group()
    namespace: str = ""
    pull_secret: str = ""
    queue: str = ""
    target: str = ""  # as it was written, also where it can't be run


class Wanted(NamedTuple):
    """One Job of one pod, or a group of workers."""

    target: Target
    arguments: tuple[str, ...] = ()
    gpus: int = 1  # of each worker
    pool: str = ""
    pull_secret: str = ""  # of the namespace; "": those of its service account
    timeout_minutes: float | None = None
    files: Files = Files()
    nodes: int = 1  # workers of the group
    queue: str = ""  # that admits it; "": none does


def resolve(
    said: Said, target: Target, arguments: list[str], timeout_minutes: float | None, view: StackView | None, kind: str
) -> tuple[Wanted, list[Problem]]:
    problems: list[Problem] = []
    if target.context is None and not target.image and not said.target:
        fix = "name a script, a workload, a folder or an image"
        problems.append(Problem("TARGET", "nothing says what the cluster is to run", fix=fix))
    gpus = DEFAULT_GPUS if said.group.gpus is None else said.group.gpus
    if said.pool and kind != AKS:
        problems.append(Problem("--pool", "an edge has no pools", value=said.pool, fix="leave it out"))
    for path, word in (("--namespace", said.namespace), ("--pull-secret", said.pull_secret), ("--queue", said.queue)):
        if word and not _LABEL.fullmatch(word):
            problems.append(Problem(path, "this can't be a name in a cluster", value=word, allowed=_LABEL_FORM))
    for path, names in (("--env", target.environment), ("--secret-env", target.secrets)):
        for variable in worker_group.VARIABLES if said.group.is_several else ():
            if variable in names:
                message = "by this variable the workers of a group know each other, and it is the group's to set"
                problems.append(Problem(path, message, value=variable, fix="leave it out, or leave out --nodes"))
    if view is not None and target.context is not None and not view.registry:
        message = f"the stack has no registry, so nothing can be built for {'the cluster' if kind == AKS else 'the edge'}"
        fix = "add `registry: create` to the stack's foundation, or name an image that the cluster can pull"
        problems.append(Problem("--stack", message, value=view.name, fix=fix))
    return Wanted(
        target, tuple(arguments), gpus, said.pool, said.pull_secret, timeout_minutes, nodes=said.group.nodes, queue=said.queue
    ), problems


def check_files(files: Files, view: StackView, place: Place) -> list[Problem]:
    """Files go as the stack's identity, as which Entra knows the pods of one namespace."""
    known = view.namespaces.get(place.name)
    if not files.are_carried or known is None or known == place.namespace:
        return []
    message = "files come and go as the stack's identity, as which pods of the stack's own namespace can run"
    return [Problem("--namespace", message, value=place.namespace, allowed=known, fix="leave it out, or run without files")]
