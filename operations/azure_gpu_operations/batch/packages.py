"""Creates, uploads and activates application packages of a Batch account, which can't be declared as resources.

RefusedError if the version exists with other content, AzureError if Azure refuses.

ARM creates the version and returns the upload URL. The URL is signed if the account accesses its storage with a key; with an
identity, as accounts of this project do, the uploader needs a role. Activation makes the package usable.
Source: Microsoft.Batch 2024-07-01, "ApplicationPackage - Create", and its description of autoStorage.authenticationMode.
"""

import hashlib
import time
from collections.abc import Callable
from typing import Any

from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.core.pipeline.policies import RetryPolicy
from azure.mgmt.batch import BatchManagementClient
from azure.storage.blob import BlobClient

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.roles import DELAY_MINUTES
from azure_gpu.formats import arm_ids
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.azure import AzureError, SignIn, management_client
from azure_gpu_operations.batch.blobs import why

ACTIVE = "active"
HASH = "content"  # metadata of the blob: hash of its content, so that the same isn't uploaded again
# An account that accesses its storage by identity returns no URL until the identity's role works, which takes minutes
# after the stack's first `up`.
NO_ROLE_YET = "AutoStorageAuthenticationFailed"
LIMIT_SECONDS, PAUSE_SECONDS = DELAY_MINUTES * 60.0, 5.0

Say = Callable[[str], None]


def _fix() -> str:
    return f"`{COMMAND} access --grant --stack <stack>`"


class RefusedError(Exception):
    """The package can't be pushed as requested."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Packages:
    """Those of one account."""

    def __init__(
        self,
        login: SignIn,
        account_id: str,
        retries: RetryPolicy | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        parsed = arm_ids.parse(account_id)
        if parsed is None:
            raise ValueError(f"{account_id!r} is not a resource id")
        self._account = (parsed.resource_group, parsed.name)
        self._login = login
        self._sleep, self._clock = sleep, clock
        self._client: Any = management_client(BatchManagementClient, login, parsed.subscription, retries or RetryPolicy())

    def state(self, application: str, version: str) -> str:
        """`active`, `pending`, or "" if the package doesn't exist."""
        try:
            found = self._client.application_package.get(*self._account, application, version)
        except ResourceNotFoundError:
            return ""
        state = found.properties.state if found.properties else ""
        return str(getattr(state, "value", state) or "").lower()

    def push(self, application: str, version: str, content: bytes, say: Say, *, make_default: bool = False) -> None:
        """Pushing the same content again changes nothing."""
        digest = hashlib.sha256(content).hexdigest()
        what = f"{application} {version}"
        try:
            self._application(application, say)
            if self.state(application, version) == ACTIVE:
                self._check(application, version, digest)
                say(f"the package {what} already exists with this content and is active")
            else:
                self._upload(self._made(application, version, say), content, digest)
                self._client.application_package.activate(*self._account, application, version, {"format": "zip"})
                say(f"the package {what} is active ({_size(len(content))})")
            if make_default:
                self._client.application.update(*self._account, application, {"properties": {"defaultVersion": version}})
                say(f"{version} is the default version of {application}")
        except HttpResponseError as error:
            raise AzureError(_why(error, f"push the package {what}"), error.status_code or 0) from error

    def _application(self, application: str, say: Say) -> None:
        """Creates the application unless it exists; the stack may have declared it."""
        try:
            self._client.application.get(*self._account, application)
        except ResourceNotFoundError:
            self._client.application.create(*self._account, application, {"properties": {"allowUpdates": True}})
            say(f"the application {application} didn't exist and was created; don't add it to the stack's file now")

    def _made(self, application: str, version: str, say: Say) -> Any:
        """Creates the package without content, once the account's identity may write blobs."""
        began, reported = self._clock(), False
        while True:
            try:
                return self._client.application_package.create(*self._account, application, version, {})
            except HttpResponseError as error:
                if _code(error) != NO_ROLE_YET or self._clock() - began >= LIMIT_SECONDS:
                    raise
            if not reported:
                say(
                    f"the role of the account's identity on its storage doesn't work yet; retrying for up to "
                    f"{DELAY_MINUTES} minutes"
                )
                reported = True
            self._sleep(PAUSE_SECONDS)

    def _upload(self, made: Any, content: bytes, digest: str) -> None:
        with self._blob(made) as blob:
            try:
                blob.upload_blob(content, overwrite=True, metadata={HASH: digest})
            except HttpResponseError as error:
                raise AzureError(why(error, "upload to the account's storage", _fix), error.status_code or 0) from error

    def _check(self, application: str, version: str, digest: str) -> None:
        """Rejects other content under the same version: nodes keep a package that they have."""
        found = self._client.application_package.get(*self._account, application, version)
        with self._blob(found) as blob:
            try:
                held = (blob.get_blob_properties().metadata or {}).get(HASH, "")
            except HttpResponseError:
                held = ""
        if held != digest:
            raise RefusedError(
                Problem(
                    path="--version",
                    message=f"{application} already has this version, active and with different content"
                    if held
                    else f"{application} already has this version, and its content can't be compared",
                    value=version,
                    fix="choose another version; nodes that have this one keep it",
                )
            )

    def _blob(self, package: Any) -> BlobClient:
        """Authorized by the URL's signature if it has one, else by the login."""
        address = str(package.properties.storage_url or "")
        signed = "sig=" in address
        return BlobClient.from_blob_url(
            address if signed else address.partition("?")[0], credential=None if signed else self._login.credential
        )


def _size(count: int) -> str:
    return f"{count / 1024 / 1024:.1f} MiB" if count >= 1024 * 1024 else f"{max(1, count // 1024)} KiB"


def _why(error: HttpResponseError, what: str) -> str:
    if error.status_code == 403 and _code(error) != NO_ROLE_YET:
        return f"this login may not {what}; it needs the role Contributor on the Batch account"
    if _code(error):
        return f"Azure refused to {what}: {_code(error)}: {getattr(error.error, 'message', '')}"
    return f"Azure refused to {what}: {str(error.message or error).strip().splitlines()[0][:500]}"


def _code(error: HttpResponseError) -> str:
    return str(getattr(error.error, "code", None) or "")
