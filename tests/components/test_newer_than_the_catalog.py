"""What Azure may have since the catalog was made is warned of once and goes through: a size or a version, in every service."""

import json
from itertools import product
from typing import Any

import pytest

from azure_gpu import GpuCluster, JobEnvironment
from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.problems import Code, Severity
from azure_gpu.stack.look_ups import ASSUMED
from azure_gpu.stack.plan import Plan, plan
from azure_gpu.stack.settings import read
from azure_gpu_operations.catalog_page import known_facts
from tests.components.recording import KEYS, PROJECT, STACK, SUBSCRIPTION, declare
from tests.components.settings_of import TODAY, configuration, encrypted
from tests.support import newer
from tests.support.tables import of_table

END = {"expires_after": "2026-12-31"}
NODES = {"dedicated_nodes": 1, **END}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIf5brqnNQHGzLjkqraUF8izv5/PuTQziv4YaiROCxUB"
T4 = "Standard_NC4as_T4_v3"
GB300 = "Standard_ND256isr_GB300_v7"
NEWER = (*newer.SIZES, "Standard_NC8as_T4_v4", "Standard_HB500rs_v6")
FOUNDATION = {"identity": "create", "storage": "create", "log_workspace": "create", "registry": "create"}


def planned(says: dict[str, Any]) -> Plan:
    whole = {"location": "eastus", "foundation": FOUNDATION, **says}
    return plan(read(configuration(whole), TODAY, encrypted(whole)), ASSUMED, PROJECT, STACK)


def vms(**machine: Any) -> dict[str, Any]:
    return {"vms": {"m": {"size": T4, "admin": {"ssh_public_key": KEY}, **END, **machine}}}


def pools(**pool: Any) -> dict[str, Any]:
    return {"batch_account": "create", "pools": {"p": {"size": T4, **NODES, **pool}}}


def clusters(pool: dict[str, Any] | None = None, **cluster: Any) -> dict[str, Any]:
    return {"clusters": {"c": {"gpu_pools": {"t4": {"size": T4, **(pool or {})}}, **END, **cluster}}}


def computes(size: str) -> dict[str, Any]:
    return {"ml_workspace": {"computes": {"c": {"size": size, **END}}}}


def endpoints(size: str) -> dict[str, Any]:
    deployment = {"environment": "digits", "model": "digits-1", "instance_type": size}
    return {
        "image_source": "https://example.org/checkout.git#0123456",
        "ml_workspace": {
            "models": {"digits-1": {"model_name": "digits", "version": "1", "path": "digits/1"}},
            "environments": {"digits": {"workload": "digits"}},
        },
        "ml_endpoints": {"e": {"deployments": {"blue": deployment}, **END}},
    }


def sizes_of(size: str) -> dict[str, dict[str, Any]]:
    return {
        "vms.m.size": vms(size=size),
        "pools.p.size": pools(size=size),
        "clusters.c.gpu_pools.t4.size": clusters({"size": size}),
        "ml_workspace.computes.c.size": computes(size),
        "ml_endpoints.e.deployments.blue.instance_type": endpoints(size),
    }


def costs(found: Plan) -> list[Any]:
    return [
        *(each.hourly_cost for each in found.parts["pools"].values()),
        *(spec.hourly_cost for spec, _ in found.parts["clusters"].values()),
        *(each.cost.running.usd_hour for each in found.parts["vms"].values()),
        *(each.cost.usd_hour for each in found.parts["ml_endpoints"].values()),
    ]


def test_a_newer_size_is_one_warning_and_what_it_costs_is_not_known() -> None:
    wrong: list[Any] = []
    for size, path in product(NEWER, sizes_of(T4)):
        found = planned(sizes_of(size)[path])
        told = [(each.path, each.severity, each.code in (Code.UNKNOWN, Code.NOT_LISTED)) for each in found.problems]
        if told != [(path, Severity.WARNING, True)] or any(cost is not None for cost in costs(found)):
            wrong.append((size, path, told, costs(found)))
    assert wrong == []


JOB = {"job_environment": "create", "jobs": {"j": {**END}}}
TOGETHER = {**vms(), **pools(), **clusters(), **JOB}
REGIONS = (*newer.REGIONS, "eastus2euap", "chinanorth3")


def test_a_newer_region_is_one_warning() -> None:
    stacks = {**sizes_of(T4), "jobs.j": JOB, "together": TOGETHER}
    wrong: list[Any] = []
    for region, stack in product(REGIONS, stacks):
        problems = planned({**stacks[stack], "location": region}).problems
        told = [(each.path, each.code, each.severity) for each in problems]
        if told != [("location", Code.NOT_LISTED, Severity.WARNING)]:
            wrong.append((region, stack, told))
    assert wrong == []


def test_a_component_of_a_program_warns_once_of_a_newer_region_or_size() -> None:
    login = dict.fromkeys(("subscriptionId", "tenantId", "clientId", "objectId"), SUBSCRIPTION)
    lookups = {**KEYS, "azure-native:authorization:getClientConfig": login}
    group: dict[str, Any] = {"resource_group_name": "g", "as_of": TODAY}
    cases: list[Any] = [(each, T4, "location") for each in newer.REGIONS]
    cases += [("eastus", each, "gpu_pools.t4.size") for each in newer.SIZES]
    wrong: list[Any] = []
    for region, size, path in cases:
        wanted: Any = {"location": region, "gpu_pools": {"t4": {"size": size}}, **END, **group}
        log = declare(lambda wanted=wanted: GpuCluster("it", wanted), lookups=lookups).log
        if path == "location":
            alone: Any = {"location": region, "resource_group_name": "g"}
            log += declare(lambda alone=alone: JobEnvironment("it", alone), lookups=lookups).log
        expected = ["GpuCluster", "JobEnvironment"] if path == "location" else ["GpuCluster"]
        if [each.partition(": ")[0] for each in log] != [f'{kind}("it").{path}' for kind in expected]:
            wrong.append((region, size, log))
    assert wrong == []


def test_a_no_about_a_region_is_a_warning_where_the_file_insists() -> None:
    pool = pools(size=T4)
    gone = {**pool, "location": "westindia"}
    [refused] = [each for each in planned(gone).problems if each.severity is Severity.ERROR]
    assert refused.path.endswith("location")
    insisted = planned({**gone, "unchecked": ["region"]}).problems
    assert refused._replace(severity=Severity.WARNING) in insisted
    assert [each for each in insisted if each.severity is Severity.ERROR] == []
    [problem] = planned({**pool, "unchecked": ["size"]}).problems
    assert (problem.path, problem.severity) == ("unchecked[0]", Severity.ERROR)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("location", {"location": "uksouth", **JOB}),
        ("jobs.j.location", {"job_environment": "create", "jobs": {"j": {"gpu": "A100", "location": "uksouth", **END}}}),
        ("job_environment.gpus", {**JOB, "location": "westeurope", "job_environment": {"create": True, "gpus": ["A100", "T4"]}}),
        ("pools.p.size", pools(size="Standard_NV36ads_A10_v5")),
        ("ml_workspace.computes.c.size", computes("Standard_NV36ads_A10_v5")),
        ("ml_endpoints.e.deployments.blue.instance_type", endpoints("Standard_HB176rs_v4")),
    ],
)
def test_what_an_old_list_lacks_is_one_warning(path: str, says: dict[str, Any]) -> None:
    [problem] = planned(says).problems
    assert (problem.path, problem.code, problem.severity) == (path, Code.NOT_LISTED, Severity.WARNING)


@pytest.mark.parametrize(
    ("says", "path"),
    [
        *((pools(size=NEWER[0], driver=driver), "pools.p.size") for driver in ("auto", "image", "extension", "none")),
        (pools(size=NEWER[0], driver="extension", os_type="Windows"), "pools.p.size"),
        (pools(size=NEWER[0], containers=True), "pools.p.size"),
        *(
            (pools(size=GB300, image=image), "pools.p.size")
            for image in ("microsoft-dsvm:ubuntu-hpc:2404", "Canonical:ubuntu-24_04-lts:server")
        ),
        (pools(size=GB300, image="microsoft-dsvm:ubuntu-hpc:2404", driver="image", containers=True), "pools.p.size"),
        *((vms(size=NEWER[0], driver=driver), "vms.m.size") for driver in ("auto", "image", "extension", "none")),
        (vms(size=NEWER[0], spot=True), "vms.m.size"),
        (clusters({"size": NEWER[0], "sharing": {"strategy": "time-slicing", "replicas": 4}}), "clusters.c.gpu_pools.t4.size"),
        (clusters({"size": NEWER[0], "sharing": {"strategy": "mig", "profile": "MIG1g"}}), "clusters.c.gpu_pools.t4.size"),
        (clusters({"size": NEWER[0], "driver": "none", "spot": True}), "clusters.c.gpu_pools.t4.size"),
    ],
)
def test_a_newer_size_goes_through_however_it_is_used(says: dict[str, Any], path: str) -> None:
    assert [(each.path, each.severity) for each in planned(says).problems] == [(path, Severity.WARNING)]


def test_on_a_newer_size_batch_installs_what_is_requested_and_says_when_that_is_nothing() -> None:
    way = planned(pools(size=NEWER[0], driver="extension")).parts["pools"]["p"].install_method
    assert way.extension is not None
    assert way.extension.type == "NvidiaGpuDriverLinux"
    assert "no driver is installed" in planned(pools(size=NEWER[0])).parts["pools"]["p"].install_method.why


@pytest.mark.parametrize("path", list(sizes_of(T4)))
def test_a_slip_of_a_size_is_refused_with_what_was_meant(path: str) -> None:
    [problem] = planned(sizes_of("Standard_NC4sa_T4_v3")[path]).problems
    assert (problem.path, problem.severity, problem.fix) == (path, Severity.ERROR, f"write {T4}")


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("clusters.c.kubernetes_version", clusters(kubernetes_version="1.45")),
        ("clusters.c.gpu_pools.t4.os_sku", clusters({"os_sku": "Ubuntu2804"})),
        ("vms.m.image", vms(image="microsoft-dsvm:ubuntu-hpc:2604")),
        ("vms.m.image", vms(image="Canonical:ubuntu-26_04-lts:server")),
        ("pools.p.image", pools(image="microsoft-dsvm:ubuntu-hpc:2604", node_agent="batch.node.ubuntu 24.04")),
        (
            "pools.p.node_agent",
            pools(
                image_id=f"/subscriptions/{'0' * 8}-0000-0000-0000-{'0' * 12}/resourceGroups/g/providers/"
                "Microsoft.Compute/galleries/g/images/i/versions/1.0.0",
                node_agent="batch.node.ubuntu 26.04",
            ),
        ),
        ("clusters.c.metrics.counters", clusters(metrics={"counters": ["DCGM_FI_DEV_NEW_COUNTER"]})),
    ],
    ids=["kubernetes", "os-sku", "hpc-image", "ubuntu-image", "batch-image", "node-agent", "counter"],
)
def test_a_newer_version_is_a_warning_and_goes_through(path: str, says: dict[str, Any]) -> None:
    found = planned(says).problems
    assert {each.severity for each in found} == {Severity.WARNING}, [str(each) for each in found]
    assert any(each.path.startswith(path) and each.code is Code.UNKNOWN for each in found), [str(each) for each in found]


DEPLOYED = endpoints("Standard_DS3_v2")
DEPLOYED["ml_endpoints"]["e"]["expires_after"] = "2028-12-31"
OF_ENDPOINT = (DEPLOYED, "ml_endpoints.e.deployments.blue.instance_type", "RETIRING", "2028-05-01")


@of_table("says", "path", "code", "words", more=[OF_ENDPOINT])
def test_a_fact_of_2026_is_told(says: dict[str, Any], path: str, code: str, words: str) -> None:
    told = [each for each in planned(says).problems if (each.path, each.code) == (path, code)]
    assert any(words in str(each) for each in told), [str(each) for each in planned(says).problems]


def test_a_fact_of_2026_that_no_stack_can_break_is_in_the_catalog() -> None:
    told = [f"{name}: {each.name}: {each.value}" for name, about in known_facts().items() for each in about]
    for words in (
        "systems of KAITO's nodes: Ubuntu, and Azure Linux since 2026-03-05",
        "GPU metrics that AKS manages: by default in Azure Managed Prometheus",
        "what AKS keeps up to date: driver, device plugin and metrics exporter",
        "limits of the preview: Linux, without the cluster autoscaler; needs the feature ManagedGPUExperiencePreview",
        "Ubuntu of the OS SKU Ubuntu: 22.04 up to Kubernetes 1.34, 24.04 from 1.35 on",
    ):
        assert any(words in each for each in told), words
    end = lifecycle.PARTS["ml.aks_compute"].lifecycle.end
    assert end is not None
    assert end.day.isoformat() == "2026-06-30"


def test_on_any_later_day_a_stack_is_planned_with_the_prices_there_are() -> None:
    wrong: list[Any] = []
    for day, says in product(["2027-01-15", "2027-05-28", "2028-11-30"], [*sizes_of(T4).values(), JOB]):
        whole = {"location": "eastus", "foundation": FOUNDATION, **says, "as_of": day}
        text = json.dumps(whole).replace("2026-12-31", "2029-12-31")
        found = plan(read(configuration(json.loads(text)), day, encrypted(whole)), ASSUMED, PROJECT, STACK)
        refused = [str(each) for each in found.problems if each.severity is Severity.ERROR]
        prices = [each.hourly_cost for each in found.parts["pools"].values()]
        prices += [each.cost.running.usd_hour for each in found.parts["vms"].values()]
        if refused or None in prices:
            wrong.append((day, list(says), refused, prices))
    assert wrong == []
