"""Parts that stay in Azure when their stack ends: `keep: true` of the job environment or of the Batch account.

A quota that support grants belongs to one environment or one account and goes with it. With a part stays what it can't be used
without: its resource group; of a Batch account also the identity and the storage account, which it has by their ids, and its
applications. The rest goes, and comes again with the next `up`: roles, logs, pools, jobs.

In: which parts are kept, with their names, and what the stack had after its last update. Out: the engine's options, by which a
part is left in Azure and by which the next stack of the same name takes it in. azure-native creates nothing that is there.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NotRequired, TypedDict, cast

import pulumi
from pulumi_azure_native import app, batch, managedidentity, resources, storage

from azure_gpu.batch.account.spec import BatchAccountSpec
from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.container_apps.environment.spec import JobEnvironmentSpec
from azure_gpu.formats import azure_types, tags
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.shared import existing
from azure_gpu.shared.look_up import OF_STACK
from azure_gpu.stack import other_stacks

SECTIONS = ("job_environment", "batch_account")
_STORAGE = azure_types.STORAGE_ACCOUNT.token


class Kept(TypedDict):
    """A part of a stack file that can outlive its stack."""

    keep: NotRequired[bool]
    """True leaves it in Azure, with its resource group and what it can't be used without, when the stack is destroyed; the next
    `up` of the stack takes it in again. Its quota belongs to it alone, and would go with it. Default: false."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPart:
    """A part that is declared, and stays."""

    section: str  # of the stack file, which has its location
    component: str  # the component's name in the program
    azure_type: AzureType
    names: Mapping[str, str]  # what its id is made of, by wire name
    location: str  # empty where it has none of its own
    output: tuple[str, ...]  # which of the stack's outputs tells that the stack has it
    resource: str = ""  # the end of the resource's name in the program, where the component has several of the type
    taken_in: str = ""  # ARM id of what an earlier end of the stack has left; empty: there is nothing, or the stack has it

    @property
    def name(self) -> str:
        """In Azure."""
        return self.names[self.azure_type.name_parameter]


# How each is read, by the names that its id is made of.
_READ: Mapping[AzureType, Callable[[Mapping[str, str], pulumi.InvokeOptions], Any]] = {
    azure_types.RESOURCE_GROUP: lambda names, opts: resources.get_resource_group(
        resource_group_name=names["resourceGroupName"], opts=opts
    ),
    azure_types.USER_ASSIGNED_IDENTITY: lambda names, opts: managedidentity.get_user_assigned_identity(
        resource_group_name=names["resourceGroupName"], resource_name=names["resourceName"], opts=opts
    ),
    azure_types.STORAGE_ACCOUNT: lambda names, opts: storage.get_storage_account(
        resource_group_name=names["resourceGroupName"], account_name=names["accountName"], opts=opts
    ),
    azure_types.MANAGED_ENVIRONMENT: lambda names, opts: app.get_managed_environment(
        resource_group_name=names["resourceGroupName"], environment_name=names["environmentName"], opts=opts
    ),
    azure_types.BATCH_ACCOUNT: lambda names, opts: batch.get_batch_account(
        resource_group_name=names["resourceGroupName"], account_name=names["accountName"], opts=opts
    ),
    azure_types.BATCH_APPLICATION: lambda names, opts: batch.get_application(
        resource_group_name=names["resourceGroupName"],
        account_name=names["accountName"],
        application_name=names["applicationName"],
        opts=opts,
    ),
}


def taken_out(sections: Mapping[str, Any]) -> tuple[dict[str, Any], frozenset[str], list[Problem]]:
    """The sections without the key, which of them are kept, and what is wrong with that."""
    left = dict(sections)
    kept: set[str] = set()
    problems: list[Problem] = []
    for section in SECTIONS:
        said = left.get(section)
        if not isinstance(said, Mapping) or "keep" not in said:
            continue
        said = cast(Mapping[str, Any], said)
        left[section] = {key: value for key, value in said.items() if key != "keep"}
        if said["keep"]:
            kept.add(section)
        if said["keep"] and "existing" in said:
            problems.append(
                Problem(
                    path=f"{section}.keep",
                    message="an existing part is never deleted",
                    value=True,
                    allowed="true of what the stack creates",
                    fix="remove it",
                )
            )
    return left, frozenset(kept), problems


def parts(
    kept: frozenset[str],
    foundation: FoundationSpec,
    environments: Mapping[str, JobEnvironmentSpec],
    account: BatchAccountSpec | None,
) -> list[KeptPart]:
    """What stays of a stack, outermost first. Parts that exist aren't the stack's, and stay anyway."""
    group, home = foundation.resource_group, foundation.context.location
    within = {"resourceGroupName": group.name}
    of_environments = [
        KeptPart(
            section="job_environment",
            component=region,
            azure_type=azure_types.MANAGED_ENVIRONMENT,
            names={**within, "environmentName": spec.name},
            location=spec.location,
            output=("job_environments", region),
        )
        for region, spec in environments.items()
        if "job_environment" in kept and spec.existing is None
    ]
    of_batch: list[KeptPart] = []
    if account is not None and account.existing is None and "batch_account" in kept:
        of_batch = list(_of_account(account, foundation, within))
    if group.existing is None and (of_environments or of_batch):
        own = _of_foundation(azure_types.RESOURCE_GROUP, within, home, "resource_group")
        return [own, *of_environments, *of_batch]
    return [*of_environments, *of_batch]


def _of_foundation(azure_type: AzureType, names: Mapping[str, str], location: str, output: str) -> KeptPart:
    return KeptPart(
        section="location",
        component="foundation",
        azure_type=azure_type,
        names=names,
        location=location,
        output=(output,),
    )


def _of_account(account: BatchAccountSpec, foundation: FoundationSpec, within: Mapping[str, str]) -> Iterator[KeptPart]:
    home, identity, stored = foundation.context.location, foundation.identity, foundation.storage
    if identity is not None and identity.existing is None:
        names = {**within, "resourceName": identity.name}
        yield replace(_of_foundation(azure_types.USER_ASSIGNED_IDENTITY, names, home, "identity"), resource="identity")
    if stored is not None and stored.existing is None:
        yield _of_foundation(azure_types.STORAGE_ACCOUNT, {**within, "accountName": stored.name}, home, "storage")
    own = KeptPart(
        section="batch_account",
        component="batch",
        azure_type=azure_types.BATCH_ACCOUNT,
        names={**within, "accountName": account.name},
        location=account.location,
        output=("batch_account",),
    )
    yield own
    for application in account.applications:
        names = {**own.names, "applicationName": application.name}
        yield replace(own, azure_type=azure_types.BATCH_APPLICATION, names=names, location="")


def look_up(
    stays: Sequence[KeptPart], project: str, stack: str, outputs_of: other_stacks.Reader = other_stacks.by_engine
) -> tuple[list[KeptPart], list[Problem]]:
    """The same parts, with the ids of those to take in, and a problem for one that is kept elsewhere. What the stack has by now
    is in its own outputs."""
    if not stays:
        return [], []
    outputs: Mapping[str, object] = {}
    try:
        outputs = outputs_of(f"{pulumi.get_organization()}/{project}/{stack}").values
    except other_stacks.OutputsError as error:
        # Harmless where it had them: the engine takes in only what isn't in its state.
        pulumi.log.debug(f"the stack's own outputs can't be read: {error}")
    problems: list[Problem] = []
    found: list[KeptPart] = []
    missing: set[AzureType] = set()
    for each in stays:
        is_within = azure_types.RESOURCE_GROUP in missing or (
            each.azure_type == azure_types.BATCH_APPLICATION and azure_types.BATCH_ACCOUNT in missing
        )
        if is_within or _has(outputs, each.output):
            found.append(each)
            continue
        there, more = existing.find(partial(_read, each), each.azure_type, each.name, each.section, OF_STACK)
        problems += more
        if there is None:
            missing.add(each.azure_type)
        elif each.azure_type != azure_types.BATCH_APPLICATION and not _is_of(there.tags, project, stack):
            problems.append(_of_others(each, there.id))
        elif each.location and regions.normalise(there.location) != each.location:
            problems.append(_elsewhere(each, there.location))
        found.append(replace(each, taken_in=there.id if there is not None else ""))
    return found, problems


def _read(part: KeptPart, opts: pulumi.InvokeOptions) -> Any:
    return _READ[part.azure_type](part.names, opts)


def _has(outputs: Mapping[str, object], output: tuple[str, ...]) -> bool:
    """Whether the stack has the part, by its outputs. A program that knew no such output had what it declared."""
    first, *steps = output
    if "job_environments" not in outputs:
        return bool(outputs)
    value = outputs.get(first)
    for step in steps:
        value = cast(Mapping[str, object], value).get(step) if isinstance(value, Mapping) else None
    return bool(value)


def _is_of(given: Mapping[str, str] | None, project: str, stack: str) -> bool:
    """Whether tags are those of the stack; nothing else is taken in, because whatever the stack has it may delete one day."""
    return given is not None and (given.get(tags.PROJECT), given.get(tags.STACK)) == (project, stack)


def _of_others(part: KeptPart, id_: str) -> Problem:
    return Problem(
        path=part.section,
        message=f"{part.name} is there already, and its tags aren't this stack's, so it isn't taken in",
        value=id_,
        allowed=f"nothing of this name, or what has the tags {tags.PROJECT} and {tags.STACK} of this stack",
        fix="give the stack another name or team, or name what is there as `existing`",
    )


def _elsewhere(part: KeptPart, location: str) -> Problem:
    return Problem(
        path=part.section,
        message=f"{part.name} was kept when the stack was destroyed, and is in {regions.normalise(location)}",
        value=part.location,
        allowed=regions.normalise(location),
        fix=f"set this location, or delete what was kept: az group delete --name {part.names['resourceGroupName']}",
    )


def options(stays: Sequence[KeptPart], component: str, opts: pulumi.ResourceOptions | None) -> pulumi.ResourceOptions | None:
    """`opts` of a component of the program, with what keeps its parts and takes them in. What stays loses nothing by `destroy`,
    so it isn't protected, unless `opts` protect it."""
    own = [each for each in stays if each.component == component]
    if not own:
        return opts
    by_type = {each.azure_type.token: each for each in own if each.azure_type != azure_types.BATCH_APPLICATION}
    applications = {each.name: each for each in own if each.azure_type == azure_types.BATCH_APPLICATION}
    holds_data = {azure_types.STORAGE_ACCOUNT.token, azure_types.BLOB_SERVICE.token} if _STORAGE in by_type else set[str]()
    protects = opts is not None and bool(opts.protect)

    def kept(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        part = by_type.get(args.type_)
        if part is not None and part.resource and args.name != f"{component}-{part.resource}":
            return None
        if args.type_ == azure_types.BATCH_APPLICATION.token:
            part = applications[args.name.removeprefix(f"{component}-application-")]
        if part is None and args.type_ not in holds_data:
            return None
        more = pulumi.ResourceOptions(
            retain_on_delete=True,
            import_=part.taken_in or None if part is not None else None,
            protect=False if args.type_ in holds_data and not protects else None,
        )
        return pulumi.ResourceTransformationResult(args.props, pulumi.ResourceOptions.merge(args.opts, more))

    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(transformations=[kept]))
