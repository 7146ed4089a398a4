"""Node feature discovery, emulated: its master puts labels of NodeFeature objects on nodes.

The type NodeFeature has to be there. Labels that an object no longer has are taken away. Behaviour:
kubernetes-sigs/node-feature-discovery; its worker, which finds features of processor and system, isn't there.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from localazure.kubernetes.client import KubeError
from localazure.kubernetes.infrastructure.context import ActorContext
from localazure.kubernetes.infrastructure.feature_discovery import NODE_FEATURES, NODE_OF_FEATURES

OWN_LABELS = "nfd.node.kubernetes.io/feature-labels"  # annotation: the labels that the master has put on the node
DEFAULT_PREFIX = "feature.node.kubernetes.io/"
_AGAIN_SECONDS = 2.0


class Master:
    """`nfd-master`."""

    async def run(self, context: ActorContext) -> int:
        context.klog('"Node Feature Discovery Master"', where="nfd-master.go:283")
        following = asyncio.create_task(self._follow(context))
        await context.pause()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        return 0

    async def _follow(self, context: ActorContext) -> None:
        features: dict[tuple[str, str], Mapping[str, Any]] = {}
        while True:
            try:
                async for event in context.api.follow(f"{NODE_FEATURES}/nodefeatures"):
                    await self._happened(context, event.type, event.object, features)
            except KubeError as error:
                context.klog(f'"failed to list NodeFeatures" err="{error.message}"', level="E", where="nfd-api-controller.go:160")
                await asyncio.sleep(_AGAIN_SECONDS)

    async def _happened(
        self, context: ActorContext, kind: str, told: Mapping[str, Any], features: dict[tuple[str, str], Mapping[str, Any]]
    ) -> None:
        if kind == "SYNCED":
            nodes = {_node(one) for one in features.values()}
            features.clear()
            for one in told.get("items", []):
                features[_key(one)] = one
                nodes.add(_node(one))
        else:
            nodes = {_node(told)}
            if kind == "DELETED":
                features.pop(_key(told), None)
            else:
                features[_key(told)] = told
        for node in sorted(nodes - {""}):
            of_node = [one for _, one in sorted(features.items()) if _node(one) == node]
            await _label(context, node, labels_of(of_node))


def labels_of(features: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The labels that a node's objects ask for. Names without a prefix get the default one; kubernetes.io ones aren't taken."""
    labels: dict[str, str] = {}
    for one in features:
        for name, value in (one.get("spec", {}).get("labels") or {}).items():
            full = name if "/" in name else DEFAULT_PREFIX + name
            prefix = full.partition("/")[0]
            ours = prefix == DEFAULT_PREFIX.rstrip("/") or prefix.endswith("." + DEFAULT_PREFIX.rstrip("/"))
            if ours or not (prefix == "kubernetes.io" or prefix.endswith(".kubernetes.io")):
                labels[full] = str(value)
    return labels


async def _label(context: ActorContext, node: str, labels: Mapping[str, str]) -> None:
    found = await context.api.find(f"/api/v1/nodes/{node}")
    if found is None:
        return
    noted = (found["metadata"].get("annotations") or {}).get(OWN_LABELS, "")
    before = [name if "/" in name else DEFAULT_PREFIX + name for name in noted.split(",") if name]
    now = found["metadata"].get("labels") or {}
    change: dict[str, str | None] = {name: value for name, value in labels.items() if now.get(name) != value}
    change |= {name: None for name in before if name not in labels and name in now}
    names = ",".join(sorted(name.removeprefix(DEFAULT_PREFIX) for name in labels))
    if not change and noted == names:
        return
    try:
        body = {"metadata": {"labels": change, "annotations": {OWN_LABELS: names}}}
        await context.api.patch(f"/api/v1/nodes/{node}", body)
        context.klog(f'"node updated" nodeName="{node}"', where="nfd-master.go:1215")
    except KubeError as error:
        context.klog(f'"failed to update node" nodeName="{node}" err="{error.message}"', level="E", where="nfd-master.go:1201")


class Idle:
    """A program that has nothing to do here: the pause container, the control daemon of MPS, the garbage collector."""

    def __init__(self, *, ends: bool = False) -> None:
        self._ends = ends  # at once

    async def run(self, context: ActorContext) -> int:
        if not self._ends:
            await context.pause()
        return 0


def _key(feature: Mapping[str, Any]) -> tuple[str, str]:
    return feature["metadata"].get("namespace", ""), feature["metadata"]["name"]


def _node(feature: Mapping[str, Any]) -> str:
    return (feature["metadata"].get("labels") or {}).get(NODE_OF_FEATURES, "")
