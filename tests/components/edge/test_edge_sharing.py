"""Jobs that share the GPUs of a device: their manifests by the fourth document, and what it forbids."""

import json
from typing import Any

import kubernetes_validate
import pytest
import yaml

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.edge.args import EdgeSharingSettings
from azure_gpu.edge.resolve import resolve, unanswered
from azure_gpu.edge.sharing import EdgeSharing
from azure_gpu.edge.spec import EdgeSharingSpec
from azure_gpu.kubernetes import api_server, jobs as kubernetes_jobs
from azure_gpu.shared.context import resolve_stack
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.wired import Wired
from tests.components.recording import PROJECT, STACK, declare
from tests.components.settings_of import STACK_ARGS, args_of
from tests.support.edge_documents import COMPANION, FRAGMENT

CONTEXT, _ = resolve_stack(STACK_ARGS, PROJECT, STACK)
KUBECONFIG = yaml.safe_dump(
    {
        "current-context": "device",
        "contexts": [{"name": "device", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://device.example:6443"}}],
        "users": [{"name": "u", "user": {"token": "the-login-of-the-device"}}],
    }
)
FILES = {"fragment.yaml": FRAGMENT, "job.yaml": COMPANION, "kubeconfig": KUBECONFIG}


def edge(**more: Any) -> EdgeSharingSettings:
    return args_of(EdgeSharingSettings, {"kubeconfig": KUBECONFIG, "namespace": "work"}, more)


def resolved(settings: EdgeSharingSettings) -> tuple[EdgeSharingSpec, list[Problem]]:
    return resolve("box", settings, CONTEXT, FILES.__getitem__)


def warnings(settings: EdgeSharingSettings) -> list[Problem]:
    return [problem for problem in resolved(settings)[1] if problem.severity is Severity.WARNING]


def pods(settings: EdgeSharingSettings) -> dict[str, Any]:
    spec, problems = resolved(settings)
    assert [problem for problem in problems if problem.severity is Severity.ERROR] == []
    jobs = {name: json.loads(json.dumps(kubernetes_jobs.manifest(job, job.image))) for name, job in spec.jobs.items()}
    for version in ("1.33", "1.37"):
        for job in jobs.values():
            kubernetes_validate.validate(job, version, strict=True)
    return {name: job["spec"]["template"]["spec"] for name, job in jobs.items()}


def environment(pod: Any) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in pod["containers"][0]["env"]}


def test_the_companions_job_is_declared_as_its_page_has_it() -> None:
    [pod] = pods(edge(jobs={"cuda-sample1": {"deployment": "job.yaml"}})).values()
    container = pod["containers"][0]
    assert (pod["hostPID"], pod["hostIPC"], pod["restartPolicy"]) == (True, True, "Never")
    assert container["image"] == "nvidia/samples:nbody"
    assert (container["command"], container["args"]) == (["/tmp/nbody"], ["-benchmark", "-i=1000"])
    assert environment(pod) == {"NVIDIA_VISIBLE_DEVICES": "0"}
    assert "resources" not in container
    assert "volumes" not in pod
    [job] = resolved(edge(jobs={"cuda-sample1": {"deployment": "job.yaml"}}))[0].jobs.values()
    assert kubernetes_jobs.manifest(job, "x")["spec"]["backoffLimit"] == 1


def test_the_documents_fragment_gives_a_job_its_percentage_beside_what_the_stack_file_says() -> None:
    jobs = {"app": {"deployment": "fragment.yaml", "image": "a/b:1", "visible_devices": "0"}}
    settings = edge(sharing={"strategy": "mps"}, jobs=jobs)
    assert environment(pods(settings)["app"])["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] == "20"
    assert [problem.path for problem in warnings(settings)] == ["fragment.yaml:1"]


def test_a_file_that_names_a_secret_asks_for_it_in_the_stack_file() -> None:
    files = {"secret.yaml": "image: a/b:1\nenv:\n- {name: DB_PASSWORD, value: hunter2}\n"}
    job: Any = {"deployment": "secret.yaml"}
    _, [problem] = resolve("box", edge(jobs={"app": job}), CONTEXT, files.__getitem__)
    assert problem.path == "edges.box.jobs.app.secret_environment.DB_PASSWORD"
    assert "hunter2" not in str(problem)
    given: Any = {"app": {**job, "secret_environment": {"DB_PASSWORD": "x"}}}
    assert resolve("box", edge(jobs=given), CONTEXT, files.__getitem__)[1] == []


def test_a_file_of_several_jobs_needs_the_name_of_one_of_them() -> None:
    files = {"jobs.yaml": f"{COMPANION}---\n{COMPANION.replace('cuda-sample1', 'cuda-sample2')}"}
    _, problems = resolve("box", edge(jobs={"other": {"deployment": "jobs.yaml"}}), CONTEXT, files.__getitem__)
    [several] = [problem for problem in problems if problem.path == "edges.box.jobs.other.deployment"]
    assert several.allowed == "cuda-sample1, cuda-sample2"


def test_a_cluster_that_doesnt_answer_is_one_more_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str, str]] = []

    def answer(kubeconfig: str, context: str, path: str) -> Problem:
        asked.append((kubeconfig, context, path))
        return Problem(path=path, message="doesn't answer")

    monkeypatch.setattr(api_server, "answer_problem", answer)
    assert [problem.message for problem in unanswered(resolved(edge())[0])] == ["doesn't answer"]
    assert asked == [(KUBECONFIG, "device", "edges.box.kubeconfig")]


def test_a_workload_without_a_login_at_the_registry_is_warned_about_and_without_a_registry_refused() -> None:
    jobs: Any = {"app": {"workload": "mnist"}}
    [warning] = warnings(edge(jobs=jobs))
    assert warning.path == "edges.box.jobs.app.workload"
    args: Any = {**edge(jobs=jobs), "stack": STACK_ARGS, "resource_group_name": "group"}
    with pytest.raises(Refused) as refused:
        declare(lambda: EdgeSharing("box", Wired(args)))
    assert [problem.path for problem in refused.value.problems] == ["edges.box.jobs.app.workload"]
