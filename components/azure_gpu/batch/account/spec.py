"""What is decided of a Batch account, and how: `BatchAccountSpec`, `resolve` and its problems.

An existing one is read in `existing`.
"""

from dataclasses import dataclass

from azure_gpu.batch.account.args import AccountOfPool, ApplicationArgs, BatchAccountSettings
from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.batch.request import AllocationMode
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.shared.context import Context, check_region
from azure_gpu.shared.part import Named, PartArgs, not_changed, resolve_part

PATH = "batch_account"  # where a stack file says it


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
    path = context.path(PATH)
    given = PartArgs(existing=args["existing"]) if "existing" in args else PartArgs(create=True)
    if "create" in args:
        given["create"] = args["create"]
    named = Named(args["account_name"], f"{path}.account_name") if "account_name" in args else None
    part, problems = resolve_part(given, azure_types.BATCH_ACCOUNT, "", context, path, named)
    problems += not_changed(args, path)
    problems += check_region(args.get("location"), f"{path}.location")
    applications = args.get("applications", {})
    for name in applications:
        problems += names.check(azure_types.BATCH_APPLICATION.arm_type, name, f"{path}.applications.{name}")
    if part.existing and applications:
        problems.append(_not_in_existing(part.existing, path))
    spec = BatchAccountSpec(
        context=context,
        name=part.name,
        existing=part.existing,
        location=context.region(args.get("location")),
        location_path=f"{path}.location" if "location" in args else context.own_path("location"),
        applications=tuple(_application(name, said) for name, said in sorted(applications.items())),
    )
    return spec, problems


def _application(name: str, said: ApplicationArgs) -> Application:
    return Application(name=name, display_name=said.get("display_name", name), default_version=said.get("default_version"))


def _not_in_existing(account: ArmId, path: str) -> Problem:
    create = (
        f"az batch application create --resource-group {account.resource_group} --name {account.name} --application-name <id>"
    )
    return Problem(
        path=f"{path}.applications",
        message="an existing account is never changed, so no application is declared in it",
        value=account.text,
        allowed="applications in an account that the stack creates",
        fix=f"leave them out, and have its owner run: {create}",
    )


def surroundings_problems(spec: BatchAccountSpec, *, identity: bool, storage: bool) -> list[Problem]:
    """What an account that is created needs of the foundation and doesn't find there."""
    missing = [part for part, there in (("identity", identity), ("storage", storage)) if not there]
    why = {
        "identity": "a Batch account reaches its storage as an identity, and there is none",
        "storage": "a Batch account keeps packages and files in a storage account, and there is none",
    }
    return [spec.context.missing_part(part, why[part]) for part in missing]
