"""Asks a cluster whether it would admit pods, by creating them as a dry run.

A DaemonSet of a node that isn't there yet creates no pod, so that a policy that denies its pods shows only once a GPU is billed.
Gatekeeper, which Azure Policy runs on AKS, is asked in a dry run as in any other. Source: Azure/azure-policy f4a50bac,
built-in-policies/policyDefinitions/Kubernetes, whose constraints are about pods and leave out `excludedNamespaces`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from azure_gpu.kubernetes.api_server import Connection, NotReachedError

_DRY_RUN = "dryRun=All&fieldManager=azure-gpu"
# How webhooks, policies of the API server and pod security deny. Other errors, such as of a quota, aren't about the pod.
_DENIED = re.compile(r"denied (?:the )?request|violates PodSecurity")


def pods(manifests: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The pods that DaemonSets and Deployments create, each with the name of what creates it."""
    for manifest in manifests:
        if manifest["kind"] in ("DaemonSet", "Deployment"):
            template, of = manifest["spec"]["template"], manifest["metadata"]
            named = {**template["metadata"], "name": of["name"], "namespace": of["namespace"]}
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": template["spec"]}


def denials(kubeconfig: str, asked: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why the cluster denies pods, each with its name. NotReachedError without an answer."""
    connection = Connection(kubeconfig)
    found: list[str] = []
    for pod in asked:
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods?{_DRY_RUN}"
        response = connection.request("POST", path, pod)
        message = str(response.body.get("message", "")) if isinstance(response.body, Mapping) else ""
        if response.status >= 400 and _DENIED.search(message):
            found.append(f"{pod['metadata']['name']}: {message}")
    return found


def check(kubeconfig: str, asked: Sequence[Mapping[str, Any]]) -> str:
    """What to say of pods that are denied; empty where all are admitted, or where the cluster can't be asked."""
    try:
        found = denials(kubeconfig, asked)
    except NotReachedError:
        return ""  # the objects themselves say so, where they are created
    if not found:
        return ""
    namespaces = ", ".join(sorted({str(pod["metadata"]["namespace"]) for pod in asked}))
    fix = f"add {namespaces} to `excludedNamespaces` of the assignment that denies them, exempt it, or leave the parts out"
    return "\n".join(["the cluster would deny pods without which jobs get no GPU:", *found, fix])
