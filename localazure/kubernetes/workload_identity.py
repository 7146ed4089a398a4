"""AKS's webhook of Microsoft Entra Workload ID: adds the variables and the token of an identity to a pod.

A pod with the label gets a JSON patch; `WebhookError` is what the webhook refuses. Pure. Source: azure-workload-identity,
docs/installation/mutating-admission-webhook and pkg/webhook; that AKS makes no such pod while the webhook is away: Azure/AKS
issue 3286. Left out: the proxy for the metadata service. The webhook of AKS runs as pods of the cluster, this one in the embedded
Azure.
"""

from collections.abc import Mapping
from typing import Any

from azure_gpu.catalog.services.aks.workload_identity import (
    AUDIENCE,
    CLIENT_ID_ANNOTATION,
    EXPIRATION_ANNOTATION,
    SKIPPED_ANNOTATION,
    TENANT_ID_ANNOTATION,
)

Body = dict[str, Any]
_VOLUME = "azure-identity-token"
_FOLDER = "/var/run/secrets/azure/tokens"
_FILE = "azure-identity-token"
_EXPIRATION, _MOST_EXPIRATION = 3600, 86400  # seconds; the first is the default and the least


class WebhookError(Exception):
    """Why the pod isn't made."""


def account_of(pod: Mapping[str, Any]) -> str:
    return str(pod["spec"].get("serviceAccountName") or "default")


def patch(pod: Mapping[str, Any], account: Mapping[str, Any], tenant_id: str, authority_host: str) -> list[Body]:
    """What is added to the pod. What it has already under one of the names stays, but for volume and mount."""
    own, of_account = _annotations(pod), _annotations(account)
    skipped = {name.strip() for name in own.get(SKIPPED_ANNOTATION, "").split(";")}
    variables = {
        "AZURE_CLIENT_ID": of_account.get(CLIENT_ID_ANNOTATION, ""),
        "AZURE_TENANT_ID": of_account.get(TENANT_ID_ANNOTATION, tenant_id),
        "AZURE_FEDERATED_TOKEN_FILE": f"{_FOLDER}/{_FILE}",
        "AZURE_AUTHORITY_HOST": authority_host,
    }
    spec = pod["spec"]
    token = {"path": _FILE, "expirationSeconds": _expiration(own, of_account), "audience": AUDIENCE}
    volume = {"name": _VOLUME, "projected": {"sources": [{"serviceAccountToken": token}]}}
    changes = [{"op": "add", "path": "/spec/volumes", "value": _with(spec.get("volumes"), volume)}]
    for group in ("initContainers", "containers"):
        if spec.get(group):
            value = [one if one["name"] in skipped else _mutated(one, variables) for one in spec[group]]
            changes.append({"op": "add", "path": f"/spec/{group}", "value": value})
    return changes


def _mutated(container: Body, variables: Mapping[str, str]) -> Body:
    env = list(container.get("env") or ())
    known = {one["name"] for one in env}
    env += [{"name": name, "value": value} for name, value in variables.items() if value and name not in known]
    mount = {"name": _VOLUME, "mountPath": _FOLDER, "readOnly": True}
    return {**container, "env": env, "volumeMounts": _with(container.get("volumeMounts"), mount)}


def _with(given: list[Body] | None, one: Body) -> list[Body]:
    """`one` in the place of that of its name, else at the end."""
    others = given or []
    if any(each["name"] == one["name"] for each in others):
        return [one if each["name"] == one["name"] else each for each in others]
    return [*others, one]


def _expiration(own: Mapping[str, str], of_account: Mapping[str, str]) -> int:
    """Of the pod's annotation, else of the account's."""
    text = own.get(EXPIRATION_ANNOTATION) or of_account.get(EXPIRATION_ANNOTATION) or str(_EXPIRATION)
    try:
        seconds = int(text)
    except ValueError as error:
        raise WebhookError(f'strconv.ParseInt: parsing "{text}": invalid syntax') from error
    if not _EXPIRATION <= seconds <= _MOST_EXPIRATION:
        expected = f"Expected value to be between {_EXPIRATION} and {_MOST_EXPIRATION}"
        raise WebhookError(f"token expiration {seconds} not valid. {expected}")
    return seconds


def _annotations(thing: Mapping[str, Any]) -> Mapping[str, str]:
    return thing.get("metadata", {}).get("annotations") or {}
