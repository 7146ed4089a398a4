"""Resources of an online endpoint: their order, deployments, roles, rules, logs and cost."""

import itertools
import json
import re
from typing import Any

import pytest

from azure_gpu.ml.endpoint.args import MlEndpointWiring
from azure_gpu.ml.endpoint.endpoint import LEFT_TO_TEMPLATE, MlEndpoint
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.wired import Wired
from tests.components.ml.ml_endpoints import (
    AUTOSCALE,
    BLUE,
    CPU,
    DEPLOYMENT,
    END,
    ENDPOINT,
    EVERYTHING,
    LOGS,
    ON_KUBERNETES,
    ROLE,
    T4,
    TEMPLATE,
    TWO,
    WORKSPACE_ID,
    declared,
    dependencies,
    named,
    outputs_of,
    workspace,
)
from tests.components.recording import declare
from tests.components.settings_of import args_of


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_two_endpoints_in_one_program_share_no_urn_and_no_name(preview: bool) -> None:
    def build() -> None:
        MlEndpoint("one", Wired(args_of(MlEndpointWiring, dependencies(), TWO)))
        MlEndpoint("two", Wired(args_of(MlEndpointWiring, dependencies(), TWO)))

    recorded = declare(build, preview=preview)
    urns = [registration.urn for registration in recorded.registrations]
    assert len(urns) == len(set(urns))
    assert len({each.inputs["endpointName"] for each in recorded.of_type(ENDPOINT)}) == 2
    assert len({each.inputs["deploymentName"] for each in recorded.of_type(TEMPLATE)}) == 2


def test_an_endpoints_name_ends_in_a_hash_because_it_is_one_in_the_region() -> None:
    name = declared(**TWO).one(ENDPOINT).inputs["endpointName"]
    assert re.fullmatch(r"vision-test-digits-[0-9a-f]{8}", name)


def test_the_endpoint_is_sent_without_traffic_and_left_alone_afterwards() -> None:
    endpoint = declared(**TWO).one(ENDPOINT)
    assert "traffic" not in endpoint.inputs["properties"]
    assert endpoint.ignore_changes == LEFT_TO_TEMPLATE == ["identity", "properties", "tags"]
    assert endpoint.delete_before_replace
    assert endpoint.inputs["properties"]["authMode"] == "AADToken"
    assert endpoint.inputs["identity"] == {"type": "UserAssigned", "userAssignedIdentities": ["/identity/of/the/stack"]}


def test_another_identity_and_another_compute_make_a_new_endpoint() -> None:
    def trigger(**changed: Any) -> Any:
        return declared(**{**TWO, **changed}).one(ENDPOINT).replacement_trigger

    usual = trigger()
    assert trigger(tags={"a": "b"}, description="other", network="public", traffic={"green": 100}) == usual
    on_kubernetes = declared(**ON_KUBERNETES).one(ENDPOINT).replacement_trigger
    assert len({json.dumps(each) for each in (usual, trigger(identity="system"), on_kubernetes)}) == 3


def test_deployments_come_one_after_another_and_traffic_after_all_of_them() -> None:
    recorded = declared(deployments={"third": BLUE, "first": BLUE, "second": BLUE}, traffic={"first": 100}, expires_after=END)
    endpoint = recorded.one(ENDPOINT).urn
    chain = [named(recorded, f"digits-deployment-{name}") for name in ("first", "second", "third")]
    for earlier, later in itertools.pairwise(chain):
        assert earlier.urn in later.dependencies
    assert {each.deleted_with for each in chain} == {endpoint}
    assert all(endpoint in each.dependencies for each in chain)
    assert {each.urn for each in chain} <= set(recorded.one(TEMPLATE).dependencies)


def test_a_managed_deployment_with_everything() -> None:
    inputs = named(declared(**EVERYTHING), "digits-deployment-blue").inputs
    assert inputs["sku"] == {"name": "Default", "capacity": 1}
    assert inputs["tags"]["colour"] == "blue"
    assert inputs["tags"]["expires-at"] == "2027-01-01T00:00:00Z"
    assert inputs["properties"] == {
        "endpointComputeType": "Managed",
        "instanceType": T4,
        "model": f"{WORKSPACE_ID}/models/digits/versions/1",
        "environmentId": f"{WORKSPACE_ID}/environments/scoring/versions/1",
        "modelMountPath": "/models",
        "description": "the first",
        "environmentVariables": {"WORKER_COUNT": "4"},
        "appInsightsEnabled": True,
        "egressPublicNetworkAccess": "Disabled",
        "scaleSettings": {"scaleType": "Default"},
        "requestSettings": {"requestTimeout": "PT90S", "maxConcurrentRequestsPerInstance": 4, "maxQueueWait": "PT1.5S"},
        "livenessProbe": {
            "initialDelay": "PT60S", "period": "PT5S", "timeout": "PT2S", "successThreshold": 1, "failureThreshold": 3,
        },
        "readinessProbe": {
            "initialDelay": "PT10S", "period": "PT10S", "timeout": "PT4S", "successThreshold": 2, "failureThreshold": 30,
        },
        "startupProbe": {
            "initialDelay": "PT10S", "period": "PT10S", "timeout": "PT2S", "successThreshold": 1, "failureThreshold": 100,
        },
    }  # fmt: skip


def test_code_and_an_id_of_a_model_that_the_stack_did_not_register() -> None:
    properties = named(declared(**EVERYTHING), "digits-deployment-green").inputs["properties"]
    assert properties["model"] == "azureml://registries/azureml/models/digits/versions/2"
    assert properties["codeConfiguration"] == {
        "codeId": f"{WORKSPACE_ID}/codes/answers/versions/1",
        "scoringScript": "score.py",
    }


def test_rules_of_azure_monitor_add_an_instance_above_a_value_and_take_one_away_far_below_it() -> None:
    recorded = declared(**EVERYTHING)
    setting = recorded.one(AUTOSCALE).inputs
    deployment = named(recorded, "digits-deployment-blue")
    assert deployment.ignore_changes == ["sku"]
    assert setting["enabled"] is True
    assert setting["targetResourceUri"] == "/id-of/digits-deployment-blue"
    [profile] = setting["profiles"]
    assert profile["capacity"] == {"minimum": "1", "maximum": "3", "default": "1"}
    found = [
        (rule["metricTrigger"]["metricName"], rule["metricTrigger"]["operator"], rule["metricTrigger"]["threshold"],
         rule["scaleAction"]["direction"], rule["scaleAction"]["cooldown"], rule["metricTrigger"]["timeWindow"])
        for rule in profile["rules"]
    ]  # fmt: skip
    assert found == [
        ("CpuUtilizationPercentage", "GreaterThan", 80, "Increase", "PT10M", "PT5M"),
        ("CpuUtilizationPercentage", "LessThan", 32, "Decrease", "PT10M", "PT5M"),
        ("GpuUtilizationPercentage", "GreaterThan", 60, "Increase", "PT10M", "PT5M"),
        ("GpuUtilizationPercentage", "LessThan", 24, "Decrease", "PT10M", "PT5M"),
        ("RequestsPerMinute", "GreaterThan", 600, "Increase", "PT10M", "PT5M"),
        ("RequestsPerMinute", "LessThan", 240, "Decrease", "PT10M", "PT5M"),
    ]


def test_on_kubernetes_the_router_scales_and_the_pods_instance_type_is_always_said() -> None:
    recorded = declared(**ON_KUBERNETES)
    blue, green = (named(recorded, f"digits-deployment-{name}") for name in ("blue", "green"))
    assert recorded.of_type(AUTOSCALE) == []
    assert recorded.one(ENDPOINT).inputs["properties"]["compute"] == f"{WORKSPACE_ID}/computes/onprem"
    assert blue.inputs["properties"]["scaleSettings"] == {
        "scaleType": "TargetUtilization",
        "minInstances": 1,
        "maxInstances": 4,
        "targetUtilizationPercentage": 70,
        "pollingInterval": "PT1S",
    }
    assert (blue.inputs["properties"]["instanceType"], green.inputs["properties"]["instanceType"]) == ("gpu", "small")
    assert "sku" not in blue.inputs
    assert green.inputs["sku"] == {"name": "Default", "capacity": 2}


def test_an_identity_of_the_endpoints_own_has_its_roles_before_the_first_deployment() -> None:
    surroundings = dependencies(
        registry={"name": "r", "id": "/registry", "server": "r.azurecr.io", "workload_images": {}},
        storage={"name": "s", "id": "/storage"},
    )
    of_own_workspace = declared(surroundings=surroundings, **{**TWO, "identity": "system"})
    assert of_own_workspace.roles == [], "Azure assigns them itself, and refuses them twice"
    surroundings["ml_workspace"] = {**surroundings["ml_workspace"], "existing": True}
    recorded = declared(surroundings=surroundings, **{**TWO, "identity": "system"})
    assert recorded.one(ENDPOINT).inputs["identity"] == {"type": "SystemAssigned"}
    assert recorded.roles == [
        ("digits-endpoint", "AcrPull", "/registry", "MlEndpoint::digits"),
        ("digits-endpoint", "Storage Blob Data Reader", "/storage", "MlEndpoint::digits"),
    ]
    assert {each.urn for each in recorded.of_type(ROLE)} <= set(named(recorded, "digits-deployment-blue").dependencies)


def test_where_an_administrator_assigns_roles_the_ones_that_are_needed_are_said() -> None:
    surroundings = dependencies(assign_roles=False, storage={"name": "s", "id": "/storage"})
    surroundings["ml_workspace"] = {**surroundings["ml_workspace"], "existing": True}
    recorded = declared(surroundings=surroundings, **{**TWO, "identity": "system"})
    assert recorded.of_type(ROLE) == []
    assert any("Storage Blob Data Reader" in line for line in recorded.log)


def test_a_stack_without_an_identity_gives_the_endpoint_one() -> None:
    surroundings = dependencies()
    del surroundings["identity_id"]
    assert declared(surroundings=surroundings, **TWO).one(ENDPOINT).inputs["identity"] == {"type": "SystemAssigned"}
    with pytest.raises(Refused, match=r"ml_endpoints\.digits\.identity: the stack has no identity"):
        declared(surroundings=surroundings, **{**TWO, "identity": "stack"})


def test_logs_go_where_the_stack_has_a_workspace_for_them_unless_nobody_wants_them() -> None:
    logs = {"workspace_arm_id": "/logs"}
    recorded = declared(surroundings=dependencies(logs=logs), **TWO)
    assert [each["category"] for each in recorded.one(LOGS).inputs["logs"]] == [
        "AmlOnlineEndpointTrafficLog",
        "AmlOnlineEndpointConsoleLog",
        "AmlOnlineEndpointEventLog",
    ]
    assert declared(surroundings=dependencies(logs=logs), **{**TWO, "monitoring": "none"}).of_type(LOGS) == []
    assert declared(**TWO).of_type(LOGS) == []


def test_everything_is_in_the_workspaces_group_which_need_not_be_the_stacks() -> None:
    recorded = declared(surroundings=dependencies(ml_workspace=workspace(resource_group_name="theirs")), **EVERYTHING)
    own = [each for each in recorded.registrations if "resourceGroupName" in each.inputs]
    assert {each.inputs["resourceGroupName"] for each in own} == {"theirs"}


def test_a_preview_says_what_the_endpoint_costs_while_nobody_asks_and_what_it_takes_of_the_quota() -> None:
    recorded = declared(preview=True, **TWO)
    assert any("cost while idle: 1.052 USD/hour" in line and "never scale to zero" in line for line in recorded.log)
    quota = next(line for line in recorded.log if line.startswith("blue needs"))
    assert "8 vCPUs of the quota standard NCASv3_T4 Family" in quota
    assert declared(**TWO).log == []


def test_costs_are_of_the_most_and_of_the_least_instances_and_nothing_on_a_cluster() -> None:
    recorded = declared(deployments={"blue": {**BLUE, "autoscale": {"max": 4}}}, expires_after=END)
    outputs = outputs_of(recorded)
    assert (outputs["hourly_cost"], outputs["idle_cost"]) == (2.104, 0.526)
    assert outputs["expires_at"] == "2027-01-01T00:00:00Z"
    on_cluster = outputs_of(declared(**ON_KUBERNETES))
    assert (on_cluster["hourly_cost"], on_cluster["idle_cost"]) == (0, 0)


def test_without_a_gpu_no_end_is_needed_and_what_has_no_price_is_not_free() -> None:
    recorded = declared(deployments={"blue": {**BLUE, "instance_type": CPU}})
    outputs = outputs_of(recorded)
    assert "expires-at" not in recorded.one(ENDPOINT).inputs["tags"]
    assert outputs.get("hourly_cost") is None


def test_deployments_are_made_anew_after_the_endpoint_is_and_not_deleted_before_it() -> None:
    recorded = declared(**TWO)
    endpoint = recorded.one(ENDPOINT)
    for each in recorded.of_type(DEPLOYMENT):
        assert (each.replacement_trigger, each.delete_before_replace) == (endpoint.replacement_trigger, True)
        assert not each.replace_with
    assert declared(preview=True, **TWO).of_type(DEPLOYMENT)[0].inputs["endpointName"] == endpoint.inputs["endpointName"]


@pytest.mark.parametrize(("egress", "expected"), [("public", "Enabled"), ("private", "Disabled")])
def test_a_deployment_reaches_out_as_is_asked(egress: str, expected: str) -> None:
    recorded = declared(deployments={"blue": {**BLUE, "egress": egress}}, expires_after=END)
    properties = named(recorded, "digits-deployment-blue").inputs["properties"]
    assert properties.get("egressPublicNetworkAccess", "Enabled") == expected
