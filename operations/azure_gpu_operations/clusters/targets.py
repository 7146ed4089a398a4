"""Selects the cluster of a command: a cluster or edge of the stack, or a cluster given by a kubeconfig.

Only the stack's file is read, for the kubeconfigs of edges; an encrypted kubeconfig must be given as a file.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu_operations import one_part, planned
from azure_gpu_operations.project import project
from azure_gpu_operations.stack_view import StackView

if TYPE_CHECKING:  # it loads Pulumi, and `--help` doesn't need it
    from azure_gpu.edge.args import EdgeSharingSettings

AKS, EDGE = "aks", "edge"
DEFAULT_NAMESPACE = "default"


class ClusterTarget(NamedTuple):
    """One cluster, reached by `id` or `kubeconfig`."""

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


class ClusterSelection(NamedTuple):
    """Options of the command line that select a cluster."""

    cluster: str = ""
    namespace: str = ""
    kubeconfig: Path | None = None
    context: str = ""


def choose(
    view: StackView, kind: str, selection: ClusterSelection, file: Path | None
) -> tuple[ClusterTarget | None, list[Problem]]:
    """The selected cluster or edge; None with problems. `file`: the stack's."""
    if selection.kubeconfig is not None:
        if kind == AKS:
            fix = "remove it, or use --on edge"
            return None, [
                Problem(
                    "--kubeconfig",
                    "AKS clusters are reached through Azure, without a kubeconfig",
                    str(selection.kubeconfig),
                    fix=fix,
                )
            ]
        only = next(iter(view.edges)) if len(view.edges) == 1 else selection.kubeconfig.name
        name = selection.cluster or only
        namespace = selection.namespace or view.namespaces.get(name) or DEFAULT_NAMESPACE
        return ClusterTarget(name, kubeconfig=selection.kubeconfig, context=selection.context, namespace=namespace), []
    name, problems = one_part.choose(one_part.CLUSTER if kind == AKS else one_part.EDGE, view, selection.cluster, file)
    if not name:
        return None, problems
    found = _reached(view, kind, name, _edges(file) if kind == EDGE else {})
    if found is None:
        message = "the stack's file has no `kubeconfig_file` for this edge"
        return None, [Problem("--kubeconfig", message, value=name, fix="add --kubeconfig FILE", code=Code.NOT_FOUND)]
    context = found.context if kind == AKS else selection.context or found.context
    return found._replace(namespace=selection.namespace or found.namespace, context=context), []


def all_of(view: StackView, file: Path | None) -> list[ClusterTarget]:
    """Every reachable cluster and edge of a stack."""
    edges = _edges(file) if view.edges else {}
    named = [*((AKS, name) for name in view.clusters), *((EDGE, name) for name in view.edges)]
    return [found for kind, name in named if (found := _reached(view, kind, name, edges)) is not None]


def _reached(view: StackView, kind: str, name: str, edges: "Mapping[str, EdgeSharingSettings]") -> ClusterTarget | None:
    """A cluster by its id, an edge by the kubeconfig file and context that the stack's file has; None without one."""
    namespace = view.namespaces.get(name) or DEFAULT_NAMESPACE
    if kind == AKS:
        return ClusterTarget(name, id=view.clusters[name], namespace=namespace)
    if not (file := edges.get(name, {}).get("kubeconfig_file")):
        return None
    # Paths in the stack's file are relative to the project's folder.
    kubeconfig = project().files / file
    return ClusterTarget(name, kubeconfig=kubeconfig, context=edges[name].get("context", ""), namespace=namespace)


def _edges(file: Path | None) -> "Mapping[str, EdgeSharingSettings]":
    """The edges of a stack's file; none if it can't be read."""
    try:
        return planned.settings(file).parts["edges"] if file is not None else {}
    except planned.UnreadableStackFileError:
        return {}
