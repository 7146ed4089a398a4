"""The identity that serves: who speaks as it, what it may, and what stays with the identity that trains."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from azure_gpu import Foundation, GpuCluster, MlEndpoint, MlWorkspace
from azure_gpu.stack import inventory
from azure_gpu.stack.settings import read
from tests.components.answering import clusters_that_answer
from tests.components.recorded_bodies import run_program
from tests.components.recording import KEYS, PROJECT, STACK, SUBSCRIPTION, Recorded, declare
from tests.components.settings_of import TODAY, configuration, encrypted, pure_problems
from tests.components.stack import test_keep
from tests.components.test_constructors import LOOK_UPS, refused

OF_COMPANY = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/company/providers"
EXISTING = f"{OF_COMPANY}/Microsoft.ManagedIdentity/userAssignedIdentities/company"
CREDENTIAL = "azure-native:managedidentity:FederatedIdentityCredential"
SAYS: dict[str, Any] = {
    "location": "eastus",
    "foundation": dict.fromkeys(["identity", "serving_identity", "registry", "log_workspace", "storage"], "create"),
    "image_source": "https://example.org/checkout.git#0123456",
    "clusters": {
        "shared": {
            "gpu_pools": {"t4": {"size": "Standard_NC4as_T4_v3"}},
            "jobs": {"trained": {"workload": "mnist"}},
            "services": {
                "digits": {"workload": "scoring", "model": {"path": "digits/1"}},
                "plain": {"workload": "scoring"},
            },
            "expires_after": "2026-12-31",
        }
    },
    "ml_workspace": {
        "computes": {"training": {"size": "Standard_NC4as_T4_v3", "expires_after": "2026-12-31"}},
        "models": {"digits": {"version": "1", "path": "digits/1"}},
        "environments": {"scoring": {"workload": "scoring"}},
    },
    "ml_endpoints": {
        name: {
            **identity,
            "deployments": {"blue": {"model": "digits:1", "environment": "scoring", "instance_type": "Standard_DS3_v2"}},
        }
        for name, identity in {"digits": {}, "own": {"identity": "system"}}.items()
    },
}


def says(foundation: Mapping[str, Any] | None = None, **sections: Any) -> dict[str, Any]:
    """The same stack with other parts of its foundation, and other sections; None leaves one out."""
    changed: dict[str, Any] = {**copy.deepcopy(SAYS), **sections}
    parts = {**changed["foundation"], **(foundation or {})}
    changed["foundation"] = {key: value for key, value in parts.items() if value is not None}
    return {key: value for key, value in changed.items() if value is not None}


def problems_of(said: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Where, and how grave."""
    settings = read(configuration(said), TODAY, encrypted(said))
    found: list[tuple[str, str]] = []
    declare(lambda: found.extend((each.path, each.severity.value) for each in pure_problems(settings, PROJECT, STACK)))
    return found


def test_without_it_everything_speaks_as_the_stacks_identity() -> None:
    alone = run_program(configuration(says({"serving_identity": None})))
    assert not [each.name for each in alone.registrations if "serv" in each.name and "service" not in each.name]
    assert alone.named("digits-endpoint").inputs["identity"]["userAssignedIdentities"] == ["/id-of/foundation-identity"]
    assert ("foundation-identity", "AzureML Metrics Writer (preview)", "ml-workspace", "MlWorkspace::ml") in alone.roles
    pod = alone.named("shared-deployment-digits").inputs["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "stack-identity"


def test_another_identity_is_another_endpoint() -> None:
    """What can't be changed is told from another by its name, so that the engine replaces the endpoint and its deployments."""
    triggers = [
        [each.named(name).replacement_trigger for name in ("digits-endpoint", "digits-deployment-blue", "own-endpoint")]
        for each in (run_program(configuration(SAYS)), run_program(configuration(says({"serving_identity": None}))))
    ]
    assert [one == other for one, other in zip(*triggers, strict=True)] == [False, False, True]


def test_it_is_no_problem_without_the_identity_that_trains_where_nothing_needs_that() -> None:
    cluster = {
        **SAYS["clusters"]["shared"],
        "jobs": {},
        "services": {"digits": {"image": "a/b:1", "model": {"path": "digits/1"}}},
    }
    said = says({"identity": None, "registry": None}, clusters={"shared": cluster}, ml_workspace=None, ml_endpoints=None)
    assert problems_of(said) == []
    alone = run_program(configuration(said))
    assert [each.name for each in alone.of_type(CREDENTIAL)] == ["shared-serving-credential"]
    assert [role[:2] for role in alone.roles if role.who.startswith("foundation")] == [
        ("foundation-serving-identity", "Storage Blob Data Reader")
    ]


def test_what_is_wrong_with_it_is_told_at_once() -> None:
    both = {"existing": EXISTING}
    found = problems_of(says({"identity": both, "serving_identity": both, "storage": None}, ml_workspace=None))
    assert ("foundation.serving_identity.existing", "error") in found
    assert ("clusters.shared.services.digits.model", "error") in found
    assert ("ml_workspace", "error") in found


def test_services_need_one_that_the_stack_has_made() -> None:
    assert problems_of(SAYS) == []
    found = problems_of(says({"serving_identity": {"existing": EXISTING}}))
    assert found == [("clusters.shared.services.digits.model", "error")]
    assert problems_of(says({"identity": {"existing": EXISTING}})) == []


@pytest.mark.parametrize(
    "sections",
    [
        {"clusters": None, "ml_workspace": None, "ml_endpoints": None},
        {"clusters": None, "ml_endpoints": {"own": SAYS["ml_endpoints"]["own"]}},
        {
            "ml_endpoints": None,
            "clusters": {"shared": {**SAYS["clusters"]["shared"], "services": {"plain": {"workload": "scoring"}}}},
        },
    ],
    ids=["nothing at all", "an endpoint with an identity of its own", "a service without a model"],
)
def test_where_nothing_would_speak_as_it_there_is_a_warning(sections: dict[str, Any]) -> None:
    assert problems_of(says(**sections)) == [("foundation.serving_identity", "warning")]


def test_tools_know_its_name_and_that_it_gets_roles() -> None:
    said = says({"identity": None, "registry": None}, clusters=None, ml_workspace=None, ml_endpoints=None)
    taken = inventory.take(configuration(said), PROJECT, STACK, TODAY)
    assert [name.name for name in taken.names if name.path == "foundation.serving_identity"] == ["azure-gpu-vision-test-serves"]
    assert taken.assigns_roles


def test_it_goes_with_the_stack_where_the_identity_of_a_kept_account_stays() -> None:
    foundation = {**test_keep.SAID["foundation"], "serving_identity": "create"}
    kept = test_keep.run({**test_keep.SAID, "foundation": foundation}, test_keep.THERE)
    assert "foundation-identity" in test_keep.kept(kept)
    assert "foundation-serving-identity" not in {*test_keep.kept(kept), *test_keep.taken_in(kept)}


def in_a_program(foundation: Mapping[str, Any], **more: Any) -> tuple[Recorded, Foundation]:
    """A program with a cluster, and an endpoint in a workspace. `more`: further arguments of all three."""
    made: list[Foundation] = []

    def build() -> None:
        base = Foundation("base", location="eastus", team="vision", **foundation)
        made.append(base)
        pools: Any = {"t4": {"size": "Standard_NC4as_T4_v3"}}
        services: Any = {} if more else {"digits": {"image": "a/b:1", "model": {"path": "digits/1"}}}
        shared: Any = {"foundation": base, **more}
        GpuCluster("gpus", gpu_pools=pools, services=services, expires_after="2099-12-31", as_of=TODAY, **shared)
        workspace = MlWorkspace("ml", **shared)
        model = f"{OF_COMPANY}/x/models/digits/versions/1"
        blue: Any = {"model": model, "instance_type": "Standard_DS3_v2"}
        MlEndpoint("digits", workspace=workspace, deployments={"blue": blue})

    with clusters_that_answer():
        return declare(build, lookups={**KEYS, **LOOK_UPS}), made[0]


EVERYTHING = dict.fromkeys(["identity", "serving_identity", "log_workspace", "storage"], "create")


def test_components_of_a_program_speak_as_it_by_their_foundation() -> None:
    found, base = in_a_program(EVERYTHING)
    assert found.named("digits-endpoint").inputs["identity"]["userAssignedIdentities"] == ["/id-of/base-serving-identity"]
    assert {each.name for each in found.of_type(CREDENTIAL)} == {"gpus-credential", "gpus-serving-credential"}
    pod = found.named("gpus-deployment-digits").inputs["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "serving-identity"
    assert [role[:3] for role in found.roles if role.who.startswith("base")] == [
        ("base-identity", "Storage Blob Data Contributor", "base-storage"),
        ("base-serving-identity", "AzureML Metrics Writer (preview)", "ml-workspace"),
        ("base-serving-identity", "Storage Blob Data Reader", "base-storage"),
    ]
    [outputs] = [outputs for urn, outputs in found.outputs.items() if urn.endswith("Foundation::base")]
    assert outputs["serving_identity_id"] == "/id-of/base-serving-identity"
    assert outputs["serving_identity_client_id"] == "client-of-base-serving-identity"
    assert base.serving_identity_name is not None


def test_an_identity_that_a_component_is_given_comes_before_it() -> None:
    found, _ = in_a_program(EVERYTHING, identity_id=EXISTING)
    assert found.named("digits-endpoint").inputs["identity"]["userAssignedIdentities"] == [EXISTING]
    assert found.of_type(CREDENTIAL) == []
    assert [role.role for role in found.roles if role.who == "base-serving-identity"] == ["Storage Blob Data Reader"]


def test_a_program_is_refused_one_identity_for_both() -> None:
    both = {"existing": EXISTING}
    args: Any = {"location": "eastus", "identity": both, "serving_identity": both}
    told: list[list[str]] = []
    build: Callable[[], None] = lambda: told.append(refused(lambda: Foundation("base", args)))  # noqa: E731
    assert declare(build, lookups={**KEYS, **LOOK_UPS}).registrations == []
    [[path]] = told
    assert path == 'Foundation("base").serving_identity.existing'
