"""What works on a stack's cluster: runs of `run`, there and on an edge, with `explain` and `running`; the scoring
server as a Deployment; service accounts that speak as identities. One stack; the cluster goes while it is stopped."""

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from kubernetes.client import CoreV1Api
from kubernetes.stream import stream

from azure_gpu.catalog.services.aks.workload_identity import AUDIENCE, SERVICE_ACCOUNT, SERVING_ACCOUNT
from azure_gpu_operations.clusters import connect
from azure_gpu_operations.clusters.api import ClusterApi
from localazure.entra.federation import ASSERTION_TYPE
from tests.stack.attached_runs import carries_files, is_followed_and_stopped
from tests.support.embedded import CHECKOUT, ServedAzure, until
from tests.support.patience import SECONDS
from tests.support.stack import ProgramStack
from tests.workloads.conftest import scoring_models, scoring_python

__all__ = ["scoring_models", "scoring_python"]
pytestmark = pytest.mark.slow
Kubectl = Callable[..., str]
GPU = "Standard_NC4as_T4_v3"
GO = "/tmp/go"  # in a container
VERSION = "2025-09-01"
IDENTITIES = "2024-11-30"
FOUNDATION = ["resource_group", "identity", "serving_identity", "registry", "log_workspace", "storage"]
# A pod here is told another port than it asks for, and a path from the root would be one of its own.
START = 'AZUREML_MODEL_DIR="/$MODEL" exec python serve.py --port "$PORT"'
CONFIG: dict[str, Any] = {
    "team": "tests",
    "location": "eastus",
    "foundation": dict.fromkeys(FOUNDATION, "create"),
    "clusters": {
        "gpu": {
            "gpu_pools": {"t4": {"size": GPU, "max_nodes": 1}, "cheap": {"size": GPU, "max_nodes": 1, "spot": {}}},
            "namespace": {"name": "gpu-jobs", "max_gpus": 8},
            "expires_after": "2999-01-01",
        }
    },
    "ml_workspace": "create",
}
SCRIPT = """\
import os, pathlib, sys, time
print("arguments", *sys.argv[1:], flush=True)
print("colour", os.environ.get("COLOUR"), "secret", len(os.environ.get("TOKEN", "")), flush=True)
print("GPU", os.environ["NVIDIA_VISIBLE_DEVICES"].partition("-")[0], flush=True)
print("said as an error", file=sys.stderr, flush=True)
if os.environ.get("UNTIL"):
    while not pathlib.Path(os.environ["UNTIL"]).exists():
        time.sleep(0.05)
sys.exit(int(os.environ.get("CODE", "0")))
"""
PAGE_JOB = (Path(__file__).parent / "page_job.yaml").read_text(encoding="utf-8")
WHO = """\
import os, pathlib
assert pathlib.Path(os.environ["AZURE_FEDERATED_TOKEN_FILE"]).is_file()
pathlib.Path("who.txt").write_text(os.environ["AZURE_CLIENT_ID"])
"""


def with_scoring(azure: ServedAzure, model: Path) -> dict[str, Any]:
    """Programs share this machine's files, so that the model is where it was made; on Azure it is fetched or in the image."""
    service: dict[str, Any] = {
        "workload": "scoring",
        "command": ["/bin/sh", "-c", START],
        "environment": {"MODEL": str(model).removeprefix("/"), "PORT": "5001", "WORKER_COUNT": "1"},
        "gpus": 0,
        "cpu": 0.5,
        "autoscale": {"max": 2},
        "probes": {"period_seconds": 1},
    }
    clusters = {"gpu": {**CONFIG["clusters"]["gpu"], "services": {"rows": service}}}
    return {**CONFIG, "image_source": f"{azure.url}/checkout.git#HEAD", "clusters": clusters}


@pytest.fixture(scope="module")
def stack(azure: ServedAzure, kubernetes_bin: Path, engine_bin: Path, scoring_models: Path) -> Iterator[ProgramStack]:
    """One stack with a cluster for all tests here. It goes while the cluster is stopped: nobody waits for one that is dead."""
    made = ProgramStack(azure, "aks", with_scoring(azure, scoring_models / "rows"), engine_bin=engine_bin)
    made.environment["PATH"] = f"{kubernetes_bin}:{made.environment['PATH']}"
    done = made.up()
    assert done.returncode == 0, done.stdout + done.stderr
    cluster_id = made.outputs()["clusters"]["gpu"]
    yield made
    stopped = azure.post(f"{cluster_id}/stop", VERSION)
    assert stopped.status_code in (200, 202), stopped.text
    until(lambda: _power(azure, cluster_id) == "Stopped", "the cluster is stopped")
    explained = made.operations("explain", "gpu")
    down = made.down()
    assert down.returncode == 0, down.stdout + down.stderr
    assert azure.get(cluster_id, VERSION).status_code == 404
    assert explained.returncode == 1
    assert f"start it: az aks start --ids {cluster_id}" in explained.stdout


def _power(azure: ServedAzure, cluster_id: str) -> str:
    return azure.get(cluster_id, VERSION).json()["properties"]["powerState"]["code"]


@pytest.fixture
def kubeconfig(stack: ProgramStack) -> Path:
    """An administrator's, as the owner of an edge has one."""
    found = (stack.azure.state / "clusters").glob("*/admin.kubeconfig")
    return max(found, key=lambda file: file.stat().st_mtime)  # clusters of other tests' stacks leave theirs


@pytest.fixture
def kubectl(kubernetes_bin: Path, kubeconfig: Path) -> Kubectl:
    def run(*words: str, namespace: str = "gpu-jobs", given: str = "") -> str:
        line = [str(kubernetes_bin / "kubectl"), "--kubeconfig", str(kubeconfig), "--namespace", namespace, *words]
        done = subprocess.run(line, input=given, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def api(kubeconfig: Path) -> Iterator[ClusterApi]:
    with closing(connect.of_file(kubeconfig)[0]) as found:
        yield found


def run(stack: ProgramStack, *words: str, on: str = "aks", **environment: str) -> "subprocess.CompletedProcess[str]":
    done = stack.operations("run", "--on", on, *words, **environment)
    assert "Traceback" not in done.stderr, done.stderr
    return done


class Running:
    """A run that goes on, with its lines as they come."""

    def __init__(self, stack: ProgramStack, *words: str) -> None:
        self.process = subprocess.Popen(
            stack.line("run", "--on", "aks", *words),
            cwd=CHECKOUT,
            env=stack.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.shown: list[str] = []
        self.said: list[str] = []
        self.threads = [
            threading.Thread(target=lambda kept, stream: kept.extend(stream), args=each, daemon=True)
            for each in ((self.shown, self.process.stdout), (self.said, self.process.stderr))
        ]
        for thread in self.threads:
            thread.start()

    def until_shown(self, text: str) -> None:
        until(lambda: any(text in line for line in self.shown) or self._over(), f"{text} is shown")
        assert any(text in line for line in self.shown), "".join(self.said)

    def _over(self) -> bool:
        return self.process.poll() is not None

    def end(self) -> tuple[int, str]:
        code = self.process.wait(SECONDS)
        for thread in self.threads:
            thread.join()
        return code, "".join(self.said)


def let_go(api: ClusterApi) -> None:
    """Ends the scripts that wait for a file, which is one of their own container's."""
    for pod in api.items("/api/v1/namespaces/gpu-jobs/pods", labelSelector="azure-gpu/run"):
        if pod["status"]["phase"] == "Running":
            into = (CoreV1Api(api._client).connect_get_namespaced_pod_exec, pod["metadata"]["name"], "gpu-jobs")
            stream(*into, container="main", command=["touch", GO], stdin=False, stdout=True, stderr=True, tty=False)


def job_of(said: str) -> str:
    """The job's name, as `run` has said it."""
    return said.partition(": job ")[2].split()[0]


def test_a_script_runs_on_a_gpu_of_a_pool_that_had_no_node_and_leaves_nothing(
    stack: ProgramStack, script: Path, api: ClusterApi
) -> None:
    options = ["--pool", "t4", "--env", "COLOUR=red", "--secret-env", "TOKEN"]
    done = run(stack, str(script), *options, "--", "--epochs", "3", TOKEN="hidden-value")
    assert done.returncode == 0, done.stdout + done.stderr
    shown = done.stdout.splitlines()
    assert shown[:3] == ["arguments --epochs 3", "colour red secret 12", "GPU GPU"]
    assert "said as an error" in shown  # Kubernetes keeps both in one log
    assert "hidden-value" not in done.stderr
    assert "started my script.py on cluster gpu, pool t4" in done.stderr
    assert "gpu: succeeded, exit code 0; " in done.stderr
    assert "for its node at 0.526 USD/hour" in done.stderr
    name = job_of(done.stderr)
    assert api.get(f"/apis/batch/v1/namespaces/gpu-jobs/jobs/{name}") is None
    until(lambda: api.get(f"/api/v1/namespaces/gpu-jobs/secrets/{name}") is None, "the run's Secret goes with its Job")


def test_a_script_that_fails_gives_its_exit_code_and_is_explained_with_its_last_lines(stack: ProgramStack, script: Path) -> None:
    done = run(stack, str(script), "--gpus", "0", "--env", "CODE=7")
    assert done.returncode == 7, done.stdout + done.stderr
    assert "GPU void" in done.stdout
    explained = stack.operations("explain", job_of(done.stderr))
    assert explained.returncode == 1, explained.stdout + explained.stderr
    assert "program error" in explained.stdout
    assert "ended with exit code 7" in explained.stdout
    assert "    said as an error" in explained.stdout


def test_what_runs_and_what_it_costs(stack: ProgramStack, script: Path, api: ClusterApi) -> None:
    running = Running(stack, str(script), "--pool", "t4", "--env", f"UNTIL={GO}")
    running.until_shown("arguments")
    rows = {row["name"]: row for row in json.loads(stack.operations("running", "--json").stdout)["running"]}
    name = next(each for each in rows if each.startswith("gpu/run-my-script-"))
    assert rows["gpu/t4"]["usd_hour"] == 0.526
    assert rows["gpu/t4"]["state"].startswith(f"1 node of {GPU}")
    assert rows["gpu"]["kind"] == "AKS cluster"
    assert rows[name]["kind"] == "Kubernetes Job"
    assert rows[name]["state"].startswith("running on aks-")

    let_go(api)
    code, said = running.end()
    assert code == 0, said
    explained = stack.operations("explain", "gpu/t4")
    assert explained.returncode == 0, explained.stdout + explained.stderr


def test_a_spot_node_that_is_taken_away_costs_the_run_no_more_than_its_time(
    stack: ProgramStack, script: Path, api: ClusterApi
) -> None:
    running = Running(stack, str(script), "--pool", "cheap", "--env", f"UNTIL={GO}")
    running.until_shown("arguments")
    cluster = stack.outputs()["clusters"]["gpu"].rsplit("/", 1)[-1]
    done = stack.azure.command("fault", "evict", f"{cluster}/{stack.outputs()['gpu_pools']['gpu']['cheap']['name']}")
    assert done.returncode == 0, done.stdout + done.stderr
    until(lambda: any("was evicted" in line for line in running.said), "the eviction is told")
    until(lambda: len([line for line in running.shown if "arguments" in line]) == 2, "another pod runs")
    let_go(api)
    code, said = running.end()
    assert code == 0, said
    assert ", a Spot node; the job restarts in another pod" in said


def test_an_edge_is_a_cluster_by_its_kubeconfig_and_gives_a_gpu_by_a_variable(
    stack: ProgramStack, script: Path, kubeconfig: Path
) -> None:
    options = ["--kubeconfig", str(kubeconfig), "--namespace", "gpu-jobs", "--env", "NVIDIA_VISIBLE_DEVICES=none"]
    done = run(stack, str(script), *options, "--env", "CODE=3", on="edge")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "cost isn't known" in done.stderr or "USD" in done.stderr
    refused = run(stack, str(script), *options[:2], "--namespace", "not-there", on="edge")
    assert refused.returncode == 2
    assert "has no namespace of this name" in refused.stderr


def test_a_run_that_was_left_is_followed_and_stopped_by_its_name(stack: ProgramStack, tmp_path: Path) -> None:
    is_followed_and_stopped(stack, tmp_path, "--on", "aks", "--gpus", "0")


def test_files_go_with_a_run_as_the_stacks_identity_and_come_back(stack: ProgramStack, tmp_path: Path, api: ClusterApi) -> None:
    carries_files(stack, tmp_path, "--on", "aks", "--gpus", "0")
    (tmp_path / "who.py").write_text(WHO)
    done = run(stack, str(tmp_path / "who.py"), "--gpus", "0", "--output", "who.txt", "--into", str(tmp_path / "who"))
    assert done.returncode == 0, done.stdout + done.stderr
    account = api.get("/api/v1/namespaces/gpu-jobs/serviceaccounts/stack-identity")
    assert account is not None
    assert (tmp_path / "who" / "who.txt").read_text() == account["metadata"]["annotations"]["azure.workload.identity/client-id"]
    blob = f"{stack.outputs()['storage']}/providers/Microsoft.Authorization/roleAssignments"
    assert any(
        "ba92f5b4" in each["properties"]["roleDefinitionId"] for each in stack.azure.get(blob, "2022-04-01").json()["value"]
    )


def test_the_pages_own_job_trains_on_a_gpu_node(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", namespace="default", given=PAGE_JOB)
    kubectl("wait", "--for=condition=complete", "job/samples-tf-mnist-demo", f"--timeout={SECONDS}s", namespace="default")
    log = kubectl("logs", "job/samples-tf-mnist-demo", namespace="default")
    assert "Accuracy at step 10: " in log
    assert json.loads(log.splitlines()[-1])["steps"] == 20
    kubectl("delete", "job", "samples-tf-mnist-demo", namespace="default")


# What `run` makes of a time limit, a Ctrl-C and an image that nobody has is in test_run_protocol and in rows of
# operations/followed and operations/explained; what Kubernetes does then in localazure/kubernetes/test_pods_on_nodes.


def test_a_scoring_server_is_up_when_its_pods_answer_and_nothing_is_left_to_do(stack: ProgramStack, kubectl: Kubectl) -> None:
    deployment = json.loads(kubectl("get", "deployment", "rows", "--output", "json"))
    assert deployment["status"]["readyReplicas"] == 1
    assert stack.steps() == []


def test_a_scoring_server_has_a_budget_for_drains_and_an_autoscaler(kubectl: Kubectl) -> None:
    budget = json.loads(kubectl("get", "poddisruptionbudget", "rows", "--output", "json"))
    assert (budget["spec"]["maxUnavailable"], budget["status"]["expectedPods"]) == (1, 1)
    scaler = json.loads(kubectl("get", "horizontalpodautoscaler", "rows", "--output", "json"))
    assert (scaler["spec"]["minReplicas"], scaler["spec"]["maxReplicas"]) == (1, 2)
    assert scaler["spec"]["scaleTargetRef"]["name"] == "rows"


def test_a_pod_answers_with_its_scores(kubectl: Kubectl) -> None:
    asking = "import json,os,urllib.request as u; r=u.Request('http://127.0.0.1:'+os.environ['PORT']+'/score', json.dumps({'inputs': [[1, 2, 3]]}).encode(), {'Content-Type': 'application/json'}); print(u.urlopen(r).read().decode())"  # noqa: E501
    answered = json.loads(kubectl("exec", "deployment/rows", "--", "python", "-c", asking))
    assert answered["scores"] == [[2.0, 4.0, 6.0]]


class Account:
    """A service account of the cluster, which speaks as an identity."""

    def __init__(self, stack: ProgramStack, kubectl: Kubectl, name: str, identity: str) -> None:
        self._azure = stack.azure
        self._client_id = self._azure.get(stack.outputs()[identity], IDENTITIES).json()["properties"]["clientId"]
        self.assertion = kubectl("create", "token", name, "--audience", AUDIENCE).strip()

    def signs_on(self, assertion: str = "") -> httpx.Response:
        form = {
            "grant_type": "client_credentials",
            "client_id": self._client_id,
            "client_assertion": assertion or self.assertion,
            "client_assertion_type": ASSERTION_TYPE,
            "scope": "https://storage.azure.com/.default",
        }
        with self._azure.http() as client:
            return client.post(f"/{self._azure.tenant_id}/oauth2/v2.0/token", data=form)

    def blobs(self) -> httpx.Client:
        token = self.signs_on().json()["access_token"]
        return self._azure.http(headers={"Authorization": f"Bearer {token}", "x-ms-version": "2021-12-02"})


def test_a_service_account_that_serves_reads_a_model_and_writes_none(stack: ProgramStack, kubectl: Kubectl) -> None:
    trains = Account(stack, kubectl, SERVICE_ACCOUNT, "identity")
    serves = Account(stack, kubectl, SERVING_ACCOUNT, "serving_identity")
    account = stack.azure.get(stack.outputs()["storage"], "2024-01-01").json()["properties"]["primaryEndpoints"]["blob"]
    model, of_block = f"{account.rstrip('/')}/models/digits/1/model", {"x-ms-blob-type": "BlockBlob"}
    with trains.blobs() as writer, serves.blobs() as reader:
        assert writer.put(model, content=b"weights", headers=of_block).status_code == 201
        assert reader.get(model).content == b"weights"
        for refused in (reader.put(model, content=b"others", headers=of_block), reader.delete(model)):
            assert refused.status_code == 403
            assert refused.headers["x-ms-error-code"] == "AuthorizationPermissionMismatch"
        assert reader.get(model).content == b"weights"
    assert trains.signs_on(serves.assertion).json()["error_codes"] == [700213]  # no credential has it as its subject
