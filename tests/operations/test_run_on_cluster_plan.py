"""Where the Job of a run on a cluster goes, and how it is started. What is sent is recorded in `sent/cluster.yaml`."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations.clusters.arm_facts import pool_of
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import JobSeen, Taint, node_of
from azure_gpu_operations.clusters.targets import ClusterTarget
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.exit_codes import TIMED_OUT
from azure_gpu_operations.run import options as run_options
from azure_gpu_operations.run.carried import Files
from azure_gpu_operations.run.context import of_script
from azure_gpu_operations.run.on_cluster import outcome, plan, run
from azure_gpu_operations.run.on_cluster.follow import End
from azure_gpu_operations.run.on_cluster.outcome import GROUP, JOB
from azure_gpu_operations.run.on_cluster.placing import Placement, on_aks, on_edge
from azure_gpu_operations.run.on_cluster.request import ClusterRequest, check, resolve
from azure_gpu_operations.run.protocol import Output, WrongRunError
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.stack_view import StackView
from tests.operations import kubernetes_bodies as bodies
from tests.operations.yaml_tables import made

IMAGE = "r.azurecr.io/mnist:1"
VIEW = StackView("dev", Connection("s"), registry="/r")
GPU = Placement("nvidia.com/gpu", 1, "t4", (Taint("sku", "gpu", "NoSchedule"),))
FILES = Files(outputs=("out",))
ROWS = yaml.load((Path(__file__).parent / "placed.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)["rows"]


def wanted(**said: Any) -> ClusterRequest:
    target = Target(image=IMAGE, environment=said.pop("environment", {}), secrets=said.pop("secrets", {}))
    return ClusterRequest(said.pop("target", target), **said)


def messages(problems: list[Problem]) -> list[str]:
    return [f"{each.path}: {each.message}" for each in problems]


def _made(job: dict[str, Any]) -> dict[str, Any]:
    """As the API server answers it."""
    return {**job, "metadata": {**job["metadata"], "uid": "u1"}}


@pytest.mark.parametrize("name", ROWS)
def test_a_run_goes_where_its_row_says(name: str) -> None:
    row = ROWS[name]
    asked = wanted(**row.get("asked", {}))
    if "on_edge" in row:
        found, problems = on_edge(asked, [node_of(bodies.node(**each)) for each in row["on_edge"]])
    else:
        pools = [pool_of(bodies.pool(**each)) for each in row.get("pools", ())]
        found, problems = on_aks(asked, pools, [node_of(bodies.node(**each)) for each in row.get("nodes", ())])
    assert messages(problems) == row.get("problems", [])
    assert "allowed" not in row or [[each.value, each.allowed] for each in problems] == [row["allowed"]]
    assert "placed" not in row or found == made(Placement, row["placed"])


@pytest.mark.parametrize(
    ("files", "namespace", "known", "is_refused"),
    [
        (FILES, "jobs", {"gpu": "jobs"}, False),
        (FILES, "others", {"gpu": "jobs"}, True),
        (Files(), "others", {"gpu": "jobs"}, False),
        (FILES, "default", {}, False),
    ],
    ids=["the stack's", "another", "without files", "none is known"],
)
def test_files_go_with_pods_of_the_stacks_namespace_only(
    files: Files, namespace: str, known: dict[str, str], is_refused: bool
) -> None:
    problems = check(VIEW._replace(namespaces=known), ClusterTarget("gpu", "/c", namespace=namespace), wanted(files=files))
    assert [each.path for each in problems] == ["--namespace"] * is_refused
    assert all("allowed: jobs" in str(each) for each in problems)


class Cluster:
    """ARM and the cluster's API, as far as a pod's identity is asked there."""

    def __init__(self, account: dict[str, Any] | None, *, enabled: bool = True, status: int = 0) -> None:
        self.account, self.enabled, self.status = account, enabled, status
        self.asked = ""

    def arm(self) -> Any:
        body = {"properties": {"securityProfile": {"workloadIdentity": {"enabled": self.enabled}}}}
        return SimpleNamespace(get=lambda *_: body)

    def get(self, path: str) -> dict[str, Any] | None:
        self.asked = path
        if self.status:
            raise ClusterError("no", status=self.status)
        return self.account


ANNOTATED = {"metadata": {"annotations": {"azure.workload.identity/client-id": "client"}}}


def client_id(cluster: Cluster, files: Files = FILES) -> str:
    place = ClusterTarget("gpu", "/c", namespace="jobs")
    return run._identity(cluster.arm(), cast(Any, cluster), place, files)


class Started:
    """A cluster's API that takes what is sent, and what it was sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.deleted: list[str] = []

    def delete(self, path: str) -> None:
        self.deleted.append(path)

    def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.sent.append((path, body))
        return _made(body)

    def merge(self, path: str, patch: dict[str, Any]) -> None:
        self.sent.append((path, patch))


@pytest.mark.parametrize(("queue", "starts"), [("", True), ("vision", False)])
@pytest.mark.parametrize("nodes", [1, 2])
def test_a_job_with_a_secret_starts_when_that_is_there_and_one_in_a_queue_when_its_queue_says_so(
    queue: str, starts: bool, nodes: int
) -> None:
    cluster, asked = Started(), wanted(secrets={"TOKEN": "hidden"}, queue=queue, nodes=nodes)
    body = plan.job("run-x", "jobs", "dev", IMAGE, asked, GPU)
    quiet = Output(*[lambda _: None] * 3)
    place = ClusterTarget("gpu", "/c", namespace="jobs")
    run.ClusterRun("dev", "gpu", quiet, asked, cast(Any, cluster), place, JOB, name="run-x", body=body).start()
    assert [sent["kind"] for _, sent in cluster.sent if "kind" in sent] == [body["kind"], "Secret"]
    assert body["spec"]["suspend"] is True
    assert (cluster.sent[-1][1] == {"spec": {"suspend": False}}) is starts


def test_a_group_that_is_there_still_when_its_time_is_over_is_removed() -> None:
    cluster, asked = Started(), wanted(nodes=2, timeout_minutes=5)
    body = plan.job("run-x", "jobs", "dev", IMAGE, asked, GPU)
    place = ClusterTarget("gpu", "/c", namespace="jobs")
    quiet = Output(*[lambda _: None] * 3)
    one = run.ClusterRun("dev", "gpu", quiet, asked, cast(Any, cluster), place, GROUP, name="run-x", body=body)
    late = End(JobSeen("run-x", "jobs", failure=outcome.DEADLINE), is_late=True)
    one._follower = cast(Any, SimpleNamespace(follow=lambda: late))
    assert one.follow().code == TIMED_OUT
    one.settle()
    assert cluster.deleted == ["/apis/jobset.x-k8s.io/v1alpha2/namespaces/jobs/jobsets/run-x"]


def test_files_go_as_the_identity_that_the_service_account_names() -> None:
    cluster = Cluster(ANNOTATED)
    assert client_id(cluster) == "client"
    assert cluster.asked == "/api/v1/namespaces/jobs/serviceaccounts/stack-identity"
    assert client_id(Cluster(None, status=403)) == ""
    with pytest.raises(ClusterError):
        client_id(Cluster(None, status=500))


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        (Cluster(None), "the namespace jobs has no service account stack-identity"),
        (Cluster({"metadata": {}}), "the namespace jobs has no service account stack-identity"),
        (Cluster(ANNOTATED, enabled=False), "workload identity is off"),
    ],
    ids=["no account", "somebody's account", "no webhook"],
)
def test_a_cluster_whose_pods_have_no_identity_is_refused_with_the_fix(cluster: Cluster, said: str) -> None:
    with pytest.raises(WrongRunError) as refused:
        client_id(cluster, Files(outputs=("out",)))
    [problem] = refused.value.problems
    assert problem.path == "--output"
    assert said in problem.message
    assert "run `pulumi up`" in problem.fix


def test_what_shows_without_asking_anybody_is_said_at_once() -> None:
    context = Target(context=of_script("train.py", "", "", "python:3.11-slim"))
    _, problems = resolve(run_options.parsed(["--on", "edge", "--pool", "t4", "--namespace", "Jobs"]), context, None)
    assert messages(problems) == ["--pool: an edge has no pools", "--namespace: not a valid Kubernetes name"]


def test_a_group_sets_the_variables_by_which_its_workers_know_each_other() -> None:
    told = Target(image=IMAGE, environment={"WORKER_INDEX": "1"}, secrets={"TF_CONFIG": "{}"})
    assert [each.path for each in resolve(run_options.parsed(["--on", "aks", "--nodes", "2"]), told, None)[1]] == [
        "--env",
        "--secret-env",
    ]
    assert resolve(run_options.parsed(["--on", "aks"]), told, None)[1] == []
