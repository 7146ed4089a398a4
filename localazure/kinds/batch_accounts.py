"""Accounts of Azure Batch: an address, keys, a linked storage account, and quotas that are counted from its pools.

Its network rules and the encryption of its data are kept as they
are given and change nothing. What lies below an account (jobs and tasks) is served at `accountEndpoint`, by `localazure/batch`.
Statuses, headers and families: Azure Service Operator's session Test_Batch_Account_CRUD_v20240701 (2025-11-11); that an
update is done when it is answered: the Azure CLI's test_batch_general_arm_cmd (2021-02-22), where it is a PATCH.
"""

import base64
import secrets

from azure_gpu.formats import azure_types
from localazure.arm.kind import Answer, Call, Change, Kind, action, merged
from localazure.arm.store import Body, Resource
from localazure.batch.work import Work
from localazure.kinds import batch_account_rules, batch_quotas, batch_refusals
from localazure.kinds.batch_refusals import batch_error, invalid_value
from localazure.services import Services

KEY_BYTES = 64
KEY_NAMES = ("Primary", "Secondary")
_REPLACED_WHOLE = ("autoStorage", "encryption", "networkProfile", "allowedAuthenticationModes")


class BatchAccounts(Kind):
    """The list over the subscription is `localazure/lists/batch.py`'s."""

    azure_type = azure_types.BATCH_ACCOUNT

    def __init__(self, work: Work) -> None:
        self._work = work

    refusal = staticmethod(batch_refusals.form)

    def patched(self, under: Body, patch: Body) -> Body:
        """A PATCH replaces what it names as a whole."""
        return replaced(under, patch, _REPLACED_WHOLE)

    def check(self, change: Change) -> None:
        self.judge(change, merged(self.defaults(change), change.body), batch_account_rules.facts(change))

    def begun(self, change: Change) -> Body:
        resource = change.stored
        if change.previous is None:
            resource.private["keys"] = {name.lower(): _new_key() for name in KEY_NAMES}
        before = (change.previous.properties.get("autoStorage") or {}) if change.previous else {}
        if before.get("storageAccountId") != (change.properties.get("autoStorage") or {}).get("storageAccountId"):
            resource.private["storage_keys_read"] = change.services.clock.stamp()
        return {}

    async def remove(self, resource: Resource, services: Services) -> None:  # noqa: ARG002
        await self._work.forget_account(resource.key)

    def live(self, resource: Resource, services: Services) -> Body:
        host, name = services.settings.url.partition("://")[2], resource.id.name.lower()
        answered: Body = {
            "accountEndpoint": f"{host}/batch/{name}",
            "nodeManagementEndpoint": f"{name}.{resource.location}.service.batch.local",
            **batch_quotas.shown(resource, services),
        }
        if resource.properties.get("autoStorage"):
            answered["autoStorage"] = {"lastKeySync": resource.private["storage_keys_read"]}
        return {"properties": answered}

    @action("listKeys")
    async def list_keys(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        _refuse_without_keys(resource)
        return Answer(body=_keys(resource))

    @action("regenerateKeys")
    async def regenerate_key(self, resource: Resource, call: Call) -> Answer:
        _refuse_without_keys(resource)
        name = call.body.get("keyName")
        if name not in KEY_NAMES:
            raise invalid_value("keyName", f"It takes {' or '.join(KEY_NAMES)}.", name)
        resource.private["keys"][name.lower()] = _new_key()
        call.services.store.put(resource)
        return Answer(body=_keys(resource))

    @action("syncAutoStorageKeys")
    async def synchronise_storage_keys(self, resource: Resource, call: Call) -> Answer:
        if not resource.properties.get("autoStorage"):
            raise batch_error("OperationInvalidForCurrentState", "No storage account is linked to this Batch account.")
        resource.private["storage_keys_read"] = call.services.clock.stamp()
        call.services.store.put(resource)
        return Answer(status=204)


def replaced(under: Body, patch: Body, whole: tuple[str, ...]) -> Body:
    """`patch` laid on `under`: `identity`, and of `properties` those in `whole`, take the place of what was there."""
    result = {**under, **{name: value for name, value in patch.items() if name != "properties"}}
    given = patch.get("properties")
    if not isinstance(given, dict):
        return result if given is None else {**result, "properties": given}
    properties = merged(under.get("properties") or {}, {name: value for name, value in given.items() if name not in whole})
    result["properties"] = {**properties, **{name: value for name, value in given.items() if name in whole}}
    return result


def _refuse_without_keys(account: Resource) -> None:
    """`azure-mgmt-batch` 19.0.0, get_keys: fails for an account that doesn't allow SharedKey. Its own code isn't known."""
    if not batch_account_rules.allows_shared_key(account):
        reason = "SharedKey isn't among the allowed authentication modes of this account; it has no keys."
        raise batch_error("OperationInvalidForCurrentState", reason)


def _new_key() -> str:
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode("ascii")


def _keys(account: Resource) -> Body:
    keys = account.private["keys"]
    return {"accountName": account.id.name, "primary": keys["primary"], "secondary": keys["secondary"]}
