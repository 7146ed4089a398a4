"""Where on Kubernetes a command goes: one of the stack's clusters, one of its edges, or a cluster given by a kubeconfig's file.

In: a stack's view, its file, the words of the command line. Out: a `Place` and problems. Reads nothing but the stack's file,
which names the kubeconfigs of edges; one that is encrypted in it has to be given as a file.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.edge.args import EdgeSharingSettings
from azure_gpu_operations import one_part, planned
from azure_gpu_operations.project import project
from azure_gpu_operations.stack_view import StackView

AKS, EDGE = "aks", "edge"
DEFAULT_NAMESPACE = "default"


class Place(NamedTuple):
    """One cluster. Either `id` or `kubeconfig` says how it is reached."""

    name: str
    id: str = ""  # ARM id
    kubeconfig: Path | None = None
    context: str = ""
    namespace: str = DEFAULT_NAMESPACE

    @property
    def is_edge(self) -> bool:
        return not self.id

    @property
    def described(self) -> str:
        return f"{'edge' if self.is_edge else 'cluster'} {self.name}"


class Said(NamedTuple):
    """The words of the command line."""

    cluster: str = ""
    namespace: str = ""
    kubeconfig: Path | None = None
    context: str = ""


def choose(view: StackView, kind: str, said: Said, file: Path | None) -> tuple[Place | None, list[Problem]]:
    """The cluster or edge that is meant; None with a problem. `file`: the stack's."""
    if said.kubeconfig is not None:
        if kind == AKS:
            fix = "leave it out, or write --on edge"
            return None, [
                Problem("--kubeconfig", "how an AKS cluster is reached is asked from Azure", str(said.kubeconfig), fix=fix)
            ]
        only = next(iter(view.edges)) if len(view.edges) == 1 else said.kubeconfig.name
        name = said.cluster or only
        namespace = said.namespace or view.namespaces.get(name) or DEFAULT_NAMESPACE
        return Place(name, kubeconfig=said.kubeconfig, context=said.context, namespace=namespace), []
    name, problems = one_part.choose(one_part.CLUSTER if kind == AKS else one_part.EDGE, view, said.cluster, file)
    if not name:
        return None, problems
    namespace = said.namespace or view.namespaces.get(name) or DEFAULT_NAMESPACE
    if kind == AKS:
        return Place(name, id=view.clusters[name], namespace=namespace), []
    kubeconfig, context = _kubeconfig(name, _edges(file))
    if kubeconfig is None:
        message = "the stack's file doesn't say in which file the kubeconfig of this edge is"
        return None, [Problem("--kubeconfig", message, value=name, fix="give it: --kubeconfig FILE", code=Code.NOT_FOUND)]
    return Place(name, kubeconfig=kubeconfig, context=said.context or context, namespace=namespace), []


def all_of(view: StackView, file: Path | None) -> list[Place]:
    """Every cluster and edge of a stack that can be reached from here."""
    found = [
        Place(name, id=each, namespace=view.namespaces.get(name) or DEFAULT_NAMESPACE) for name, each in view.clusters.items()
    ]
    edges = _edges(file) if view.edges else {}
    for name in view.edges:
        kubeconfig, context = _kubeconfig(name, edges)
        if kubeconfig is not None:
            namespace = view.namespaces.get(name) or DEFAULT_NAMESPACE
            found.append(Place(name, kubeconfig=kubeconfig, context=context, namespace=namespace))
    return found


def _edges(file: Path | None) -> Mapping[str, EdgeSharingSettings]:
    """The edges of a stack's file; none where it can't be read."""
    try:
        return planned.settings(file).edges if file is not None else {}
    except planned.WrongStackFileError:
        return {}


def _kubeconfig(name: str, edges: Mapping[str, EdgeSharingSettings]) -> tuple[Path | None, str]:
    """The file in which an edge's kubeconfig is, whose path starts at the project's folder, and the context in it. None where the
    stack's file names none."""
    edge = edges.get(name)
    if edge is None or not (file := edge.get("kubeconfig_file")):
        return None, ""
    return project().files / file, edge.get("context", "")
