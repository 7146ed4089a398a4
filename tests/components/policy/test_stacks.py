"""Policies that look at the whole stack: last days, regions, prices."""

from typing import Any

import pytest

from azure_gpu_policies.known import UNKNOWN
from azure_gpu_policies.resources import Resource
from tests.components.policy.resources import (
    ENDS,
    agent_pool,
    batch_pool,
    cluster,
    deployment,
    environment,
    group,
    judged,
    ml_compute,
    paths,
    resource,
    scaled,
    vm,
)

GROUP = "azure-native:resources:ResourceGroup"
A100 = "Standard_NC24ads_A100_v4"  # 3.673 USD/hour in East US


def in_group(within: str, **more: Any) -> Resource:
    return vm("Standard_NC4as_T4_v3", resourceGroupName=within, **more)


def job(**more: Any) -> Resource:
    said = {"environmentId": ENV_ID, **more}
    return resource("azure-native:app:Job", {"workloadProfileName": "fast", **said}, "tonight")


def env(**more: Any) -> Resource:
    return environment(("fast", "Consumption-GPU-NC8as-T4"), environmentName="env", **more)


ENV_ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.App/managedEnvironments/env"


def app(*containers: tuple[Any, str], **more: Any) -> Resource:
    listed = [{"resources": {"cpu": cpu, "memory": memory}} for cpu, memory in containers]
    template = {"containers": listed, "scale": {"maxReplicas": 10}}
    said = {"workloadProfileName": "fast", "managedEnvironmentId": ENV_ID, "template": template, "location": "eastus"}
    return resource("azure-native:app:ContainerApp", {**said, **more}, "web")


def test_what_has_a_gpu_needs_a_last_day_of_its_own_or_of_what_it_lies_in() -> None:
    assert paths("gpu-end-date", in_group("g")) == ["tags.expires-at"]
    assert paths("gpu-end-date", in_group("g", tags=ENDS)) == []
    assert paths("gpu-end-date", in_group("g"), resource(GROUP, {"resourceGroupName": "G", "tags": ENDS})) == []
    assert paths("gpu-end-date", vm("Standard_D4s_v5")) == []
    for without in (batch_pool(), agent_pool(), ml_compute(), deployment(), group()):
        has = without.type != "azure-native:containerinstance:ContainerGroup"
        assert len(paths("gpu-end-date", without)) == has


def test_a_pool_of_a_cluster_has_the_clusters_last_day_however_the_program_names_it() -> None:
    whole = cluster(resourceName="c", tags=ENDS)
    by_name, by_output = agent_pool(resourceName="c"), agent_pool(resourceName=UNKNOWN)
    assert paths("gpu-end-date", by_name, whole) == []
    assert paths("gpu-end-date", by_output._replace(depends={"resourceName": (whole.urn,)}), whole) == []
    assert paths("gpu-end-date", agent_pool(resourceName="other"), whole) == ["tags.expires-at"]


def test_jobs_on_a_profile_with_gpus_have_one() -> None:
    assert paths("gpu-end-date", job(), env()) == ["tags.expires-at"]
    assert paths("gpu-end-date", job(tags=ENDS), env()) == []
    assert paths("gpu-end-date", job(workloadProfileName="Consumption"), env()) == []
    assert paths("gpu-end-date", job()) == []  # which profile that is nobody knows


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("2026-11-26T00:00:00Z", "EXPIRED"),
        ("2026-12-31T00:00:00Z", None),
        ("2026-12-31", None),
        ("soon", "INVALID"),
        ("", "INVALID"),
    ],
)
def test_a_last_day_is_an_instant_that_comes(end: str, code: str | None) -> None:
    assert [each.code for each in judged("gpu-end-date", in_group("g", tags={"expires-at": end}))] == ([code] if code else [])


@pytest.mark.parametrize(("end", "message"), [("2026-11-25", "has passed"), ("2026-11-26T23:00:00Z", "must be after")])
def test_a_last_day_that_is_this_one_has_not_passed(end: str, message: str) -> None:
    [problem] = judged("gpu-end-date", in_group("g", tags={"expires-at": end}))
    assert message in problem.message


def test_the_organization_says_which_tag_and_how_far_away() -> None:
    assert paths("gpu-end-date", in_group("g", tags=ENDS), days=10) == ["tags.expires-at"]
    assert paths("gpu-end-date", in_group("g", tags=ENDS), days=60) == []
    assert paths("gpu-end-date", in_group("g", tags={"delete-by": "2027-01-01"}), tag="delete-by") == []


def test_open_tags_may_hold_a_last_day() -> None:
    assert paths("gpu-end-date", in_group("g", tags=UNKNOWN)) == []
    assert paths("gpu-end-date", in_group("g", tags={"expires-at": UNKNOWN})) == []
    assert paths("gpu-end-date", in_group("g"), resource(GROUP, {"resourceGroupName": "g", "tags": UNKNOWN})) == []


def test_a_pool_is_where_its_account_is() -> None:
    account = resource("azure-native:batch:BatchAccount", {"accountName": "a", "location": "uaecentral"}, "account")
    assert paths("gpu-region", batch_pool(A100, accountName="a"), account) == ["location"]
    assert paths("gpu-region", batch_pool(A100, accountName="a"), account._replace(properties={"accountName": "a"})) == []
    assert paths("gpu-region", vm(A100)._replace(default_location="uaecentral")) == ["location"]
    assert paths("gpu-region", agent_pool(A100)._replace(default_location="uaecentral")) == []  # where its cluster is, who knows
    group_of_pool = resource(GROUP, {"resourceGroupName": "g", "location": "uaecentral"})
    assert paths("gpu-region", agent_pool(A100, resourceGroupName="g"), group_of_pool) == []
    assert paths("gpu-region", vm(A100, resourceGroupName="g"), group_of_pool) == ["location"]
    assert paths("gpu-region", vm(A100, location=UNKNOWN)._replace(default_location="uaecentral")) == []


def test_a_resource_costs_what_all_its_machines_do_by_a_dated_price() -> None:
    pool = agent_pool(A100, location="eastus", enableAutoScaling=True, minCount=0, maxCount=6)
    [problem] = judged("gpu-price-resource", pool)
    assert problem.value == pytest.approx(22.038)
    assert "(list price of 2026-06-18" in problem.message
    assert judged("gpu-price-resource", pool, usd_hour=25) == []
    spot = pool._replace(properties={**pool.properties, "scaleSetPriority": "Spot"})
    assert judged("gpu-price-resource", spot) == []


def test_the_stack_costs_what_all_its_parts_do_and_what_is_not_known_is_told_beside_it() -> None:
    pools = [agent_pool(A100, location="eastus", count=3)._replace(name=f"pool-{each}", urn=f"urn:{each}") for each in range(4)]
    assert judged("gpu-price-resource", *pools) == []
    unknown = batch_pool(**scaled("$TargetDedicatedNodes = nothing;"))
    [problem] = judged("gpu-price-stack", *pools, unknown)
    assert problem.value == pytest.approx(44.076)
    assert "no price is known for an unknown number of Standard_NC4as_T4_v3 in Pool" in problem.message
    assert judged("gpu-price-stack", *pools, usd_hour=50) == []


def test_a_serverless_job_costs_while_its_replicas_run() -> None:
    template = {"containers": [{"resources": {"cpu": 8, "memory": "56Gi"}}]}
    many = {"manualTriggerConfig": {"parallelism": 50}}
    declared = job(template=template, configuration=many, location="eastus", tags=ENDS)
    [problem] = judged("gpu-price-resource", declared, env())
    assert problem.path == 'Job("tonight").workloadProfileName'
    assert judged("gpu-price-resource", job(template=template, configuration=UNKNOWN, location="eastus"), env()) == []


def test_an_app_names_its_environment_by_either_property() -> None:
    assert paths("gpu-end-date", app((8, "56Gi")), env()) == ["tags.expires-at"]
    assert paths("gpu-end-date", app((8, "56Gi"), managedEnvironmentId=None, environmentId=ENV_ID), env()) == ["tags.expires-at"]


def test_all_containers_of_a_replica_cost() -> None:
    [one] = judged("gpu-price-resource", app((4, "28Gi")), env(), usd_hour=0)
    [two] = judged("gpu-price-resource", app((4, "28Gi"), (4, "28Gi")), env(), usd_hour=0)
    [whole] = judged("gpu-price-resource", app((8, "56Gi")), env(), usd_hour=0)
    # pyrefly: ignore[unsupported-operation]
    assert one.value < two.value == whole.value
    assert judged("gpu-price-resource", app((4, "28Gi"), (UNKNOWN, "28Gi")), env(), usd_hour=0) == []


def test_nodes_of_a_dedicated_profile_are_named_where_a_limit_is_broken_and_what_runs_on_them_costs_no_meters() -> None:
    dedicated = environment(("fast", "NC24-A100"), environmentName="env", location="westeurope")
    assert judged("gpu-price-resource", app((8, "56Gi")), dedicated, usd_hour=0) == []
    [problem] = judged("gpu-price-stack", agent_pool(A100, location="eastus", count=20), dedicated)
    assert "no price is known for NC24-A100 in westeurope" in problem.message


def test_what_may_be_spot_is_priced_as_if_it_were_not() -> None:
    [problem] = judged("gpu-price-resource", agent_pool(A100, count=100, location="eastus", scaleSetPriority=UNKNOWN))
    assert problem.value == pytest.approx(367.3)


def test_a_formula_that_may_ask_for_spot_nodes_is_priced_at_most() -> None:
    formula = "$TargetDedicatedNodes = min(10, $PendingTasks.GetSample(1)); $TargetLowPriorityNodes = 0;"
    account = resource("azure-native:batch:BatchAccount", {"accountName": "a", "location": "eastus"}, "account")
    [problem] = judged("gpu-price-resource", batch_pool(A100, accountName="a", **scaled(formula)), account)
    assert problem.value == pytest.approx(36.73)


def test_the_price_of_the_stack_leaves_exceptions_out() -> None:
    pool = agent_pool(A100, location="eastus", count=20)
    assert len(judged("gpu-price-stack", pool)) == 1
    assert judged("gpu-price-stack", pool, exceptions=["*:AgentPool::t4"]) == []


def test_a_price_that_is_not_known_breaks_no_limit() -> None:
    for pool in (
        agent_pool(A100, count=UNKNOWN, location="eastus"),
        agent_pool(A100, count=100),  # in which region, nobody knows
        agent_pool(A100, count=100, location="eastus", osType="Windows"),
    ):
        assert judged("gpu-price-resource", pool) == judged("gpu-price-stack", pool) == []
