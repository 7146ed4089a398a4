"""What the extension Microsoft.AzureML.Kubernetes takes. Expectations are literals of its page of 2025-03-07."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog import facts
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.machine_learning.extension import (
    SETTINGS,
    ExtensionRequest,
    InstanceTypeRequest,
    extension_problems,
    instance_type_problems,
)

TODAY = date(2026, 11, 20)
# The page's own proof of concept: training and inference over HTTP, one router
PROOF = {
    "enableTraining": "True",
    "enableInference": "True",
    "inferenceRouterServiceType": "LoadBalancer",
    "allowInsecureConnections": "True",
    "inferenceRouterHA": "False",
}
# And its production set-up: HTTPS, three routers
PRODUCTION = {
    "enableTraining": "True",
    "enableInference": "True",
    "inferenceRouterServiceType": "LoadBalancer",
    "sslCname": "ml.example.com",
    "sslSecret": "certificate",
}


def problems_of(settings: dict[str, str], day: date = TODAY, **changed: Any) -> list[Problem]:
    request = ExtensionRequest(settings=settings, path="settings", cluster_path="cluster", **changed)
    return extension_problems(request, day)


def without(settings: dict[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in settings.items() if name not in names}


def paths(problems: list[Problem]) -> list[str]:
    return [problem.path for problem in problems]


def test_the_set_ups_of_the_page_are_taken() -> None:
    assert problems_of(PROOF, nodes=1, vcpus=4, memory_gib=14) == []
    assert problems_of(PRODUCTION, nodes=3) == []
    assert problems_of({"enableTraining": "True"}, aks=False) == []


@pytest.mark.parametrize("settings", [{}, {"enableTraining": "False"}, {"enableInference": "False", "enableTraining": "false"}])
def test_at_least_training_or_inference_has_to_be_on(settings: dict[str, str]) -> None:
    (problem,) = problems_of(settings)
    assert (problem.path, problem.code) == ("settings", Code.IMPOSSIBLE)


def test_inference_needs_to_know_how_its_router_is_reached() -> None:
    (problem,) = problems_of(without(PROOF, "inferenceRouterServiceType"))
    assert (problem.path, problem.allowed) == ("settings.inferenceRouterServiceType", "loadBalancer, nodePort, clusterIP")
    assert problems_of({**PROOF, "inferenceRouterServiceType": "clusterIP"}) == []
    assert paths(problems_of({**PROOF, "inferenceRouterServiceType": "ingress"})) == ["settings.inferenceRouterServiceType"]


def test_https_needs_a_name_and_a_certificate() -> None:
    assert paths(problems_of(without(PRODUCTION, "sslCname"))) == ["settings.sslCname"]
    assert paths(problems_of(without(PRODUCTION, "sslSecret"))) == ["settings.sslSecret"]
    files = without(PRODUCTION, "sslSecret")
    assert problems_of(files, protected=frozenset({"sslCertPemFile", "sslKeyPemFile"})) == []
    assert paths(problems_of(files, protected=frozenset({"sslCertPemFile"}))) == ["settings.sslSecret"]
    assert paths(problems_of(without(PROOF, "allowInsecureConnections"))) == ["settings.sslCname", "settings.sslSecret"]


@pytest.mark.parametrize(("nodes", "refused"), [(1, True), (2, True), (3, False), (None, False)])
def test_a_highly_available_router_needs_three_nodes(nodes: int | None, refused: bool) -> None:
    assert paths(problems_of(PRODUCTION, nodes=nodes)) == (["settings.inferenceRouterHA"] if refused else [])
    assert problems_of({**PRODUCTION, "inferenceRouterHA": "False"}, nodes=nodes) == []


def test_the_internal_load_balancer_is_azures_and_on_aks() -> None:
    internal = {**PROOF, "internalLoadBalancerProvider": "azure"}
    assert problems_of(internal) == []
    assert paths(problems_of(internal, aks=False)) == ["settings.internalLoadBalancerProvider"]
    assert paths(problems_of({**PROOF, "internalLoadBalancerProvider": "aws"})) == ["settings.internalLoadBalancerProvider"]


def test_the_cluster_has_a_managed_identity_and_the_workspaces_subscription() -> None:
    assert paths(problems_of(PROOF, service_principal=True)) == ["cluster"]
    assert problems_of(PROOF, service_principal=True, aks=False) == []
    assert paths(problems_of(PROOF, same_subscription=False)) == ["cluster"]


def test_local_accounts_are_a_doubt_that_a_later_note_lifts() -> None:
    (problem,) = problems_of(PROOF, local_accounts=False)
    assert (problem.path, problem.severity) == ("cluster", Severity.WARNING)
    assert "trusted access" in problem.message


@pytest.mark.parametrize(("vcpus", "memory", "count"), [(4, 14.0, 0), (3, 14.0, 1), (4, 13.9, 1), (2, 7.0, 2)])
def test_for_production_it_wants_4_vcpu_and_14_gb(vcpus: int, memory: float, count: int) -> None:
    problems = problems_of(PROOF, vcpus=vcpus, memory_gib=memory)
    assert [(problem.path, problem.severity) for problem in problems] == [("cluster", Severity.WARNING)] * count


def test_a_misspelt_setting_is_a_warning_with_the_nearest() -> None:
    (problem,) = problems_of({**PROOF, "installNvidiaDevicePlugins": "True"})
    assert (problem.code, problem.severity, problem.instead[0]) == (Code.UNKNOWN, Severity.WARNING, "installNvidiaDevicePlugin")
    assert problems_of({**PROOF, "nodeSelector.pool": "gpu"}) == []
    assert paths(problems_of({**PROOF, "nodeSelector.": "gpu"})) == ["settings.nodeSelector."]


def test_a_truth_is_written_true_or_false() -> None:
    assert problems_of({**PROOF, "installPromOp": "false"}) == []
    (problem,) = problems_of({**PROOF, "installPromOp": "no"})
    assert (problem.path, problem.allowed) == ("settings.installPromOp", "True, False")


def test_a_certificate_belongs_to_the_protected_settings() -> None:
    assert paths(problems_of({**PROOF, "sslKeyPemFile": "key.pem"})) == ["settings.sslKeyPemFile"]


def test_the_settings_have_the_defaults_of_the_page() -> None:
    defaults = {setting.name: setting.default for setting in SETTINGS if setting.default}
    assert defaults == {
        "enableTraining": "False",
        "enableInference": "False",
        "allowInsecureConnections": "False",
        "inferenceRouterHA": "True",
        "installNvidiaDevicePlugin": "False",
        "installDcgmExporter": "False",
        "installPromOp": "True",
        "installVolcano": "True",
    }


# Azure/AML-Kubernetes, docs/instance-type.md
def test_an_instance_type_names_its_gpus_under_limits_only() -> None:
    gpu = "nvidia.com/gpu"
    good = InstanceTypeRequest(requests={"cpu": "1"}, limits={"cpu": "2", gpu: "1"}, path="type")
    assert instance_type_problems(good, TODAY) == []
    bad = InstanceTypeRequest(requests={gpu: "1"}, limits={gpu: "half"}, path="type")
    assert paths(instance_type_problems(bad, TODAY)) == [f"type.requests.{gpu}", f"type.limits.{gpu}"]
    (early,) = instance_type_problems(good, date(2020, 1, 1))
    assert (early.code, early.severity) == (Code.UNKNOWN, Severity.WARNING)


def test_without_a_default_instance_type_a_pod_has_no_gpu() -> None:
    values = {fact.name: fact.value for fact in facts.about("machine_learning.extension")}
    assert values["without a default instance type"] == "a pod gets 0.6 CPU, 1536Mi and no GPU"


def test_all_problems_come_at_once() -> None:
    problems = problems_of(
        {"enableInference": "True"}, nodes=1, service_principal=True, same_subscription=False, local_accounts=False
    )
    assert sorted(paths(problems)) == [
        "cluster",
        "cluster",
        "cluster",
        "settings.inferenceRouterHA",
        "settings.inferenceRouterServiceType",
        "settings.sslCname",
        "settings.sslSecret",
    ]


@given(
    st.dictionaries(st.text(max_size=8) | st.sampled_from([setting.name for setting in SETTINGS]), st.text(max_size=8)),
    st.dictionaries(st.text(max_size=8) | st.just("nvidia.com/gpu"), st.text(max_size=4)),
    st.none() | st.integers(),
    st.none() | st.floats(),
    st.dates(),
)
def test_odd_settings_never_raise(
    settings: dict[str, str], amounts: dict[str, str], nodes: int | None, memory: float | None, day: date
) -> None:
    problems = problems_of(settings, day, nodes=nodes, vcpus=nodes, memory_gib=memory)
    problems += instance_type_problems(InstanceTypeRequest(requests=amounts, limits=amounts, path="type"), day)
    assert all(problem.path and problem.message for problem in problems)
