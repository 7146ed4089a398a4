"""`BatchAccountSpec`: the resolved arguments of a Batch account, with their validation. An existing one is read in `existing`."""

from collections.abc import Mapping
from dataclasses import dataclass

from azure_gpu.batch.account.args import AccountFacts, ApplicationArgs, BatchAccountSettings
from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.shared.context import Context, check_region
from azure_gpu.shared.part import Named, PartArgs, not_changed, resolve_part

PATH = "batch_account"  # in a stack file


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAccountSpec:
    """The resolved arguments."""

    context: Context
    name: str
    existing: ArmId | None
    location: str
    location_path: str  # of the setting
    applications: Mapping[str, ApplicationArgs]

    @property
    def assumed(self) -> AccountFacts:
        """The facts that are assumed without a look-up."""
        return AccountFacts(location=self.location, existing=self.existing is not None)


def resolve(args: BatchAccountSettings, context: Context) -> tuple[BatchAccountSpec, list[Problem]]:
    """Resolves and validates the arguments. Pure; `look_up` reads an existing account."""
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
        where = f"--resource-group {part.existing.resource_group} --name {part.existing.name}"
        problems.append(refused("account.applications_of_existing", f"{path}.applications", part.existing.text, where=where))
    spec = BatchAccountSpec(
        context=context,
        name=part.name,
        existing=part.existing,
        location=context.region(args.get("location")),
        location_path=f"{path}.location" if "location" in args else context.own_path("location"),
        applications=dict(sorted(applications.items())),
    )
    return spec, problems


def missing_dependencies(spec: BatchAccountSpec, *, identity: bool, storage: bool) -> list[Problem]:
    """Returns problems for parts of the foundation that a created account requires and that are missing."""
    missing = [part for part, is_set in (("identity", identity), ("storage", storage)) if not is_set]
    why = {
        "identity": "a Batch account requires an identity to access its storage",
        "storage": "a Batch account requires a storage account for packages and files",
    }
    return [spec.context.missing_part(part, why[part]) for part in missing]
