"""Addresses to which a client uploads the files of a version of code or of a model before it creates that version.

A version has one container in the workspace's storage account, so that a request that is sent again gets the same one. Shape of
the answer: REST reference, machine-learning, Code Versions, Create Or Get Start Pending Upload, 2025-12-01; the name of the
container and how long the address lasts are assumed. azure-ai-ml 1.35.2 uploads code so, and models to the default datastore.
"""

import uuid
from datetime import timedelta

from localazure.arm.kind import Answer, Call
from localazure.arm.store import Resource
from localazure.blobs.service import Blobs
from localazure.kinds.ml_datastores import BLOB_STORE, account_named
from localazure.kinds.ml_kind import bad_request, user_error, workspace_of

TYPES = ("TemporaryBlobReference",)
LASTS = timedelta(hours=1)
_LETTERS = "racwl"  # "Container level read, write, list SAS": azure-ai-ml 1.35.2, PendingUploadResponseDto


async def start(version: Resource, blobs: Blobs, call: Call) -> Answer:
    """A container and an address that lets its bearer read, write and list it. ArmError where the workspace has no storage."""
    requested = str(call.body.get("pendingUploadType") or "None")
    if requested not in TYPES:
        raise bad_request(f"'{requested}' is not served; it takes {', '.join(TYPES)}.", target="pendingUploadType")
    workspace = workspace_of(version.id.text, call.services)
    store = call.services.store.get(f"{workspace.key}/datastores/{BLOB_STORE}")
    account = account_named(str(store.properties["accountName"]), call.services) if store is not None else None
    if account is None:
        raise user_error(f"The workspace '{workspace.id.name}' has no storage account to upload to.")
    upload = uuid.uuid5(uuid.NAMESPACE_URL, version.key)
    name, container = account.id.name.lower(), str(upload)
    await blobs.ensure_container(name, container)
    signed = blobs.sas_url(name, container, "", _LETTERS, call.services.clock.now() + LASTS)
    return Answer(
        body={
            "pendingUploadId": str(call.body.get("pendingUploadId") or upload),
            "pendingUploadType": requested,
            "blobReferenceForConsumption": {
                "blobUri": blobs.container_url(name, container),
                "storageAccountArmId": account.id.text,
                "credential": {"credentialType": "SAS", "sasUri": signed},
            },
        }
    )
