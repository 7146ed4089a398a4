"""What the program refuses beside what the embedded Azure refuses, over every case: with its own refusals switched off, the
program declares what it would have sent, and the embedded Azure judges each body as a PUT that isn't done.

An entry of the stack file, such as `pools.train`, is what the two are compared by: the resources that are named after it.
"""

import re
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast
from unittest import mock

import yaml

from azure_gpu.catalog.problems import errors
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.shared import refusal
from azure_gpu.stack.look_ups import BY_PROVIDER
from azure_gpu.stack.plan import plan
from azure_gpu.stack.settings import read
from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError
from localazure.arm.kind import merged
from localazure.arm.store import Resource
from localazure.shapes import default_api_version, to_arm
from tests.components.recorded_bodies import CASES, declared_by_program
from tests.components.recording import KEYS, PROJECT, STACK, declare
from tests.components.settings_of import TODAY, configuration, encrypted
from tests.support.embedded import SUBSCRIPTION
from tests.support.managed_clusters import ArmHarness

# Of objects on Kubernetes and of files, neither of which ARM ever sees.
NOT_COMPARED = ("cluster.error.objects", "container_group.error.files", "edge.error.refused")
BY_TOKEN = {each.token: each for each in azure_types.ALL}
PLACE = "/id-of/"
PRINCIPALS = re.compile(r"(?:principal|kubelet)-of-(.*)")


class Difference(NamedTuple):
    """An entry that one of the two refuses and the other takes."""

    case: str
    entry: str
    azure: str  # the embedded Azure's code; "-" where the program refuses alone


class Judged(NamedTuple):
    """One resource that the program would send."""

    name: str
    arm_type: str
    code: str  # of the embedded Azure's refusal; "" where it takes the body
    message: str


def names(kind: str) -> list[str]:
    return sorted(path.stem for path in CASES.glob(f"*.{kind}.*.yaml") if path.stem not in NOT_COMPARED)


def refused_entries(name: str) -> set[str]:
    """The entries of an error case in which the program finds something that forbids going on."""
    case = yaml.load((CASES / f"{name}.yaml").read_text(), yaml.CSafeLoader)
    found: list[str] = []

    def build() -> None:
        settings = read(configuration(case["says"]), case.get("today", TODAY), encrypted(case["says"]))
        found.extend(problem.path for problem in errors(plan(settings, BY_PROVIDER, PROJECT, STACK).problems))

    declare(build, lookups=case.get("azure_answers", {}))
    return {entry_of(path, case["says"]) for path in found}


def entry_of(path: str, says: Mapping[str, Any]) -> str:
    """`pools.train` of `pools.train.size`; the section where it has no entries."""
    section, _, rest = path.partition(".")
    entries = says.get(section)
    named = [name for name in entries if rest == name or rest.startswith(f"{name}.")] if isinstance(entries, dict) else []
    return f"{section}.{max(named, key=len)}" if named and section in _NAMED else section.partition("[")[0]


_NAMED = ("container_groups", "jobs", "pools", "clusters", "edges", "ml_endpoints", "vms", "gallery_images")


def differences(name: str, folder: Path) -> set[Difference]:
    says = yaml.load((CASES / f"{name}.yaml").read_text(), yaml.CSafeLoader)["says"]
    program = refused_entries(name) if ".error." in name else set[str]()
    azure = {entry_of_resource(each.name, says): each.code for each in judged(name, folder) if each.code}
    alone = {Difference(name, entry, "-") for entry in program - set(azure)}
    return alone | {Difference(name, entry, code) for entry, code in azure.items() if entry not in program}


def entry_of_resource(name: str, says: Mapping[str, Any]) -> str:
    """`pools.train` of `train-pool`, by the entry with the longest name that fits."""
    entries = [(entry, section) for section in _NAMED if isinstance(says.get(section), dict) for entry in says[section]]
    fits = [(entry, section) for entry, section in entries if name == entry or name.startswith(f"{entry}-")]
    if fits:
        entry, section = max(fits, key=lambda each: len(each[0]))
        return f"{section}.{entry}"
    start = name.split("-")[0]
    return {"batch": "batch_account", "ml": "ml_workspace", "foundation": "foundation"}.get(start, "jobs")


def judged(name: str, folder: Path) -> list[Judged]:
    """What the embedded Azure says of each resource of a case. A case whose program can't go on without its refusals has none."""
    case = yaml.load((CASES / f"{name}.yaml").read_text(), yaml.CSafeLoader)
    with mock.patch.object(refusal, "errors", return_value=[]):
        try:
            declared = declared_by_program(configuration(case["says"]), {**KEYS, **case.get("azure_answers", {})})
        except Exception:  # noqa: BLE001 - whatever the missing refusal leads to
            return []
    arm = ArmHarness(folder, machines=SimpleNamespace(find=lambda _: None))
    try:
        return list(_judged(declared["resources"], arm))
    finally:
        arm.close()


def _judged(resources: Mapping[str, Any], arm: ArmHarness) -> Iterator[Judged]:
    sent = [
        (BY_TOKEN.get(urn.split("::")[2].split("$")[-1]), urn.split("::")[3], each["wire"]) for urn, each in resources.items()
    ]
    ours = sorted(
        ((each, name, inputs) for each, name, inputs in sent if each not in (None, azure_types.VIRTUAL_MACHINE_EXTENSION)),
        key=lambda row: _turn(row[0]),
    )
    ids: dict[str, str] = {}
    for azure_type, name, inputs in ours:  # an id is made of names, and of the scope's id, which comes first
        ids[name] = _id_of(azure_type, _placed(inputs, ids))
    for azure_type, name, inputs in ours:
        placed, resource_id = _placed(inputs, ids), ids[name]
        group = resource_id.split("/providers/")[0]
        if azure_type != azure_types.RESOURCE_GROUP and "/resourceGroups/" in group and arm.store.get(group.lower()) is None:
            _write(group, {"location": "eastus"}, arm)  # one that the case says is there
        code, message = _put(azure_type, resource_id, placed, arm)
        # pyrefly: ignore[missing-attribute]
        yield Judged(name, azure_type.arm_type, "" if code in _NOT_JUDGED else code, message)


# What others depend on comes first, and who may do what last.
_FIRST = (
    azure_types.RESOURCE_GROUP,
    azure_types.USER_ASSIGNED_IDENTITY,
    azure_types.LOG_WORKSPACE,
    azure_types.STORAGE_ACCOUNT,
    azure_types.REGISTRY,
    azure_types.KEY_VAULT,
    azure_types.INSIGHTS_COMPONENT,
    azure_types.BATCH_ACCOUNT,
    azure_types.BATCH_APPLICATION,
    azure_types.MANAGED_ENVIRONMENT,
    azure_types.MANAGED_CLUSTER,
    azure_types.ML_WORKSPACE,
)
# A thing that the case says is there isn't there here (images, packages and people too), and what isn't imitated isn't refused
# by Azure.
_NOT_JUDGED = (
    "ApplicationPackageNotFound",
    "InaccessibleImage",
    "InvalidApplicationPackageReferences",
    "InvalidParameterValueInContainerTemplate",
    "NotImplemented",
    "ParentResourceNotFound",
    "PrincipalNotFound",
    "ResourceGroupNotFound",
    "ResourceNotFound",
    "SubscriptionNotFound",
)
_LAST = (azure_types.DIAGNOSTIC_SETTING, azure_types.AUTOSCALE_SETTING, azure_types.ROLE_ASSIGNMENT)


def _turn(azure_type: AzureType) -> int:
    if azure_type in _LAST:
        return 99
    return _FIRST.index(azure_type) if azure_type in _FIRST else len(_FIRST) + len(azure_type.path_parameters)


def _id_of(azure_type: AzureType, inputs: dict[str, Any]) -> str:
    return azure_type.id_of(SUBSCRIPTION, {key: str(inputs.get(key, "")) for key in azure_type.path_parameters})


def _placed(value: Any, ids: Mapping[str, str]) -> Any:
    """With the ids and principals that resources have here, where the mock of the engine says `/id-of/<name>`,
    `principal-of-<name>` and `kubelet-of-<cluster>`; secrets unwrapped."""
    if isinstance(value, dict):
        if "value" in value and any("4dabf18193072939515e22adb298388d" in key for key in value):
            return _placed(value["value"], ids)
        return {
            key if not key.startswith(PLACE) else ids.get(key[len(PLACE) :], key): _placed(each, ids)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_placed(each, ids) for each in value]
    if isinstance(value, str) and value.startswith(PLACE):
        name, slash, rest = value[len(PLACE) :].partition("/")
        return f"{ids.get(name, PLACE + name)}{slash}{rest}"
    if isinstance(value, str) and (of := PRINCIPALS.fullmatch(value)) is not None:
        return _principal_of(ids.get(of[1], value))
    return value


def _principal_of(resource_id: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, resource_id.lower()))


def _put(azure_type: AzureType, resource_id: str, inputs: dict[str, Any], arm: ArmHarness) -> tuple[str, str]:
    """Judges a PUT, and writes down what would be there: what comes after it depends on it."""
    in_process, version = arm.arm.in_process, default_api_version(azure_type)
    body = to_arm(azure_type, inputs)
    try:
        change = in_process.prepared(resource_id, version, body, Caller("principal", "application"))
    except ArmError as error:
        _write(resource_id, body, arm)
        return error.code, error.message
    _write(resource_id, change.body, arm)
    return "", ""


def _write(resource_id: str, body: dict[str, Any], arm: ArmHarness) -> None:
    parsed = parse(resource_id)
    if parsed is not None and arm.store.get(parsed.key) is None and not parsed.is_type(azure_types.AGENT_POOL.arm_type):
        ids = {"principalId": _principal_of(resource_id), "clientId": "c", "tenantId": "t", "customerId": "w"}
        service: dict[str, Any] = {"properties": ids}
        arm.written.shapes[parsed.key] = cast(Any, None)  # a control plane that is there
        service |= {"identity": ids} if body.get("identity") else {}
        if parsed.is_type(azure_types.MANAGED_CLUSTER.arm_type):
            body = merged({"properties": {"kubernetesVersion": "1.35.0"}}, body)  # the service has chosen one
        keys = {"keys": {"key1": {"value": "a2V5"}}, "secrets": {}}
        arm.store.put(Resource(id=parsed, body=body, service=service, private=keys))
