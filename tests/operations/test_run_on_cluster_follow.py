"""Following a Job: what its pod waits for, its log, a pod that is taken away, when there is no hope, and how it ends."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from azure_gpu.kubernetes.worker_group import ATTEMPT_LABEL, INDEX_LABEL
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import JobSeen, PodSeen, pod_of
from azure_gpu_operations.exit_codes import TIMED_OUT
from azure_gpu_operations.run.on_cluster import outcome
from azure_gpu_operations.run.on_cluster.follow import End, Follower
from azure_gpu_operations.run.on_cluster.kinds import GROUP, JOB as JOB_KIND, Kind
from azure_gpu_operations.run.on_cluster.pod_log import PodLog
from tests.operations import kubernetes_bodies as bodies

JOB = "run-x"
NODE = "aks-t4-12345678-vmss000000"
Look = dict[str, Any]


def look(job: Any = None, *pods: Any, events: Sequence[Any] = (), nodes: Sequence[Any] = ()) -> Look:
    return {"job": bodies.job(active=1) if job is None else job, "pods": pods, "events": events, "nodes": nodes}


class ScriptedCluster:
    """Answers each look at the Job with the next of its script, and stays at the last."""

    def __init__(self, *looks: Look | Exception, log: Sequence[str] = ()) -> None:
        self.looks = list(looks)
        self.lines = [f"2026-11-22T10:01:0{index}.5Z {line}" for index, line in enumerate(log)]
        self.now: Look = look()

    def get(self, path: str) -> dict[str, Any] | None:
        if "/nodes/" in path:
            return next((each for each in self.now["nodes"] if path.endswith(each["metadata"]["name"])), None)
        found = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(found, Exception):
            raise found
        self.now = found
        return found["job"] or None

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        return list(self.now["events"] if path.endswith("/events") else self.now["pods"])

    def log(
        self, namespace: str, pod: str, container: str, *, follow: bool = False, since: str = "", tail: int | None = None
    ) -> Iterator[str]:
        yield from (line for line in self.lines if line[:19] >= since[:19])


def followed(
    *looks: Look | Exception, log: Sequence[str] = (), kind: Kind = JOB_KIND, limit_seconds: float | None = None
) -> tuple[End, list[str], list[str]]:
    """The end, what was shown, and what was said. Its clock goes on by what it sleeps."""
    shown: list[str] = []
    said: list[str] = []
    time = [0.0]

    def sleep(seconds: float) -> None:
        time[0] += seconds

    cluster = ScriptedCluster(*looks, log=log)
    follower = Follower(
        cluster,
        "jobs",
        JOB,
        kind=kind,
        show=shown.append,
        say=said.append,
        limit_seconds=limit_seconds,
        sleep=sleep,
        clock=lambda: time[0],
    )
    return follower.follow(), shown, said


def done(code: int = 0, **more: Any) -> Look:
    phase = "Succeeded" if code == 0 else "Failed"
    condition = bodies.complete() if code == 0 else bodies.failed()
    pod = bodies.pod(phase=phase, node=NODE, container=bodies.ended(code, **more))
    return look(bodies.job(conditions=[condition]), pod, nodes=[bodies.node()])


def test_a_run_says_what_it_waits_for_shows_its_log_and_ends() -> None:
    scale_up = bodies.event("TriggeredScaleUp", "pod triggered scale-up: [{aks-t4-12345678-vmss 0->1 (max: 2)}]")
    unschedulable = "0/1 nodes are available: 1 node(s) had untolerated taint(s). preemption: 0/1 nodes are available"
    pulling = bodies.event("Pulling", 'Pulling image "r.azurecr.io/mnist:1"')
    nodes = [bodies.node()]
    end, shown, said = followed(
        look(),
        look(None, bodies.pod(unschedulable=unschedulable)),
        look(None, bodies.pod(unschedulable=unschedulable), events=[scale_up]),
        look(None, bodies.pod(node=NODE, container=bodies.waiting("ContainerCreating")), events=[pulling], nodes=nodes),
        look(None, bodies.pod(phase="Running", node=NODE, container=bodies.running()), nodes=nodes),
        done(),
        log=["epoch 1", "epoch 2"],
    )
    assert shown == ["epoch 1", "epoch 2"]
    assert said == [
        "no suitable node yet: the only node has an untolerated taint",
        "the autoscaler is adding a node to aks-t4-12345678-vmss (0 → 1), which takes minutes",
        f"the node {NODE} is pulling the image, which takes minutes if it is large",
        f"pod run-x-abcde is running on node {NODE}",
    ]
    assert end.job is not None
    assert end.job.is_complete
    assert end.lines == 2
    assert end.nodes[NODE].size == bodies.T4


def test_no_free_gpu_and_an_autoscaler_at_its_limit_are_told_in_words() -> None:
    message = (
        "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) didn't match Pod's node affinity/selector. preempt"
    )
    refused = bodies.event("NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached")
    _, _, said = followed(look(None, bodies.pod(unschedulable=message), events=[refused]), done())
    assert said[0] == (
        "no suitable node yet: 2 of 3 nodes are in another pool; 1 of 3 nodes has not enough nvidia.com/gpu; "
        "the autoscaler adds no node: the pool is at its maximum"
    )


def test_a_pod_that_may_not_be_made_is_told() -> None:
    refused = 'Error creating: pods "run-x-" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=1'
    _, _, said = followed(look(events=[bodies.event("FailedCreate", refused, warning=True)]), done())
    assert said[0] == f"the cluster creates no pod for it: {refused}"


def test_an_evicted_spot_node_is_told_and_the_next_pod_is_followed() -> None:
    gone = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "message": "PodGC: node no longer exists"}
    spot = bodies.node(labels={"kubernetes.azure.com/scalesetpriority": "spot"})
    first = bodies.pod(phase="Running", node=NODE, container=bodies.running())
    lost = bodies.pod(phase="Failed", node=NODE, container=bodies.ended(137), status={"conditions": [gone]})
    again = bodies.pod("run-x-fghij", phase="Succeeded", node="other", container=bodies.ended(0), created="2026-11-22T10:30:00Z")
    end, _, said = followed(
        look(None, first, nodes=[spot]),
        look(None, lost, nodes=[spot]),
        look(bodies.job(conditions=[bodies.complete()]), again),
        log=["begun"],
    )
    assert f"the pod run-x-abcde was evicted from the node {NODE}, a Spot node; the job restarts in another pod" in said
    assert [pod.name for pod in end.pods] == ["run-x-abcde", "run-x-fghij"]
    assert end.job is not None
    assert outcome.of_job(end.job, end.pods, None).code == 0


def test_an_image_that_cannot_be_pulled_is_given_up_after_two_minutes_with_what_to_do() -> None:
    message = "failed to pull: 401 Unauthorized"
    pulled = bodies.event("Failed", f'Failed to pull image "r.azurecr.io/mnist:1": {message}', warning=True)
    pods = [bodies.pod(node=NODE, container=bodies.waiting(reason, message)) for reason in ("ErrImagePull", "ImagePullBackOff")]
    end, _, said = followed(*[look(None, pods[number % 2], events=[pulled]) for number in range(200)], done())
    assert end.hopeless.startswith("the image r.azurecr.io/mnist:1 can't be pulled: Failed to pull image")
    assert "AcrPull" in end.fix
    assert len(said) == 1


def test_a_name_that_is_none_is_given_up_at_once() -> None:
    end, _, _ = followed(look(None, bodies.pod(node=NODE, container=bodies.waiting("InvalidImageName", "couldn't parse image"))))
    assert "can't be pulled: couldn't parse image" in end.hopeless


def test_a_node_that_puts_out_one_pod_after_the_other_is_given_up() -> None:
    pods = [
        bodies.pod(f"run-x-{index}", phase="Failed", node=NODE, status={"reason": "Evicted", "message": "low on memory"})
        for index in range(3)
    ]
    end, _, _ = followed(look(None, *pods, bodies.pod("run-x-4", created="2026-11-22T11:00:00Z")))
    assert end.hopeless == "its nodes evicted 3 of its pods: low on memory"


def test_a_cluster_that_falls_silent_is_asked_again_and_said_once() -> None:
    silent = ClusterError("the cluster at https://a doesn't answer: timed out")
    end, _, said = followed(silent, silent, done())
    assert said[0].startswith("the cluster can't be reached at the moment, retrying: the cluster at https://a")
    assert len([line for line in said if "retrying" in line]) == 1
    assert end.job is not None


def test_a_cluster_that_stays_silent_is_given_up_with_where_to_look() -> None:
    with pytest.raises(ClusterError):
        followed(ClusterError("the cluster at https://a doesn't answer"))


def test_a_login_that_may_not_look_is_told_at_once() -> None:
    with pytest.raises(ClusterError, match="Forbidden"):
        followed(ClusterError("Forbidden: jobs.batch is forbidden", 403))


def test_a_job_that_somebody_deleted_has_no_end_of_its_own() -> None:
    end, _, _ = followed(look(), look({}))
    assert end.job is None


def test_a_stream_that_breaks_off_is_read_on_and_no_line_comes_twice() -> None:
    lines = [f"2026-11-22T10:00:00.{fraction}Z line {index}" for index, fraction in enumerate(("5", "51", "51", "6"))]
    shown: list[str] = []

    class Breaking:
        def __init__(self) -> None:
            self.asked: list[str] = []

        def log(self, namespace: str, pod: str, container: str, *, since: str = "", **_: Any) -> Iterator[str]:
            self.asked.append(since)
            yield from lines[: len(self.asked) + 1]
            if len(self.asked) < 3:
                raise ClusterError("broke off")

    api = Breaking()
    log = PodLog(api, "jobs", "p", "main", shown.append)
    for _ in range(3):
        log.finish(0)
    assert shown == ["line 0", "line 1", "line 2", "line 3"]
    assert api.asked == ["", "2026-11-22T10:00:00Z", "2026-11-22T10:00:00Z"]


NOW = datetime(2026, 11, 22, 10, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("made", "code", "words"),
    [
        (done(), 0, "succeeded, exit code 0"),
        (done(3), 3, "failed, exit code 3"),
        (look(bodies.job(conditions=[bodies.failed("DeadlineExceeded")])), 124, "stopped after its timeout (2 minutes)"),
        (look(bodies.job(conditions=[bodies.complete()])), 0, "succeeded, exit code 0"),
        (look(bodies.job(conditions=[bodies.failed()])), 125, "failed"),
    ],
    ids=["well", "a code of its own", "time over", "no pod left", "failed without a pod"],
)
def test_the_exit_code_is_the_containers_own(made: Look, code: int, words: str) -> None:
    end, _, _ = followed(made)
    assert end.job is not None
    found = outcome.of_job(end.job, end.pods, 2)
    assert (found.code, found.words) == (code, words)


def test_a_container_without_memory_says_so_beside_its_code() -> None:
    end, _, _ = followed(done(137, reason="OOMKilled"))
    assert end.job is not None
    assert outcome.of_job(end.job, end.pods, None) == (
        137,
        "failed, exit code 137",
        "it exceeded its memory limit (OOMKilled)",
    )


def test_a_pod_that_its_node_refused_is_no_exit_code_of_the_program() -> None:
    refused = bodies.pod(phase="Failed", node=NODE, status={"reason": "UnexpectedAdmissionError", "message": "no GPU"})
    end, _, _ = followed(look(bodies.job(conditions=[bodies.failed()]), refused))
    assert end.job is not None
    assert outcome.of_job(end.job, end.pods, None) == (125, "failed", "UnexpectedAdmissionError: no GPU")


def test_a_run_costs_its_node_while_it_ran_there() -> None:
    from azure_gpu_operations.clusters.prices import node_price

    end, _, _ = followed(done())
    prices = {name: node_price(node) for name, node in end.nodes.items()}
    use = outcome.use_of(end.pods, prices, NOW)
    assert use.seconds == 120
    assert use.price is not None
    assert use.usd == use.price.usd_hour * 120 / 3600
    assert "2.0 minutes, 0.02 USD for its node at " in outcome.summary(use, NOW.date())
    assert outcome.summary(outcome.use_of(end.pods, {}, NOW), NOW.date()) == "2.0 minutes, cost isn't known"
    assert outcome.summary(outcome.use_of([], {}, NOW), NOW.date()) == "nothing ran"


def _worker(index: int, code: int | None, ended: str = "", attempt: int = 0) -> Any:
    """A worker of a group, running where it has no exit code."""
    container = bodies.running() if code is None else bodies.ended(code, **({"finishedAt": ended} if ended else {}))
    phase = "Running" if code is None else "Succeeded" if code == 0 else "Failed"
    pod = bodies.pod(phase=phase, node=NODE, container=container, name=f"{JOB}-workers-0-{index}-{attempt}abc")
    pod["metadata"]["labels"] |= {INDEX_LABEL: str(index), ATTEMPT_LABEL: str(attempt)}
    return pod


def _pods(*bodies_of: Any) -> list[PodSeen]:
    return [pod_of(each) for each in bodies_of]


def test_a_group_ends_with_the_code_of_the_worker_that_failed_first() -> None:
    pods = _pods(
        _worker(0, 143, "2026-11-22T10:05:09Z"), _worker(1, 7, "2026-11-22T10:05:01Z"), _worker(1, 9, "2026-11-22T10:01:00Z", -1)
    )
    found = outcome.of_group(JobSeen(JOB, "jobs", failure="FailedJobs"), pods, None)
    assert (found.code, found.words) == (7, "worker 1 failed, exit code 7")


def test_a_group_that_went_well_after_a_restart_went_well() -> None:
    pods = _pods(_worker(0, 1, "2026-11-22T10:01:00Z"), _worker(0, 0, attempt=1), _worker(1, 0, attempt=1))
    found = outcome.of_group(JobSeen(JOB, "jobs", is_complete=True), pods, None)
    assert (found.code, found.words) == (0, "succeeded, exit code 0")


def test_a_group_whose_time_is_over_says_so() -> None:
    assert outcome.of_group(JobSeen(JOB, "jobs", failure=outcome.DEADLINE), _pods(_worker(0, 143)), 2).code == TIMED_OUT


def test_conditions_of_a_jobset_are_those_of_a_job() -> None:
    def seen(kind: str, reason: str) -> JobSeen:
        return GROUP.seen(
            {"metadata": {"name": JOB}, "status": {"conditions": [{"type": kind, "status": "True", "reason": reason}]}}
        )

    assert seen("Completed", "AllJobsCompleted").is_complete
    assert seen("Failed", "FailedJobs").failure == "FailedJobs"
    assert not seen("StartupPolicyInProgress", "").is_over


def _group(condition: str = "") -> Any:
    """A JobSet; `condition`: by which it has ended."""
    conditions = [{"type": condition, "status": "True", "reason": "FailedJobs"}] if condition else []
    return {"metadata": {"name": JOB, "namespace": "jobs"}, "status": {"conditions": conditions}}


def test_a_worker_that_its_group_removed_was_not_taken_away() -> None:
    failed = _worker(1, 7)
    end, _, said = followed(
        look(_group(), _worker(0, None), _worker(1, None)),
        look(_group(), failed),
        look(_group("Failed"), failed),
        kind=GROUP,
    )
    assert not [line for line in said if "was evicted" in line]
    assert end.job is not None
    assert GROUP.outcome(end.job, end.pods, None).code == 7


def test_a_group_is_given_up_with_the_fix_of_the_worker_that_it_is_given_up_for() -> None:
    held = bodies.pod(node=NODE, container=bodies.waiting("InvalidImageName", "invalid reference format"))
    newest = bodies.pod("run-x-newest", phase="Running", node=NODE, container=bodies.running(), created="2026-11-22T10:30:00Z")
    end, _, _ = followed(look(_group(), held, newest), kind=GROUP)
    assert "can't be pulled" in end.hopeless
    alone, _, _ = followed(look(_group(), held), kind=GROUP)
    assert end.fix
    assert end.fix == alone.fix


def test_a_group_that_starts_again_and_again_ends_when_its_time_is_over() -> None:
    first = [look(_group(), _worker(0, None))] * 3
    end, _, _ = followed(*first, look(_group(), _worker(0, None, attempt=1)), kind=GROUP, limit_seconds=5)
    assert end.is_late
    assert end.job is not None
    assert GROUP.outcome(end.job, end.pods, 5 / 60).code == TIMED_OUT
    once, _, _ = followed(*first * 3, look(_group("Failed"), _worker(0, 1)), kind=GROUP, limit_seconds=5)
    assert not once.is_late  # Kubernetes ends it itself
