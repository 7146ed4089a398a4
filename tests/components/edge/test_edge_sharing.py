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
from azure_gpu.edge.spec import EdgeSharingSpec, announcement
from azure_gpu.formats.stack_file import SECRET
from azure_gpu.kubernetes import api_server, jobs as kubernetes_jobs
from azure_gpu.shared.context import resolve_stack
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.wired import Wired
from tests.components.recording import PROJECT, STACK, declare, readable
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
BOTH = {"gpu_count": 2}


def edge(**more: Any) -> EdgeSharingSettings:
    return args_of(EdgeSharingSettings, {"kubeconfig": KUBECONFIG, "namespace": "work"}, more)


def resolved(settings: EdgeSharingSettings) -> tuple[EdgeSharingSpec, list[Problem]]:
    return resolve("box", settings, CONTEXT, FILES.__getitem__)


def refusals(settings: EdgeSharingSettings) -> list[Problem]:
    return [problem for problem in resolved(settings)[1] if problem.severity is Severity.ERROR]


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


def test_jobs_see_one_gpu_the_other_or_none_and_never_all() -> None:
    jobs = {
        "one": {"image": "a/b:1", "visible_devices": "0"},
        "with-it": {"image": "a/b:1", "visible_devices": "0"},
        "other": {"image": "a/b:1", "visible_devices": "1"},
        "silent": {"image": "a/b:1"},
    }
    seen = {name: environment(pod) for name, pod in pods(edge(device=BOTH, jobs=jobs)).items()}
    assert seen == {
        "one": {"NVIDIA_VISIBLE_DEVICES": "0"},
        "with-it": {"NVIDIA_VISIBLE_DEVICES": "0"},
        "other": {"NVIDIA_VISIBLE_DEVICES": "1"},
        "silent": {"NVIDIA_VISIBLE_DEVICES": "none"},
    }


def test_with_mps_a_job_has_its_share_and_reaches_the_service_through_the_host() -> None:
    jobs = {"half": {"image": "a/b:1", "visible_devices": "0", "active_thread_percentage": 20}, "none": {"image": "a/b:1"}}
    found = pods(edge(sharing={"strategy": "mps"}, device=BOTH, jobs=jobs))
    assert environment(found["half"]) == {"NVIDIA_VISIBLE_DEVICES": "0", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "20"}
    assert (found["half"]["hostIPC"], found["half"]["hostPID"]) == (True, True)
    assert "hostIPC" not in found["none"]
    assert environment(found["none"]) == {"NVIDIA_VISIBLE_DEVICES": "none"}


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


def test_what_the_stack_file_says_comes_before_the_file() -> None:
    job = {"deployment": "job.yaml", "visible_devices": "1", "workload": "mnist", "command": ["python"], "host_pid": False}
    spec, _ = resolved(edge(device=BOTH, jobs={"train": job}))
    settings = spec.settings["train"]
    assert settings.get("visible_devices") == "1"
    assert "image" not in settings
    assert "args" not in settings
    assert (settings.get("host_ipc"), settings.get("host_pid")) == (True, False)


@pytest.mark.parametrize(
    ("device", "job", "part"),
    [
        (BOTH, {"visible_devices": "0,1"}, "one GPU at most"),
        (BOTH, {"visible_devices": "all"}, "one GPU at most"),
        (BOTH, {"visible_devices": "0.5"}, "fractions need MPS"),
        ({}, {"visible_devices": "1"}, "the device's Kubernetes has 1"),
        ({"gpu_count": 2, "gpu_vms": 1}, {"visible_devices": "1"}, "the device's Kubernetes has 1"),
    ],
    ids=["two", "all", "half", "second-of-one", "second-of-two-with-a-machine"],
)
def test_a_job_on_two_gpus_on_a_part_or_on_one_that_isnt_there_is_refused(device: Any, job: Any, part: str) -> None:
    [problem] = refusals(edge(device=device, jobs={"train": {"image": "a/b:1", **job}}))
    assert problem.path == "edges.box.jobs.train.visible_devices"
    assert part in problem.message


@pytest.mark.parametrize(
    ("device", "path"),
    [
        ({"gpu_count": 3}, "gpu_count"),
        ({"gpu_count": 1, "gpu_vms": 2}, "gpu_vms"),
        ({"gpu_count": 2, "gpu_vms": 1, "kubernetes_first": True}, "kubernetes_first"),
        ({"gpu": "V100"}, "gpu"),
        ({"managed_iot_edge": True}, "managed_iot_edge"),
        ({"model": "Pro FPGA", "gpu": "T4"}, "model"),
    ],
    ids=["three-gpus", "more-machines-than-gpus", "kubernetes-first", "v100", "iot-edge", "fpga"],
)
def test_a_device_that_there_isnt_is_refused(device: Any, path: str) -> None:
    assert f"edges.box.device.{path}" in [problem.path for problem in refusals(edge(device=device))]


def test_a_cluster_that_is_no_device_has_as_many_gpus_as_jobs_name() -> None:
    assert refusals(edge(jobs={"train": {"image": "a/b:1", "visible_devices": "7"}})) == []
    [problem] = refusals(edge(jobs={"train": {"image": "a/b:1", "visible_devices": "seven"}}))
    assert problem.path == "edges.box.jobs.train.visible_devices"


@pytest.mark.parametrize(
    ("sharing", "path", "part"),
    [
        ({"strategy": "time-slicing", "replicas": 4}, "sharing.strategy", "only by NVIDIA_VISIBLE_DEVICES, with or without MPS"),
        ({"strategy": "mig", "profile": "MIG1g"}, "sharing.strategy", "only by NVIDIA_VISIBLE_DEVICES, with or without MPS"),
        ({"strategy": "mps", "replicas": 2}, "sharing.replicas", "each job sets its share"),
        ({"active_thread_percentage": 20}, "sharing.active_thread_percentage", "only MPS"),
    ],
    ids=["time-slicing", "mig", "replicas", "fraction-without-mps"],
)
def test_a_way_of_sharing_that_a_device_hasnt_is_refused_once(sharing: Any, path: str, part: str) -> None:
    [problem] = refusals(edge(sharing=sharing))
    assert problem.path == f"edges.box.{path}"
    assert part in problem.message


@pytest.mark.parametrize(
    ("job", "strategy", "path"),
    [
        ({"visible_devices": "0", "active_thread_percentage": 20}, "none", "active_thread_percentage"),
        ({"visible_devices": "0", "active_thread_percentage": 101}, "mps", "active_thread_percentage"),
        ({"active_thread_percentage": 20}, "mps", "active_thread_percentage"),
        ({"visible_devices": "0", "pinned_memory_limit": "4GB"}, "mps", "pinned_memory_limit"),
        ({"environment": {"NVIDIA_VISIBLE_DEVICES": "all"}}, "none", "environment.NVIDIA_VISIBLE_DEVICES"),
        ({"secret_environment": {"NVIDIA_VISIBLE_DEVICES": "all"}}, "none", "secret_environment.NVIDIA_VISIBLE_DEVICES"),
    ],
    ids=["without-mps", "more-than-all", "without-a-gpu", "memory", "by-hand", "by-hand-in-secret"],
)
def test_a_share_that_a_job_cant_have_is_refused_once(job: Any, strategy: str, path: str) -> None:
    [problem] = refusals(edge(sharing={"strategy": strategy}, jobs={"train": {"image": "a/b:1", **job}}))
    assert problem.path == f"edges.box.jobs.train.{path}"


def test_more_than_all_of_a_gpu_is_warned_about_and_each_gpu_counts_alone() -> None:
    def jobs(second: str) -> Any:
        first = {"image": "a/b:1", "visible_devices": "0", "active_thread_percentage": 60}
        return {"one": first, "two": {**first, "visible_devices": second}}

    [warning] = warnings(edge(sharing={"strategy": "mps"}, device=BOTH, jobs=jobs("0")))
    assert "120 %" in warning.message
    assert warnings(edge(sharing={"strategy": "mps"}, device=BOTH, jobs=jobs("1"))) == []
    by_default = edge(
        sharing={"strategy": "mps", "active_thread_percentage": 60},
        jobs={name: {"image": "a/b:1", "visible_devices": "0"} for name in ("one", "two")},
    )
    assert any("120 %" in problem.message for problem in warnings(by_default))


@pytest.mark.parametrize(
    ("settings", "path", "part"),
    [
        ({"namespace": "work"}, "kubeconfig", "exactly one of kubeconfig and kubeconfig_file"),
        ({"namespace": "work", "kubeconfig": KUBECONFIG, "kubeconfig_file": "kubeconfig"}, "kubeconfig", "exactly one"),
        ({"namespace": "work", "kubeconfig_file": "gone"}, "kubeconfig_file", "can't be read"),
        ({"namespace": "work", "kubeconfig": "a-password"}, "kubeconfig", "not a kubeconfig"),
        ({"namespace": "work", "kubeconfig": KUBECONFIG, "context": "other"}, "kubeconfig", "'other'; it has 'device'"),
        ({"namespace": "Work", "kubeconfig": KUBECONFIG}, "namespace", "not a valid Kubernetes name"),
    ],
    ids=["none", "both", "no-file", "no-kubeconfig", "no-context", "bad-namespace"],
)
def test_a_cluster_that_isnt_said_right_is_refused_once(settings: Any, path: str, part: str) -> None:
    def read(file: str) -> str:
        if file not in FILES:
            raise FileNotFoundError(2, "No such file or directory")
        return FILES[file]

    _, [problem] = resolve("box", settings, CONTEXT, read)
    assert problem.path == f"edges.box.{path}"
    assert part in problem.message
    assert "a-password" not in str(problem)


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


def test_a_kubeconfig_that_cant_be_read_here_is_no_problem_and_nothing_is_asked() -> None:
    assert unanswered(resolved(edge(kubeconfig=SECRET))[0]) == []


def test_a_cluster_that_doesnt_answer_is_one_more_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str, str]] = []

    def answer(kubeconfig: str, context: str, path: str) -> Problem:
        asked.append((kubeconfig, context, path))
        return Problem(path=path, message="doesn't answer")

    monkeypatch.setattr(api_server, "answer_problem", answer)
    assert [problem.message for problem in unanswered(resolved(edge())[0])] == ["doesn't answer"]
    assert asked == [(KUBECONFIG, "device", "edges.box.kubeconfig")]


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_jobs_are_declared_with_the_devices_login_which_stays_secret(preview: bool) -> None:
    jobs: Any = {"train": {"image": "a/b:1", "visible_devices": "0"}, "app": {"workload": "mnist"}}
    pull: Any = {"server": "r.azurecr.io", "username": "edge", "password": "of-the-edge"}
    args: Any = {
        **edge(jobs=jobs, sharing={"strategy": "mps"}, pull_from=pull, create_namespace=True),
        "stack": STACK_ARGS,
        "resource_group_name": "group",
        "registry": {"name": "r", "server": "r.azurecr.io", "workload_images": {"mnist": "r.azurecr.io/mnist:1"}},
    }
    done = declare(lambda: EdgeSharing("box", Wired(args)), preview=preview)
    assert all(
        secret not in readable(each.wire) for each in done.registrations for secret in ("the-login-of-the-device", "of-the-edge")
    )
    provider = done.one("pulumi:providers:kubernetes")
    assert provider.inputs["clusterIdentifier"] == "https://device.example:6443"
    assert provider.inputs["context"] == "device"
    space = done.one("kubernetes:core/v1:Namespace")
    assert space.inputs["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    assert done.one("kubernetes:core/v1:Secret").inputs["metadata"] == {
        "name": "azure-gpu-registry",
        "namespace": "work",
        "labels": kubernetes_jobs.MANAGED_BY,
    }
    by_name = {each.name: each for each in done.of_type("kubernetes:batch/v1:Job")}
    assert {space.urn, done.one("kubernetes:core/v1:Secret").urn} <= set(by_name["box-job-train"].dependencies)
    pod = by_name["box-job-app"].inputs["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == "r.azurecr.io/mnist:1"
    assert pod["imagePullSecrets"] == [{"name": "azure-gpu-registry"}]
    [outputs] = [found for urn, found in done.outputs.items() if "EdgeSharing" in urn]
    assert outputs == {"namespace": "work", "context": "device", "jobs": {"train": "train", "app": "app"}}
    assert [line for line in done.log if "MPS" in line] == ([announcement(resolved(args)[0])] if preview else [])


def test_a_workload_without_a_login_at_the_registry_is_warned_about_and_without_a_registry_refused() -> None:
    jobs: Any = {"app": {"workload": "mnist"}}
    [warning] = warnings(edge(jobs=jobs))
    assert warning.path == "edges.box.jobs.app.workload"
    args: Any = {**edge(jobs=jobs), "stack": STACK_ARGS, "resource_group_name": "group"}
    with pytest.raises(Refused) as refused:
        declare(lambda: EdgeSharing("box", Wired(args)))
    assert [problem.path for problem in refused.value.problems] == ["edges.box.jobs.app.workload"]


def test_the_namespace_isnt_made_without_being_asked_for() -> None:
    args: Any = {**edge(jobs={"train": {"image": "a/b:1"}}), "stack": STACK_ARGS, "resource_group_name": "group"}
    done = declare(lambda: EdgeSharing("box", Wired(args)))
    assert done.of_type("kubernetes:core/v1:Namespace") == []
