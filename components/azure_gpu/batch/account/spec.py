"""What can be asked of a Batch account: its arguments, their defaults, and every reason to refuse them.

In: `BatchAccountArgs`. Out: a `BatchAccountSpec`, and problems; `look_up` adds what Azure says about an existing one.
"""

from dataclasses import dataclass, replace
from typing import NotRequired, TypedDict

import pulumi
from pulumi_azure_native import batch

from azure_gpu.catalog import names, regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.batch.request import AllocationMode
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.foundation.spec import PartArgs, resolve_part
from azure_gpu.shared import existing
from azure_gpu.shared.context import Context, StackArgs, Surroundings

PATH = "batch_account"  # where a stack file says it


class ApplicationArgs(TypedDict):
    """An application, whose packages are zip files that nodes get. All of it is plain."""

    display_name: NotRequired[str]
    """What people read. Default: its id."""
    default_version: NotRequired[str]
    """The version that a pool or a task gets that names none. Azure refuses one that isn't there yet, so push the package first:
    `python -m operations package push`. Default: none."""


class BatchAccountSettings(PartArgs):
    """A Batch account that is created, or the existing one to use; `applications` alone is enough to create one."""

    location: NotRequired[str]
    """Plain: the Azure region of the account, which all its pools are in. Default: the stack's."""
    applications: NotRequired[dict[str, ApplicationArgs]]
    """Applications by id, for packages that nodes get. Not in an existing account, which is never changed. Default: none."""


class BatchAccountArgs(BatchAccountSettings, Surroundings):
    """A Batch account, and what it stands on. One that is created keeps its data in `storage`, as `identity_id`."""

    stack: StackArgs
    """What all components of the stack share."""


class AccountOfPool(TypedDict):
    """The account that a pool is in."""

    name: pulumi.Input[str]
    """Wired: its name."""
    resource_group_name: pulumi.Input[str]
    """Wired: the resource group that it is in."""
    location: str
    """Plain: its region."""
    allocation_mode: str
    """Plain: in whose subscription its machines are, BatchService or UserSubscription."""
    auto_storage: bool
    """Plain: whether a storage account is linked to it."""
    existing: bool
    """Plain: true where the account isn't the stack's own and others may have pools in it."""


class BatchSurroundings(TypedDict):
    """What a Batch account offers to the pools in it."""

    account: AccountOfPool
    """The account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """Resolved `ApplicationArgs`."""

    name: str
    display_name: str
    default_version: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAccountSpec:
    """What is declared, or used."""

    context: Context
    name: str
    existing: ArmId | None
    location: str
    location_path: str  # where it is written
    applications: tuple[Application, ...]

    @property
    def assumed(self) -> "AccountFacts":
        """What can be assumed of the account without looking it up."""
        return AccountFacts(location=self.location, existing=self.existing is not None, location_path=self.location_path)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFacts:
    """What pools are judged by. Of an existing account it is known by looking; until then it is taken for one of the stack's."""

    location: str
    allocation_mode: AllocationMode = AllocationMode.BATCH_SERVICE
    auto_storage: bool = True
    existing: bool = False
    location_path: str = "location"  # where the region is written

    @staticmethod
    def of(account: AccountOfPool) -> "AccountFacts":
        """The same of an account that is there."""
        return AccountFacts(
            location=account["location"],
            allocation_mode=AllocationMode(account["allocation_mode"]),
            auto_storage=account["auto_storage"],
            existing=account["existing"],
        )


def resolve(args: BatchAccountSettings, context: Context) -> tuple[BatchAccountSpec, list[Problem]]:
    """What is declared, and what is wrong with the arguments. Pure; what an existing account has is for `look_up` to say."""
    given = PartArgs(existing=args["existing"]) if "existing" in args else PartArgs(create=True)
    if "create" in args:
        given["create"] = args["create"]
    part, problems = resolve_part(given, azure_types.BATCH_ACCOUNT, "", context, PATH)
    if "location" in args:
        problems += regions.check(args["location"], f"{PATH}.location")
    applications = args.get("applications", {})
    for name in applications:
        problems += names.check(azure_types.BATCH_APPLICATION.arm_type, name, f"{PATH}.applications.{name}")
    if part.existing and applications:
        problems.append(_not_in_existing(part.existing))
    spec = BatchAccountSpec(
        context=context,
        name=part.name,
        existing=part.existing,
        location=regions.normalise(args.get("location", context.location)),
        location_path=f"{PATH}.location" if "location" in args else "location",
        applications=tuple(_application(name, said) for name, said in sorted(applications.items())),
    )
    return spec, problems


def _application(name: str, said: ApplicationArgs) -> Application:
    return Application(name=name, display_name=said.get("display_name", name), default_version=said.get("default_version"))


def _not_in_existing(account: ArmId) -> Problem:
    create = (
        f"az batch application create --resource-group {account.resource_group} --name {account.name} --application-name <id>"
    )
    return Problem(
        path=f"{PATH}.applications",
        message="an existing account is never changed, so no application is declared in it",
        value=account.text,
        allowed="applications in an account that the stack creates",
        fix=f"leave them out, and have its owner run: {create}",
    )


def surroundings_problems(*, identity: bool, storage: bool) -> list[Problem]:
    """What an account that is created needs of the foundation and doesn't find there."""
    missing = [part for part, there in (("identity", identity), ("storage", storage)) if not there]
    why = {
        "identity": "a Batch account reaches its storage as an identity, and there is none",
        "storage": "a Batch account keeps packages and files in a storage account, and there is none",
    }
    return [
        Problem(
            path=f"foundation.{part}",
            message=why[part],
            allowed="create, or existing: <id>",
            fix=f"add {part}: create to the foundation",
        )
        for part in missing
    ]


def look_up(spec: BatchAccountSpec) -> tuple[AccountFacts, list[Problem]]:
    """What pools are judged by, read from an existing account, with a problem where it isn't there or lies elsewhere."""
    if spec.existing is None:
        return spec.assumed, []
    path = f"{PATH}.existing"
    found, problems = existing.read(
        lambda group, name: batch.get_batch_account(resource_group_name=group, account_name=name),
        azure_types.BATCH_ACCOUNT,
        spec.existing,
        path,
    )
    if found is None:
        return spec.assumed, problems
    if regions.normalise(found.location) != spec.location:
        problems.append(_elsewhere(spec, spec.existing, found.location, path))
    facts = replace(
        spec.assumed,
        allocation_mode=AllocationMode(found.pool_allocation_mode),
        auto_storage=bool(found.auto_storage and found.auto_storage.storage_account_id),
    )
    return facts, problems


def _elsewhere(spec: BatchAccountSpec, account: ArmId, location: str, path: str) -> Problem:
    return Problem(
        path=path,
        message=f"this account is in {location}, and pools are to be in {spec.location}",
        value=account.text,
        allowed="an account in the region of its pools",
        fix=f"add {PATH}.location: {regions.normalise(location)}, or name an account in {spec.location}",
    )
