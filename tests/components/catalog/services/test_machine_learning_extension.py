"""What the extension Microsoft.AzureML.Kubernetes takes. Expectations are literals of its page of 2025-03-07."""

from datetime import date
from typing import Any

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


def problems_of(settings: dict[str, str], day: date = TODAY, **changed: Any) -> list[Problem]:
    request = ExtensionRequest(settings=settings, path="settings", cluster_path="cluster", **changed)
    return extension_problems(request, day)


def without(settings: dict[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in settings.items() if name not in names}


def paths(problems: list[Problem]) -> list[str]:
    return [problem.path for problem in problems]


def test_a_misspelt_setting_is_a_warning_with_the_nearest() -> None:
    (problem,) = problems_of({**PROOF, "installNvidiaDevicePlugins": "True"})
    assert (problem.code, problem.severity, problem.instead[0]) == (Code.UNKNOWN, Severity.WARNING, "installNvidiaDevicePlugin")
    assert problems_of({**PROOF, "nodeSelector.pool": "gpu"}) == []
    assert paths(problems_of({**PROOF, "nodeSelector.": "gpu"})) == ["settings.nodeSelector."]


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
