"""The life of objects against an API server in this process: which requests a step sends, what is waited for, what is kept of it
when it fails. What a real server makes of these requests is in `test_kubernetes_plugin_objects.py` (slow)."""

from typing import Any

import grpc
import pytest

from localazure.plugin.wire import UNKNOWN, Secret, from_struct
from tests.localazure.kubernetes_plugin.conftest import (
    CONFIG_MAP,
    KubernetesEngine,
    Made,
    checked_raw,
    kubeconfig,
    plugin,
    with_kind,
)
from tests.localazure.plugin.conftest import failure
from tests.support.fake_kubernetes import FakeKubernetes, Request
from tests.support.provider_calls import details_of, left_behind

JOB, SECRET = "kubernetes:batch/v1:Job", "kubernetes:core/v1:Secret"
PATH = "/api/v1/namespaces/team/configmaps/settings"
JOB_PATH = "/apis/batch/v1/namespaces/team/jobs/train"
STARTED = "2026-12-05T10:00:00Z"
FAILED = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached its limit"}


def settings(annotations: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    marked = {"annotations": {f"pulumi.com/{key}": value for key, value in annotations.items()}} if annotations else {}
    return {"metadata": {"name": "settings", "namespace": "team", **marked}, "data": data}


def job(**annotations: str) -> dict[str, Any]:
    return {"metadata": {**settings(annotations)["metadata"], "name": "train"}, "spec": {"template": {}}}


def applied(server: FakeKubernetes) -> Request:
    """The last request that changed anything."""
    return next(each for each in reversed(server.sent("PATCH")) if "dryRun" not in each.query)


def conflict(*managers: str) -> dict[str, Any]:
    causes = [{"message": f'conflict with "{each}" using v1'} for each in managers]
    return {"reason": "Conflict", "message": f"conflicts with {managers}", "details": {"causes": causes}}


def test_an_object_lives_from_preview_to_deletion(online: KubernetesEngine, server: FakeKubernetes) -> None:
    planned = online.planned(CONFIG_MAP, settings(a="1"))
    assert planned["metadata"]["uid"] == UNKNOWN
    (preview,) = server.sent("PATCH")
    assert {key: value for key, value in preview.query.items() if key != "fieldManager"} == {
        "dryRun": "All",
        "fieldValidation": "Strict",
        "force": "true",
    }
    assert preview.headers["Content-Type"] == "application/apply-patch+yaml"
    assert server.objects == {}, "a preview makes nothing"

    made = online.made(CONFIG_MAP, settings(a="1"))
    assert made.id == "team/settings"
    assert applied(server).body == with_kind(CONFIG_MAP, settings(a="1"))
    assert applied(server).query["force"] == "false"
    assert applied(server).query["fieldManager"] == made.state["__fieldManager"]
    assert made.diff(settings(a="1")).changes == made.diff(settings(a="1")).DIFF_NONE
    assert made.refresh()
    assert made.diff(settings(a="1")).changes == made.diff(settings(a="1")).DIFF_NONE, "nothing drifts by reading"

    assert made.update(settings(a="2"), preview=True)["data"] == {"a": "2"}
    assert server.sent("PATCH")[-1].query["force"] == "false", "a preview meets the conflicts that an update would"
    assert server.objects[PATH]["data"] == {"a": "1"}
    assert made.update(settings(a="2"))["data"] == {"a": "2"}
    server.objects[PATH]["data"] = {"a": "3", "b": "4"}
    assert made.refresh()
    assert made.inputs["data"] == {"a": "3"}, "what only others set is theirs"

    made.delete()
    assert server.sent("DELETE")[0].body["propagationPolicy"] == "Foreground"
    assert not made.refresh()
    made.delete()  # what isn't there is gone
    assert len(server.sent("DELETE")) == 1
    with pytest.raises(grpc.RpcError, match="is not in the cluster any more; `pulumi refresh` tells the stack"):
        made.update(settings(a="9"))


def test_annotations_name_manager_force_and_propagation(online: KubernetesEngine, server: FakeKubernetes) -> None:
    annotations = {"patchFieldManager": "ours", "patchForce": "true", "deletionPropagationPolicy": "orphan"}
    made = online.made(CONFIG_MAP, settings(annotations, a="1"))
    assert (applied(server).query["fieldManager"], applied(server).query["force"]) == ("ours", "true")
    made.delete()
    assert server.sent("DELETE")[0].body["propagationPolicy"] == "Orphan"


def test_a_preview_passes_where_only_doing_it_could_tell(online: KubernetesEngine, server: FakeKubernetes) -> None:
    unknown = settings(a=UNKNOWN)
    assert online.planned(CONFIG_MAP, unknown) == with_kind(CONFIG_MAP, unknown)
    undefined = {"metadata": {"name": "x", "namespace": "team"}, "spec": {"size": 1}}
    assert online.planned("kubernetes:example.com/v1:Thing", undefined)["spec"] == {"size": 1}
    server.refuse("PATCH", 404, details={"kind": "namespaces"})
    assert online.planned(CONFIG_MAP, settings(a="1")) == with_kind(CONFIG_MAP, settings(a="1"))
    online.made(CONFIG_MAP, settings(a="1"))
    assert online.planned(CONFIG_MAP, settings(a="2"))["data"] == {"a": "2"}, "it may be what it replaces"
    server.objects.clear()
    server.refuse("PATCH", 422, "data: Invalid value")
    with pytest.raises(grpc.RpcError, match="data: Invalid value"):
        online.planned(CONFIG_MAP, settings(a="1"))


def test_an_object_that_is_there_already_is_not_taken_over_unless_that_was_asked(
    online: KubernetesEngine, server: FakeKubernetes
) -> None:
    online.made(CONFIG_MAP, settings(a="1"))
    assert details_of(failure(online.made, CONFIG_MAP, settings(a="2"))) == (
        f'resource "{online.urn(CONFIG_MAP)}" was not successfully created by the Kubernetes API server: '
        'configmaps "settings" already exists'
    )
    taking = plugin(server=server)
    taking.configure(kubeconfig=kubeconfig("https://here.example"), upsertExistingObjects="true")
    assert taking.made(CONFIG_MAP, settings(a="2")).state["data"] == {"a": "2"}


def test_a_field_of_another_manager_is_a_conflict_unless_it_was_kubectls(
    online: KubernetesEngine, server: FakeKubernetes
) -> None:
    made = online.made(CONFIG_MAP, settings(a="1"))
    server.refuse("PATCH", 409, **conflict("kubectl", "scaler"))
    refused = failure(made.update, settings(a="2"))
    assert "Server-Side Apply field conflict detected" in details_of(refused)
    assert from_struct(left_behind(refused).properties)["__inputs"]["data"] == {"a": "2"}, "the next `up` tries again"
    server.refuse("PATCH", 409, **conflict("kubectl-client-side-apply"))
    assert made.update(settings(a="2"))["data"] == {"a": "2"}
    assert applied(server).query["force"] == "true"


def test_an_object_is_taken_over_by_an_import(online: KubernetesEngine, server: FakeKubernetes) -> None:
    assert online.read(CONFIG_MAP, "team/settings").id == ""
    online.made(CONFIG_MAP, settings(a="1"))
    server.objects[PATH]["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    server.status(PATH, phase="x")
    answer = online.read(CONFIG_MAP, "team/settings")
    assert from_struct(answer.inputs) == with_kind(CONFIG_MAP, settings(a="1"))


def test_a_missing_namespace_may_be_on_its_way(online: KubernetesEngine, server: FakeKubernetes) -> None:
    for _ in range(3):
        server.refuse("PATCH", 404, 'namespaces "team" not found', details={"kind": "namespaces"})
    assert online.made(CONFIG_MAP, settings(a="1")).id == "team/settings"
    told = [line for line in online.lines.all if line]
    assert told == [f'Retry #{number}; creation failed: namespaces "team" not found' for number in range(3)]
    assert online.time.now == 0.25 + 0.5 + 1


def test_a_kind_that_no_server_has_is_waited_for_and_named(online: KubernetesEngine) -> None:
    with pytest.raises(grpc.RpcError, match='Verify that any required CRDs have been created: no matches for kind "Thing"'):
        online.made("kubernetes:example.com/v1:Thing", {"metadata": {"name": "one", "namespace": "team"}})
    assert online.time.now > 10


def test_secrets_are_kept_encrypted_wherever_they_are_kept(online: KubernetesEngine, server: FakeKubernetes) -> None:
    checked = checked_raw(online, SECRET, {"metadata": {"name": "token", "namespace": "team"}, "stringData": {"t": "hush"}})
    state = from_struct(online.create(SECRET, checked).properties, keep_secrets=True)
    assert applied(server).body["data"] == {"t": "aHVzaA=="}
    assert state["data"] == state["__inputs"]["data"] == Secret({"t": "aHVzaA=="})
    checked = checked_raw(online, CONFIG_MAP, settings() | {"data": {"a": Secret("hush"), "b": "open"}})
    state = from_struct(online.create(CONFIG_MAP, checked).properties, keep_secrets=True)
    assert state["data"] == state["__inputs"]["data"] == {"a": Secret("hush"), "b": "open"}


# Waiting


def test_a_job_is_made_when_it_is_complete(online: KubernetesEngine, server: FakeKubernetes) -> None:
    def waited(_: float) -> None:
        if online.time.now > 10:
            server.status(JOB_PATH, startTime=STARTED, conditions=[{"type": "Complete", "status": "True"}])

    online.time.waited = waited
    made = online.made(JOB, job())
    assert 10 < online.time.now < 12
    assert online.lines.all == ['Waiting for Job "team/train" to start', ""], "what was waited for isn't shown any more"
    assert list(made.diff(job()).detailedDiff) == []


def test_a_job_that_nobody_waits_for_is_no_fault_when_the_stack_is_refreshed(online: KubernetesEngine) -> None:
    assert online.made(JOB, job(skipAwait="true")).refresh()
    assert online.time.now == 0


def test_a_job_that_fails_is_said_to_at_once_and_kept(online: KubernetesEngine, server: FakeKubernetes) -> None:
    online.time.waited = lambda _: server.status(JOB_PATH, startTime=STARTED, conditions=[FAILED])
    failed = failure(online.made, JOB, job())
    assert "was successfully created, but the Kubernetes API server reported that it failed" in details_of(failed)
    assert "live: Resource 'train' was created but failed to initialize" in details_of(failed)
    assert online.time.now < 1
    kept = left_behind(failed)
    assert "[BackoffLimitExceeded] Job has reached its limit" in kept.reasons
    assert kept.id == "team/train"
    made = Made(online, JOB, "thing", kept.id, from_struct(kept.inputs), from_struct(kept.properties))
    with pytest.raises(grpc.RpcError, match="was created but failed to initialize"):
        made.refresh()


@pytest.mark.parametrize(
    ("annotations", "options", "seconds"),
    [({}, {}, 600), ({"timeoutSeconds": "30"}, {}, 30), ({"timeoutSeconds": "30"}, {"timeout": 7}, 7)],
    ids=["the kind's", "the annotation's", "the engine's"],
)
def test_what_does_not_come_in_time_says_why(
    online: KubernetesEngine, server: FakeKubernetes, annotations: dict[str, str], options: dict[str, Any], seconds: int
) -> None:
    told = {"reason": "FailedCreate", "message": "exceeded quota: none", "involvedObject": {"kind": "Job"}, "metadata": {}}
    server.objects["/api/v1/namespaces/team/events/e"] = told
    late = failure(online.made, JOB, job(**annotations), **options)
    assert online.time.now == pytest.approx(seconds)
    assert "'train' timed out waiting to be Ready" in left_behind(late).reasons[0]
    assert "[Job team/train]: [FailedCreate] exceeded quota: none" in left_behind(late).reasons
    assert online.lines.all == [
        'Waiting for Job "team/train" to start',
        "[Job team/train]: [FailedCreate] exceeded quota: none",
        "",
    ]


def test_a_program_says_what_is_waited_for(online: KubernetesEngine, server: FakeKubernetes) -> None:
    made = online.made(CONFIG_MAP, settings({"waitFor": "jsonpath={.data.state}=done"}, state="done"))
    with pytest.raises(grpc.RpcError, match="timed out waiting to be Ready"):
        made.update(settings({"waitFor": "jsonpath={.data.state}=other"}, state="done"), timeout=5)
    server.objects.clear()
    # The annotation may be known no sooner than the object is made: then one that can't be read leaves nothing behind.
    with pytest.raises(grpc.RpcError, match='but got "Ready"'):
        online.create(CONFIG_MAP, with_kind(CONFIG_MAP, settings({"waitFor": "Ready"})))
    assert server.objects == {}


def test_a_deletion_that_is_held_up_says_by_what(online: KubernetesEngine, server: FakeKubernetes) -> None:
    made = online.made(CONFIG_MAP, settings(a="1"))
    server.objects[PATH]["metadata"]["finalizers"] = ["example.com/hold"]
    late = failure(made.delete, timeout=20)
    assert 'timed out waiting for deletion of v1/ConfigMap "team/settings"' in details_of(late)
    assert "finalizers might be preventing deletion (example.com/hold)" in left_behind(late).reasons
    assert online.time.now == 20
    online.time.waited = lambda _: server.objects.update({PATH: {"metadata": {"uid": "of another of the same name"}}})
    made.delete()


def test_cancelling_ends_waiting_and_keeps_what_is_there(online: KubernetesEngine) -> None:
    online.time.waited = lambda _: online.provider.abandon()
    with pytest.raises(grpc.RpcError, match="Resource operation was cancelled") as cancelled:
        online.made(JOB, job())
    assert left_behind(cancelled.value).id == "team/train"


def test_a_server_that_goes_away_while_it_is_waited_for_is_asked_until_it_is_silent_for_long(
    online: KubernetesEngine, server: FakeKubernetes
) -> None:
    def heard(request: Request) -> None:
        if request.method == "GET" and JOB_PATH in server.objects:
            raise ConnectionRefusedError("connect: connection refused")

    server.heard = heard
    lost = failure(online.made, JOB, job())
    assert "connect: connection refused" in str(left_behind(lost).reasons)
    assert 30 < online.time.now < 32
