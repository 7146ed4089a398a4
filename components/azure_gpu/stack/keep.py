"""Keeps parts in Azure when their stack is destroyed: `keep: true` of the job environment or of the Batch account.

Quota that support grants belongs to one environment or one account and is lost with it. A kept part keeps what it depends on: its
resource group; for a Batch account also its identity, storage account and applications. Everything else is deleted and created
again with the next `up`: roles, logs, pools, jobs.

The engine's option `retain_on_delete` leaves a part in Azure. The next stack of the same name adopts it by an import, because
azure-native doesn't create a resource that already exists.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import pulumi

from azure_gpu.batch.account.spec import BatchAccountSpec
from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.container_apps.environment.spec import JobEnvironmentSpec
from azure_gpu.formats import azure_types, tags
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.shared import existing, own_state, sdk_types
from azure_gpu.shared.look_up import OF_STACK

_HOLDING_DATA = {azure_types.STORAGE_ACCOUNT.token, azure_types.BATCH_ACCOUNT.token}


@dataclass(frozen=True, slots=True)
class KeptPart:
    """A declared part that is kept."""

    section: str  # of the stack file, which sets its location
    component: str  # the component's name in the program
    azure_type: AzureType
    names: Mapping[str, str]  # the parameters of its id, by wire name
    location: str  # empty where it has none
    output: tuple[str, ...]  # path of the stack's output that is set if the stack has the part
    resource: str = ""  # the end of the resource's name in the program, where the component has several of the type
    adopted_id: str = ""  # ARM id of the kept resource to adopt; empty if none exists, or if the stack already has it

    @property
    def name(self) -> str:
        """Its name in Azure."""
        return self.names[self.azure_type.name_parameter]


def problems(sections: Iterable[str]) -> list[Problem]:
    """Rejects existing parts that are to be kept, by their sections."""
    return [refused("keep.existing", f"{section}.keep", True) for section in sections]


def parts(
    kept: frozenset[str],
    foundation: FoundationSpec,
    environments: Mapping[str, tuple[JobEnvironmentSpec, object]],
    accounts: Mapping[str, tuple[BatchAccountSpec, object]],
) -> list[KeptPart]:
    """Returns the parts to keep, outermost first. Existing parts aren't managed by the stack, and stay anyway. `kept`: sections;
    the others: what is planned of them, by logical names."""
    group, within = foundation.resource_group, {"resourceGroupName": foundation.resource_group.name}
    named = [(region, spec, {**within, "environmentName": spec.name}) for region, (spec, _) in environments.items()]
    found = [
        KeptPart("job_environment", region, azure_types.MANAGED_ENVIRONMENT, names, spec.location, ("job_environments", region))
        for region, spec, names in named
        if "job_environment" in kept and spec.existing is None
    ]
    for spec, _ in accounts.values():
        if "batch_account" in kept and spec.existing is None:
            found += _of_account(spec, foundation, within)
    if group.existing is not None or not found:
        return found
    return [_of_foundation(foundation, azure_types.RESOURCE_GROUP, within, "resource_group"), *found]


def _of_foundation(foundation: FoundationSpec, azure_type: AzureType, names: Mapping[str, str], output: str) -> KeptPart:
    return KeptPart("location", "foundation", azure_type, names, foundation.context.location, (output,))


def _of_account(account: BatchAccountSpec, foundation: FoundationSpec, within: Mapping[str, str]) -> Iterator[KeptPart]:
    identity, stored, names = foundation.identity, foundation.storage, {**within, "accountName": account.name}
    if identity is not None and identity.existing is None:
        of_identity = {**within, "resourceName": identity.name}
        part = _of_foundation(foundation, azure_types.USER_ASSIGNED_IDENTITY, of_identity, "identity")
        yield replace(part, resource="identity")
    if stored is not None and stored.existing is None:
        yield _of_foundation(foundation, azure_types.STORAGE_ACCOUNT, {**within, "accountName": stored.name}, "storage")
    yield KeptPart("batch_account", "batch", azure_types.BATCH_ACCOUNT, names, account.location, ("batch_account",))
    for application in account.applications:
        of_application = {**names, "applicationName": application}
        yield KeptPart("batch_account", "batch", azure_types.BATCH_APPLICATION, of_application, "", ("batch_account",))


def look_up(kept_parts: Sequence[KeptPart], project: str, stack: str) -> tuple[list[KeptPart], list[Problem]]:
    """Looks up the kept parts in Azure. Returns the parts with the ids of those to adopt, and problems of those that can't be
    adopted. A part that the stack's outputs show is already in the stack, and isn't looked up; where they can't be read, the
    engine imports only what isn't in its state."""
    outputs = own_state.outputs() or {} if kept_parts else {}
    problems: list[Problem] = []
    found: list[KeptPart] = []
    missing: set[AzureType] = set()
    for each in kept_parts:
        is_within = azure_types.RESOURCE_GROUP in missing or (
            each.azure_type == azure_types.BATCH_APPLICATION and azure_types.BATCH_ACCOUNT in missing
        )
        if is_within or _has(outputs, each.output):
            found.append(each)
            continue
        current, more = existing.find(partial(_read, each), each.azure_type, each.name, each.section, OF_STACK)
        problems += more
        if current is None:
            missing.add(each.azure_type)
        elif each.azure_type != azure_types.BATCH_APPLICATION and not _is_of(current.tags, project, stack):
            words = {"called": each.name, "project": tags.PROJECT, "stack": tags.STACK}
            problems.append(refused("keep.of_others", each.section, current.id, **words))
        elif each.location and regions.normalise(current.location) != each.location:
            words = {"called": each.name, "region": regions.normalise(current.location), "group": each.names["resourceGroupName"]}
            problems.append(refused("keep.elsewhere", each.section, each.location, **words))
        found.append(replace(each, adopted_id=current.id if current is not None else ""))
    return found, problems


def _read(part: KeptPart, opts: pulumi.InvokeOptions) -> Any:
    return sdk_types.look_up(part.azure_type.token)(**existing.arguments(part.names), opts=opts)


def _has(outputs: Mapping[str, object], output: tuple[str, ...]) -> bool:
    """Whether the stack's outputs show that it has the part. Outputs without `job_environments` can't show that for every part:
    then any output counts."""
    first, *steps = output
    if "job_environments" not in outputs:
        return bool(outputs)
    value = outputs.get(first)
    for step in steps:
        value = cast(Mapping[str, object], value).get(step) if isinstance(value, Mapping) else None
    return bool(value)


def _is_of(given: Mapping[str, str] | None, project: str, stack: str) -> bool:
    """Whether the tags are the stack's. Only such resources are adopted, since the stack may later delete what it adopted."""
    return given is not None and (given.get(tags.PROJECT), given.get(tags.STACK)) == (project, stack)


def options(kept_parts: Sequence[KeptPart], component: str, opts: pulumi.ResourceOptions | None) -> pulumi.ResourceOptions | None:
    """Extends `opts` of a component so that its parts are kept and adopted. Kept parts survive `destroy`, so they aren't
    protected unless `opts` protect them."""
    own = [each for each in kept_parts if each.component == component]
    if not own:
        return opts
    by_type = {each.azure_type.token: each for each in own if each.azure_type != azure_types.BATCH_APPLICATION}
    applications = {each.name: each for each in own if each.azure_type == azure_types.BATCH_APPLICATION}
    holds_data = _HOLDING_DATA & by_type.keys()
    if azure_types.STORAGE_ACCOUNT.token in holds_data:
        holds_data |= {azure_types.BLOB_SERVICE.token}
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
            import_=part.adopted_id or None if part is not None else None,
            protect=False if args.type_ in holds_data and not protects else None,
        )
        return pulumi.ResourceTransformationResult(args.props, pulumi.ResourceOptions.merge(args.opts, more))

    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(transformations=[kept]))
