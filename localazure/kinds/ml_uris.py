"""Where the files of a model, of code or of a job lie: an azureml URI, or an address of blob storage, read as one place.

The result is a `BlobPlace`, or None where it isn't in this server's blob storage. Forms: Microsoft Learn,
machine-learning/how-to-use-registered-models (`azureml://…/datastores/NAME/paths/PATH`, long with subscription, group and
workspace), and `azureml://jobs/JOB/outputs/artifacts/paths/PATH`, which lies in the artifact store.
"""

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from azure_gpu.formats import azure_types
from localazure.arm.store import Resource
from localazure.blobs import addresses
from localazure.blobs.errors import BlobError
from localazure.kinds.ml_datastores import ARTIFACTS, account_named
from localazure.services import Services

_LONG = (
    r"subscriptions/(?P<subscription>[^/]+)/resourcegroups/(?P<group>[^/]+)/(?:providers/[^/]+/)?workspaces/(?P<workspace>[^/]+)/"
)
_DATASTORE = re.compile(rf"azureml://(?:{_LONG})?datastores/(?P<datastore>[^/]+)/paths/(?P<path>.*)", re.IGNORECASE)
_JOB = re.compile(rf"azureml://(?:{_LONG})?jobs/(?P<job>[^/]+)/outputs/(?P<output>[^/]+)(?:/paths)?/?(?P<path>.*)", re.IGNORECASE)
_HOST = ".blob.core.windows.net"
RUNS = "ExperimentRun/dcid."  # where the artifact store keeps what a job writes


class BlobPlace(NamedTuple):
    """A blob, or a folder of blobs, in a storage account of this server."""

    account: Resource
    container: str
    path: str  # no slash at either end


def is_known(uri: str) -> bool:
    """Whether the URI has one of the forms that lead to blobs."""
    return bool(_DATASTORE.fullmatch(uri) or _JOB.fullmatch(uri) or urlsplit(uri).scheme.lower() in ("https", "wasbs"))


def blob_of(uri: str, workspace: Resource, services: Services) -> BlobPlace | None:
    """The place that a URI names as seen from a workspace. None where it is none of this server's, or doesn't exist."""
    found = _DATASTORE.fullmatch(uri)
    if found:
        home = _workspace(found, workspace, services)
        return None if home is None else _in_datastore(home, found["datastore"], found["path"], services)
    found = _JOB.fullmatch(uri)
    if found:
        home = _workspace(found, workspace, services)
        below = f"{RUNS}{found['job']}/{found['path']}"
        return None if home is None else _in_datastore(home, ARTIFACTS, below, services)
    return _at_address(uri, services)


def _workspace(found: re.Match[str], workspace: Resource, services: Services) -> Resource | None:
    if not found["workspace"]:
        return workspace
    kind = azure_types.ML_WORKSPACE.arm_type
    scope = f"/subscriptions/{found['subscription']}/resourceGroups/{found['group']}/providers/{kind}/{found['workspace']}"
    return services.store.get(scope)


def _in_datastore(workspace: Resource, datastore: str, path: str, services: Services) -> BlobPlace | None:
    stored = services.store.get(f"{workspace.key}/datastores/{datastore}")
    if stored is None or stored.properties["datastoreType"] != "AzureBlob":
        return None
    account = account_named(str(stored.properties["accountName"]), services)
    return BlobPlace(account, str(stored.properties["containerName"]), unquote(path).strip("/")) if account else None


def _at_address(uri: str, services: Services) -> BlobPlace | None:
    parts = urlsplit(uri)
    host = (parts.hostname or "").lower()
    if parts.scheme.lower() == "wasbs" and host.endswith(_HOST):
        account = account_named(host.removesuffix(_HOST), services)
        return BlobPlace(account, str(parts.username), unquote(parts.path).strip("/")) if account and parts.username else None
    try:
        if host.endswith(_HOST):
            address = addresses.of_path(f"{addresses.PREFIX}{host.removesuffix(_HOST)}{parts.path}")
        else:
            requested = addresses.of_url(uri, services.settings.url)
            if requested is None:
                return None
            address = requested.address
    except BlobError:
        return None
    account = account_named(address.account, services)
    return BlobPlace(account, address.container, address.blob.strip("/")) if account and address.container else None
