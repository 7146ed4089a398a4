"""What is told of a program's data before the engine refuses to let it go, and names that survive a renamed component."""

from typing import Any

import pulumi
import pytest

import azure_gpu
from azure_gpu.formats import azure_types
from tests.components.recording import PROJECT, ROLE_ASSIGNMENT, STACK, Recorded, Registration, declare
from tests.components.test_constructors import GOOD, LOOK_UPS

PARTS: dict[str, Any] = dict.fromkeys(["identity", "registry", "log_workspace", "storage"], "create")
HOLDING = {"blob-service", "logs", "registry", "storage"}
READ = ("pulumi:pulumi:readStackOutputs", "pulumi:pulumi:readStackResourceOutputs")
REGION = "westeurope"


def foundation(name: str, opts: pulumi.ResourceOptions | None = None, **more: Any) -> None:
    # pyrefly: ignore[no-matching-overload]
    azure_gpu.Foundation(name, opts=opts, **{"location": REGION, "team": "vision", **PARTS, **more})


def over(recorded: Recorded) -> dict[str, Any]:
    """What the functions answer over the state that a run has left."""

    def of_azure(inputs: dict[str, Any]) -> dict[str, Any]:
        names = sorted((key for key in inputs if key.lower().endswith("name")), key="resourceGroupName".__eq__)
        return {"name": inputs[names[0]], "location": REGION, "tags": inputs.get("tags", {})} if names else {}

    state = {each.urn: {"type": each.type, "outputs": of_azure(each.inputs)} for each in recorded.registrations}
    return {**LOOK_UPS, READ[0]: {"outputs": {"some": "output"}}, READ[1]: {"outputs": state}}


def names(resource: Registration) -> dict[str, Any]:
    """Its names in Azure; those of roles follow ids, which the mock makes of logical names."""
    own = {key: value for key, value in resource.inputs.items() if key.lower().endswith("name")}
    return {} if resource.type == ROLE_ASSIGNMENT else own


@pytest.fixture(scope="module")
def up() -> Recorded:
    return declare(lambda: foundation("base"), lookups=LOOK_UPS)


def test_what_holds_data_is_protected_in_a_program_unless_it_says_otherwise(up: Recorded) -> None:
    assert {each.name for each in up.registrations if each.protect} == {f"base-{part}" for part in HOLDING}
    freed = declare(lambda: foundation("base", protect_data=False), lookups=LOOK_UPS)
    assert [each.name for each in freed.registrations if each.protect] == []
    accounts = declare(
        lambda: [azure_gpu.BatchAccount(f"b{keeps}", protect_data=keeps, **GOOD["BatchAccount"]) for keeps in (True, False)],
        lookups=LOOK_UPS,
    )
    assert [each.name for each in accounts.registrations if each.protect] == ["bTrue-account"]


def test_what_holds_data_is_locked_in_azure_where_the_foundation_says_so() -> None:
    def program() -> None:
        around = azure_gpu.Foundation("base", location=REGION, team="vision", lock_data=True, **PARTS)
        azure_gpu.MlWorkspace("ml", foundation=around)
        azure_gpu.MlWorkspace("brief", foundation=around, protect_data=False)

    locks = [each for each in declare(program, lookups=LOOK_UPS).registrations if each.type == azure_types.MANAGEMENT_LOCK.token]
    assert {(each.name, each.inputs["level"]) for each in locks} == {
        (f"{name}-lock", "CanNotDelete") for name in ("base-logs", "base-registry", "base-storage", "ml-vault")
    }


@pytest.mark.parametrize(
    ("changed", "key", "given", "back"),
    [
        ({"team": "audio"}, "team", "vision -> audio", "vision"),
        ({"location": "eastus"}, "location", "westeurope -> eastus", REGION),
    ],
)
def test_a_replacement_that_the_engine_refuses_is_told_with_its_reason(
    up: Recorded, changed: dict[str, Any], key: str, given: str, back: str
) -> None:
    told = declare(lambda: foundation("base", **changed), lookups=over(up)).log
    assert len(told) == 3
    for line, what in zip(told, ("registry", "log workspace", "storage account"), strict=True):
        assert line.startswith(f'Foundation("base").{key}: this replaces the {what} ')
        assert f"given: '{given}'" in line
        assert f"fix: set it back to {back}; " in line


def test_nothing_is_told_where_nothing_changes(up: Recorded) -> None:
    assert declare(lambda: foundation("base"), lookups=over(up)).log == []


def test_a_renamed_foundation_is_told_of_its_alias_with_which_every_name_in_azure_stays(up: Recorded) -> None:
    [told] = declare(lambda: foundation("main"), lookups=over(up)).log
    assert told.startswith('Foundation("main"): this name is new, and the stack has base; ')
    assert 'opts=pulumi.ResourceOptions(aliases=[pulumi.Alias(name="base")])' in told
    urn = f"urn:pulumi:{STACK}::{PROJECT}::azuregpu:index:Foundation::base"
    for alias in (pulumi.Alias(name="base"), urn):
        renamed = declare(lambda alias=alias: foundation("main", pulumi.ResourceOptions(aliases=[alias])), lookups=over(up))
        assert renamed.log == []
        assert {each.name.replace("main", "base", 1): names(each) for each in renamed.registrations} == {
            each.name: names(each) for each in up.registrations
        }
    new = declare(lambda: foundation("main", pulumi.ResourceOptions(aliases=[pulumi.Alias(name="base")])), lookups=LOOK_UPS)
    assert new.named("main-registry").inputs["registryName"] != up.named("base-registry").inputs["registryName"]
