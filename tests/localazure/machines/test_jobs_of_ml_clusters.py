"""Jobs of Azure ML on clusters that have no node until one waits: code, environment, inputs, log, outputs, ends and evictions."""

import asyncio
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from azure_gpu.catalog import roles
from localazure.arm.errors import ArmError
from localazure.machines import identity_tokens
from localazure.machines.ml_clusters import Clusters, Jobs
from localazure.machines.ml_job_run import Ended, Run
from localazure.machines.ml_jobs import JobRunner
from tests.localazure.conftest import new_group
from tests.localazure.coroutines import in_a_loop
from tests.support import ml_resources as ml
from tests.support.embedded import SECONDS, ServedAzure, until

ENDED = ("Completed", "Failed", "Canceled")


class World:
    """A workspace with an environment and inputs, and clusters as they are asked for."""

    def __init__(self, azure: ServedAzure) -> None:
        self.azure = azure
        group = new_group(azure)
        self.workspace = ml.put_workspace(azure, group)
        self.storage = azure.get(self.workspace, ml.ML).json()["properties"]["storageAccount"]
        self.account = self.storage.rsplit("/", 1)[1]
        self.identity = ml.put_identity(azure, group)
        self.environment = self.put("environments/python/versions/1", {"image": "python:3.11"})["id"]
        ml.give_role(azure, self.storage, roles.STORAGE_BLOB_DATA_CONTRIBUTOR, self.identity["properties"]["principalId"])
        for blob, content in (("data/one.csv", b"1"), ("data/two.csv", b"2")):
            ml.upload(azure, self.account, "things", blob, content)
        self.place = f"{azure.url}/blob/{self.account}/things"

    def put(self, below: str, properties: dict[str, Any]) -> dict[str, Any]:
        return ml.done(self.azure, self.azure.put(f"{self.workspace}/{below}", {"properties": properties}, ml.ML))

    def cluster(self, size: str = ml.T4, **inner: Any) -> str:
        path = f"{self.workspace}/computes/{ml.new_name('c')[:12]}"
        identity = {"type": "UserAssigned", "userAssignedIdentities": {self.identity["id"]: {}}}
        body = {**ml.cluster_body(size, **inner), "identity": identity}
        return ml.done(self.azure, self.azure.put(path, body, ml.ML))["id"]

    def nodes(self, cluster: str) -> dict[str, int]:
        shown = self.azure.get(cluster, ml.ML).json()["properties"]["properties"]
        return {name.removesuffix("NodeCount"): count for name, count in shown["nodeStateCounts"].items() if count}

    def try_job(self, cluster: str, command: str, **properties: Any) -> Any:
        given = {"jobType": "Command", "computeId": cluster, "environmentId": self.environment, "command": command, **properties}
        return self.azure.put(f"{self.workspace}/jobs/{ml.new_name('job')}", {"properties": given}, ml.ML)

    def job(self, cluster: str, command: str, **properties: Any) -> str:
        answer = self.try_job(cluster, command, **properties)
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    def status(self, job: str) -> str:
        return self.azure.get(job, ml.ML).json()["properties"]["status"]

    def until(self, job: str, *states: str) -> dict[str, Any]:
        until(lambda: self.status(job) in states, f"{job} is one of {states}")
        return self.azure.get(job, ml.ML).json()["properties"]

    def blob(self, container: str, path: str) -> str | None:
        headers = {
            "authorization": f"Bearer {self.azure.token('https://storage.azure.com/.default')}",
            "x-ms-version": "2023-11-03",
        }
        with self.azure.http(headers=headers) as client:
            answer = client.get(f"/blob/{self.account}/{container}/{path}")
        return answer.text if answer.status_code == 200 else None

    def log(self, job: str, file: str = "std_log.txt") -> str | None:
        return self.blob("azureml", f"ExperimentRun/dcid.{job.rsplit('/', 1)[1]}/user_logs/{file}")


@pytest.fixture(scope="module")
def world(served_azure: ServedAzure) -> World:
    return World(served_azure)


def test_a_job_has_its_inputs_and_leaves_its_outputs(world: World) -> None:
    cluster = world.cluster()
    assert world.nodes(cluster) == {}
    job = world.job(
        cluster,
        "cat ${{inputs.data}}/* > ${{outputs.model}}/all; mkdir outputs; echo ${{inputs.rate}} $A > outputs/rate; nvidia-smi -L",
        inputs={
            "data": {"jobInputType": "uri_folder", "uri": f"{world.place}/data"},
            "rate": {"jobInputType": "literal", "value": "0.1"},
        },
        outputs={"model": {"jobOutputType": "uri_folder", "uri": f"{world.place}/trained"}},
        environmentVariables={"A": "mine"},
    )
    ended = world.until(job, *ENDED)
    assert ended["status"] == "Completed", ended
    assert "GPU 0: Tesla T4 (UUID: GPU-" in str(world.log(job))
    assert world.blob("things", "trained/all") == "12"
    assert world.blob("azureml", f"ExperimentRun/dcid.{job.rsplit('/', 1)[1]}/outputs/rate") == "0.1 mine\n"
    until(lambda: world.nodes(cluster) == {"idle": 1}, "the node is free, and waits for another job")
    assert ended["properties"]["azureml.exitCode"] == "0"


def group_of(nodes: int) -> dict[str, Any]:
    return {
        "resources": {"instanceCount": nodes},
        "distribution": {"distributionType": "TensorFlow", "workerCount": nodes, "parameterServerCount": 0},
    }


def test_an_evicted_node_takes_the_jobs_other_nodes_along(world: World) -> None:
    cluster = world.cluster(vmPriority="LowPriority", scaleSettings={"minNodeCount": 0, "maxNodeCount": 2})
    job = world.job(cluster, "echo began $NODE_RANK; sleep 600", **group_of(2))
    began = world.until(job, "Running")["properties"]["StartTimeUtc"]
    node = world.azure.post(f"{cluster}/listNodes", ml.ML).json()["nodes"][1]["nodeId"]
    name = cluster.rsplit("/", 1)[1]
    for one in (f"{name}/{node}", name):  # a node, and then all of them
        evicted = world.azure.command("fault", "evict", one)
        assert evicted.returncode == 0, evicted.stderr
        until(lambda before=began: world.until(job, "Running")["properties"]["StartTimeUtc"] > before, "it runs again")
        began = world.until(job, "Running")["properties"]["StartTimeUtc"]
    until(lambda: world.log(job, "std_log_process_1.txt") == "began 1\n", "both began anew")
    world.azure.post(f"{job}/cancel", ml.ML)
    world.until(job, "Canceled")
    until(lambda: world.nodes(cluster) == {"idle": 2}, "both are free")


def test_a_full_cluster_lets_jobs_wait_and_idle_nodes_go(world: World) -> None:
    cluster = world.cluster(scaleSettings={"minNodeCount": 0, "maxNodeCount": 1, "nodeIdleTimeBeforeScaleDown": "PT1S"})
    first = world.job(cluster, "echo first; sleep 600")
    world.until(first, "Running")
    second = world.job(cluster, "echo second")
    assert world.status(second) == "Queued"
    (node,) = world.azure.post(f"{cluster}/listNodes", ml.ML).json()["nodes"]
    assert (node["nodeState"], node["runId"]) == ("running", first.lower())
    until(lambda: world.log(first) == "first\n", "the log is there while the job runs")
    assert world.azure.post(f"{first}/cancel", ml.ML).status_code == 200
    assert world.until(first, *ENDED)["status"] == "Canceled"
    assert world.until(second, *ENDED)["status"] == "Completed"
    until(lambda: world.nodes(cluster) == {}, "the idle node goes after its idle time")
    assert world.azure.get(cluster, ml.ML).json()["properties"]["properties"]["currentNodeCount"] == 0


def test_how_jobs_fail(world: World) -> None:
    cluster = world.cluster()
    ended = world.until(world.job(cluster, "echo to the end; exit 3"), *ENDED)
    assert (ended["status"], ended["properties"]["azureml.error.code"]) == ("Failed", "UserError")
    assert "exited with status code 3" in ended["properties"]["azureml.error.message"]
    late = world.until(world.job(cluster, "sleep 600", limits={"jobLimitsType": "Command", "timeout": "PT1S"}), *ENDED)
    assert late["status"] == "Canceled"
    assert "limits.timeout" in late["properties"]["azureml.error.message"]
    missing = {"data": {"jobInputType": "uri_folder", "uri": f"{world.place}/nothing"}}
    gone = world.until(world.job(cluster, "ls ${{inputs.data}}", inputs=missing), *ENDED)
    assert "has no blob at 'nothing'" in gone["properties"]["azureml.error.message"]
    assert "trial" in world.try_job(cluster, "true", jobType="Sweep").text


NOT_RUN: list[tuple[dict[str, Any], str]] = [
    ({"resources": {"instanceCount": 2}}, "jobs on more than one node without a distribution"),
    ({"distribution": {"distributionType": "Mpi"}}, "a distribution of the type 'Mpi'"),
    ({"distribution": {"distributionType": "TensorFlow", "parameterServerCount": 1}}, "parameter servers"),
    ({"distribution": {"distributionType": "TensorFlow", "workerCount": 2}}, "another number of workers than of nodes"),
    ({"identity": {"identityType": "UserIdentity"}}, "jobs with the identity of the user"),
    ({"inputs": {"x": {"jobInputType": "triton_thing", "uri": "azureml://x"}}}, "triton_thing"),
    ({"inputs": {"../x": {"jobInputType": "literal", "value": "1"}}}, "'../x' isn't a valid name of inputs"),
    ({"outputs": {"../x": {"jobOutputType": "uri_folder"}}}, "'../x' isn't a valid name of outputs"),
]


def test_what_isnt_run_is_refused_before_it_waits(tmp_path: Path) -> None:
    cluster = SimpleNamespace(properties={"computeType": "AmlCompute"})
    store: Any = SimpleNamespace(documents=lambda _: {}, get=lambda _: cluster)
    runner = JobRunner(cast(Any, SimpleNamespace(store=store)), store, store, tmp_path)
    wrong: dict[str, str] = {}
    for changed, what in NOT_RUN:
        with pytest.raises(ArmError) as refused:
            runner.check(cast(Any, SimpleNamespace(properties=changed)))
        if what not in refused.value.message:
            wrong[what] = refused.value.message
    assert wrong == {}


class Told:
    """What a runner needs of the embedded Azure, and one of its runs, whose container is canceled in the moment it starts."""

    def __init__(self, tmp_path: Path) -> None:
        nothing: Any = SimpleNamespace(documents=lambda _: {}, put_document=lambda *_: None, get=lambda _: None)
        services = SimpleNamespace(store=nothing, clock=SimpleNamespace(stamp=lambda: "now"))
        self.runner = JobRunner(cast(Any, services), nothing, nothing, tmp_path)
        self.job = SimpleNamespace(properties={})
        self.begun = 0
        self.runner._run_of = lambda job_key: cast(Any, self)

    def end_of(self, **kept: Any) -> str:
        self.runner._jobs["j"] = {"compute": "c", "secret": "s", "nodes": ["n"], "sent": [], "exit": None, "puts": [], **kept}
        asyncio.run(self.runner._on_node("j", taken_up=False))
        # pyrefly: ignore[bad-return]
        return self.runner._jobs["j"]["status"]

    async def prepared(self, *_: Any) -> tuple[list[Any], Any, list[Any]]:
        self.begun += 1
        return [object()], object(), []

    async def start(self, *_: Any) -> None:
        self.runner._jobs["j"]["status"] = "CancelRequested"

    async def followed(self, *_: Any) -> Ended:
        return Ended(137, stopped=True)

    async def put_out(self, puts: Any) -> None:
        assert not puts

    async def remove(self) -> None:
        pass


def test_a_job_that_is_canceled_while_its_container_starts_does_not_run_again(tmp_path: Path) -> None:
    assert Told(tmp_path).end_of(status="Preparing") == "Canceled"


def test_a_canceled_job_whose_container_goes_while_it_is_stopped_frees_its_node(tmp_path: Path) -> None:
    told, freed = Told(tmp_path), []
    told.runner._jobs["j"] = {"compute": "c", "secret": "s", "nodes": ["n"], "status": "Preparing", "sent": [], "exit": None}
    removing, removed = asyncio.Event(), asyncio.Event()

    async def stopped(group: str) -> None:
        await removing.wait()

    async def remove() -> None:
        removing.set()
        await removed.wait()

    told.runner._runtime.stop, told.remove = stopped, remove
    told.runner.clusters.free = lambda key, job: freed.append((key, job))

    async def canceled() -> None:
        told.runner._go("j", taken_up=False)
        run = told.runner._going["j"]
        await told.runner.cancel(cast(Any, SimpleNamespace(key="j")))
        removed.set()
        await asyncio.wait([run])

    asyncio.run(canceled())
    assert freed == [("c", "j")]
    assert told.runner._jobs["j"]["status"] == "Canceled"


@pytest.mark.parametrize(("code", "status"), [(0, "Completed"), (3, "Failed")])
def test_a_job_whose_server_was_killed_while_its_outputs_were_kept_does_not_run_again(
    tmp_path: Path, code: int, status: str
) -> None:
    told = Told(tmp_path)
    assert told.end_of(status="Finalizing", exit=code) == status
    assert told.begun == 0


def test_files_of_a_job_that_was_over_when_the_server_was_killed_go(tmp_path: Path) -> None:
    for name in ("over-secret", ".plain-root"):
        (tmp_path / "ml-job-files" / name).mkdir(parents=True)
    store = SimpleNamespace(documents=lambda _: {}, of_type=lambda _: [])
    services, machines = SimpleNamespace(store=store), SimpleNamespace(each_tick=lambda _: None)
    runner = JobRunner(cast(Any, services), cast(Any, None), cast(Any, machines), tmp_path / "ml-jobs")
    asyncio.run(runner.started())
    assert [each.name for each in (tmp_path / "ml-job-files").iterdir()] == [".plain-root"]


class OneCluster:
    """Of two nodes, with the jobs that wait: how many nodes each runs on."""

    def __init__(self, *nodes: str, **waiting: int) -> None:
        since = "2026-11-22T10:00:00+00:00"
        self.nodes = [{"id": job, "number": 0, "state": "running", "since": since, "job": job} for job in nodes]
        record = {"nodes": self.nodes, "target": 2, "since": "", "allocation": "Steady", "errors": []}
        compute = SimpleNamespace(properties={"properties": {"scaleSettings": {"maxNodeCount": 2}}}, location="westeurope")
        store = SimpleNamespace(documents=lambda _: {"ml-clusters/c": record}, get=lambda _: compute)
        store.of_type, store.put_document = lambda _: [], lambda *_: None
        now = datetime.fromisoformat(since)
        services = SimpleNamespace(store=store, clock=SimpleNamespace(now=lambda: now, stamp=now.isoformat))
        jobs = Jobs(lambda _: list(waiting), waiting.__getitem__, lambda job, _: waiting.pop(job))
        self.waiting, self.clusters = waiting, Clusters(cast(Any, services), jobs)

    def shown(self) -> list[tuple[str, str]]:
        return [(node["state"], node["job"]) for node in self.nodes]


@in_a_loop
async def test_a_node_whose_job_had_ended_when_the_server_was_killed_is_free() -> None:
    told = OneCluster("on", "over")
    told.clusters.started({"on"})
    assert told.shown() == [("running", "on"), ("idle", "")]
    await told.clusters.close()


@in_a_loop
async def test_a_job_on_two_nodes_waits_for_both_and_no_later_one_takes_what_it_waits_for() -> None:
    told = OneCluster("on", "over", never=3, pair=2, later=1)
    told.clusters.started({"on"})
    assert told.shown() == [("running", "on"), ("idle", "")], "one free node isn't enough for it"
    told.clusters.free("c", "on")
    assert told.shown() == [("running", "pair")] * 2
    assert list(told.waiting) == ["never", "later"]
    told.clusters.free("c", "pair")
    assert told.shown() == [("running", "later"), ("idle", "")]
    await told.clusters.close()


def test_quota_lets_a_job_wait_and_is_told(world: World, own_served_azure: ServedAzure) -> None:
    other = World(own_served_azure)
    cluster = other.cluster()
    fault = ("fault", "quota", "ml", "westeurope", "Standard NCASv3_T4 Family", "0")
    assert own_served_azure.command(*fault).returncode == 0
    job = other.job(cluster, "echo ran")
    shown = until(
        lambda: own_served_azure.get(cluster, ml.ML).json()["properties"]["properties"].get("errors"), "the cluster tells why"
    )
    assert shown[0]["error"]["code"] == "ClusterCoreQuotaReached"
    assert other.status(job) == "Queued"
    own_served_azure.command("fault", "clear")
    assert other.until(job, *ENDED)["status"] == "Completed"
    lasting = other.job(cluster, "echo before; sleep 4; echo after")
    other.until(lasting, "Running")
    own_served_azure.kill9()
    own_served_azure.start()
    assert other.until(lasting, *ENDED)["status"] == "Completed", "a killed server's job goes on for the next"
    assert other.log(lasting) == "before\nafter\n"


@in_a_loop
async def test_a_worker_that_fails_ends_the_others_and_is_the_end() -> None:
    run, stopped = Run.__new__(Run), asyncio.Event()

    async def one(worker: int, *_: Any) -> Ended:
        if worker == 1:
            return Ended(3, stopped=False, worker=1)
        await stopped.wait()
        return Ended(143, stopped=True, worker=0)

    async def stop() -> None:
        stopped.set()

    run._followed, run.stop = one, stop
    assert await asyncio.wait_for(run.followed([0, 0], lambda *_: None), SECONDS) == Ended(3, stopped=False, worker=1)


def test_a_program_of_a_job_gets_a_token_of_its_computes_identity(tmp_path: Path) -> None:
    identity = {"type": "SystemAssigned", "principalId": "of-compute"}
    compute: Any = SimpleNamespace(body={"identity": identity}, service={"identity": identity}, id=SimpleNamespace(text="/c"))
    issued: list[Any] = []
    tokens = SimpleNamespace(issue=lambda audience, caller: issued.append((audience, caller.object_id)) or "token")
    services: Any = SimpleNamespace(tokens=tokens, settings=SimpleNamespace(url="https://localhost"))
    workspace: Any = SimpleNamespace(id=SimpleNamespace(text="/w"))
    run = Run(cast(Any, None), compute, workspace, cast(Any, None), tmp_path, cast(Any, None), services)
    request: Any = SimpleNamespace(query_params={"resource": "https://storage.azure.com"}, headers={"metadata": "true"})
    assert identity_tokens.token(run.identities(), request, services).status_code == 200
    assert issued == [("https://storage.azure.com", "of-compute")]
