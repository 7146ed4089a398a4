"""What the extension Microsoft.AzureML.Kubernetes takes. Expectations are literals of its page of 2025-03-07."""

from datetime import date
from typing import Any

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.machine_learning.extension import ExtensionRequest, extension_problems

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


def paths(problems: list[Problem]) -> list[str]:
    return [problem.path for problem in problems]


def test_a_misspelt_setting_is_a_warning_with_the_nearest() -> None:
    (problem,) = problems_of({**PROOF, "installNvidiaDevicePlugins": "True"})
    assert (problem.code, problem.severity, problem.instead[0]) == (Code.UNKNOWN, Severity.WARNING, "installNvidiaDevicePlugin")
    assert problems_of({**PROOF, "nodeSelector.pool": "gpu"}) == []
    assert paths(problems_of({**PROOF, "nodeSelector.": "gpu"})) == ["settings.nodeSelector."]


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
