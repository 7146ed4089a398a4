"""Which parts of a state lie past their end, and which of these stay."""

from datetime import UTC, datetime
from typing import Any

import pytest

from azure_gpu_operations.exit_codes import FAILED, OK, PAST_LEFT
from azure_gpu_operations.past_end.judging import Judged, Lock, Part, Past, judge, keeps_whole, parts
from azure_gpu_operations.past_end.report import StackResult, as_json, exit_code, lines

NOW = datetime(2026, 12, 5, tzinfo=UTC)
PAST, LATER = "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"
GROUP = "/subscriptions/1/resourceGroups/g"
ACCOUNT, COMPUTE = "azure-native:storage:StorageAccount", "azure-native:machinelearningservices:Compute"


def urn(chain: str, name: str) -> str:
    return f"urn:pulumi:dev::azure-gpu::{chain}::{name}"


def component(noun: str, name: str, end: str | None, **more: Any) -> dict[str, Any]:
    token = f"azuregpu:index:{noun}"
    return {"urn": urn(token, name), "type": token, "outputs": {"expires_at": end} if end else {}, **more}


def resource(name: str, parent: dict[str, Any] | None = None, token: str = "azure-native:x:Y", **more: Any) -> dict[str, Any]:
    made = {"urn": urn(token, name), "type": token, "custom": True, "id": f"{GROUP}/providers/X/ys/{name}", "inputs": {}, **more}
    return {**made, "parent": parent["urn"]} if parent else made


def state(*resources: dict[str, Any], **exported: Any) -> dict[str, Any]:
    root = {"urn": urn("pulumi:pulumi:Stack", "azure-gpu-dev"), "type": "pulumi:pulumi:Stack", "outputs": exported}
    return {"resources": [root, *resources]}


def judged(deployment: dict[str, Any], *locks: Lock) -> dict[str, str]:
    return {each.part.path: each.stays for each in judge(deployment, locks, NOW).past}


def test_a_part_is_a_component_with_all_that_lies_in_it_and_its_end_is_its_own_output() -> None:
    job = component("ServerlessGpuJob", "night", PAST)
    inner = {"urn": urn("inner", "inner"), "type": "other:index:Inner", "parent": job["urn"]}
    [part] = parts(state(job, resource("other"), inner, resource("job", inner)))
    assert (part.path, part.kind, part.end) == ("jobs.night", "ServerlessGpuJob", datetime(2026, 12, 1, tzinfo=UTC))
    assert [each.rsplit("::", 1)[-1] for each in part.urns] == ["night", "inner", "job"]
    assert part.ids == (f"{GROUP}/providers/X/ys/job",)


def test_an_end_is_found_in_the_stack_s_outputs_and_in_tags_too() -> None:
    tagged = {"tags": {"expires-at": PAST}}
    compute = resource("ml-compute-gpu", component("MlWorkspace", "ml", None), COMPUTE, inputs=tagged)
    own = resource("of-somebody", inputs=tagged)
    read = resource("read", inputs=tagged, external=True)
    found = parts(state(component("BatchPool", "train", None), compute, own, read, expires_at={"train": PAST}))
    assert [(each.path, each.is_past(NOW)) for each in found] == [
        ("pools.train", True),
        ("ml_workspace.computes.gpu", True),
        ("of-somebody", True),
    ]


@pytest.mark.parametrize(
    ("end", "past"), [(PAST, True), ("2026-12-05T00:00:00Z", True), ("2026-12-05T00:00:01Z", False), (None, False)]
)
def test_past_is_what_ended_by_now(end: str | None, past: bool) -> None:
    assert list(judged(state(component("GpuVm", "trainer", end)))) == (["vms.trainer"] if past else [])


def test_what_is_protected_or_holds_data_stays() -> None:
    job, pool, vm = (component(*each, PAST) for each in (("ServerlessGpuJob", "a"), ("BatchPool", "b"), ("GpuVm", "c")))
    found = judged(
        state(job, resource("a-job", job, protect=True), pool, resource("data", pool, ACCOUNT), vm, resource("c-vm", vm))
    )
    assert found == {
        "jobs.a": "a-job is protected; fix: python -m operations pulumi state unprotect URN --stack dev",
        "pools.b": "the storage account data holds blobs; fix: remove it from the stack file",
        "vms.c": "",
    }


@pytest.mark.parametrize(
    ("scope", "keeps"),
    [
        (f"{GROUP}/providers/X/ys/a-job", True),
        (GROUP.upper(), True),
        ("/subscriptions/1", True),
        (f"{GROUP}/providers/X/ys/a-job/children/x", True),
        (f"{GROUP}/providers/X/ys/a-job-2", False),
        ("/subscriptions/1/resourceGroups/g2", False),
    ],
)
def test_what_a_lock_of_azure_keeps_stays(scope: str, keeps: bool) -> None:
    job = component("ServerlessGpuJob", "a", PAST)
    deployment, lock = state(job, resource("a-job", job)), Lock("keep", scope, "CanNotDelete")
    why = judged(deployment, lock)["jobs.a"]
    told = (
        f"the lock keep (CanNotDelete) on {scope.rsplit('/', 1)[-1]} in Azure protects it; fix: delete the lock, if it is yours"
    )
    assert why == (told if keeps else "")
    assert bool(keeps_whole(deployment, [lock])) == keeps


def test_what_something_else_depends_on_stays_unless_that_goes_too() -> None:
    cluster, workspace = component("GpuCluster", "shared", PAST), component("MlWorkspace", "ml", None)
    aks = resource("shared-cluster", cluster)
    attached = resource("ml-compute-shared", workspace, COMPUTE, propertyDependencies={"resourceId": [aks["urn"]]})
    assert judged(state(cluster, aks, workspace, attached)) == {
        "clusters.shared": "ml-compute-shared of the stack depends on it; fix: remove that from the stack file and run `up` first"
    }
    ending = {**attached, "inputs": {"tags": {"expires-at": PAST}}}
    assert set(judged(state(cluster, aks, workspace, ending)).values()) == {""}
    # What stays keeps in turn what it depends on.
    kept = judged(state(cluster, aks, workspace, {**ending, "protect": True}))
    assert kept["clusters.shared"].startswith("ml-compute-shared of the stack depends on it")


def test_a_stack_is_past_as_a_whole_where_each_of_its_parts_is() -> None:
    first, second = component("ServerlessGpuJob", "a", PAST), component("ContainerGroup", "b", None)
    assert judge(state(first), (), NOW).is_whole
    assert not judge(state(first, second), (), NOW).is_whole
    assert not judge(state(), (), NOW).is_whole
    assert keeps_whole(state(first, resource("data", protect=True)), ()) == "data is protected"


def part(name: str) -> Part:
    return Part(name, f"jobs.{name}", "ServerlessGpuJob", datetime(2026, 12, 1, tzinfo=UTC), ())


def test_the_exit_code_says_whether_something_past_is_left() -> None:
    two = Judged((Past(part("a")), Past(part("b"), "it is protected")), is_whole=False)
    assert exit_code([StackResult("dev")]) == OK
    assert exit_code([StackResult("dev"), StackResult("prod", two)]) == PAST_LEFT
    assert exit_code([StackResult("dev", two, gone=frozenset({"a"}), tried=True)]) == PAST_LEFT
    assert exit_code([StackResult("dev", two, gone=frozenset({"a", "b"}), tried=True)]) == OK
    assert exit_code([StackResult("dev", two), StackResult("prod", error="it doesn't answer")]) == FAILED


def test_each_part_is_told_with_what_became_of_it() -> None:
    three = Judged((Past(part("a")), Past(part("b"), "it is protected"), Past(part("c"))), is_whole=True)
    found = StackResult("dev", three, {"a": 0.526, "b": None}, gone=frozenset({"a"}), tried=True, error="it was refused")
    assert list(lines([found], NOW)) == [
        "stack dev:",
        "  jobs.a (ServerlessGpuJob): destroyed; ended 2026-12-01T00:00:00Z, 4 days ago; 0.526 USD an hour while it runs",
        "  jobs.b (ServerlessGpuJob): kept: it is protected; ended 2026-12-01T00:00:00Z, 4 days ago",
        "  jobs.c (ServerlessGpuJob): failed; ended 2026-12-01T00:00:00Z, 4 days ago",
        "  every part of it has expired; to destroy the rest with its data: python -m operations down --stack dev",
        "  error: it was refused",
        "2 parts have expired and not been destroyed",
    ]
    told = as_json([found], NOW)
    assert [(each["state"], each["hourly_cost_usd"]) for each in told["stacks"][0]["parts"]] == [
        ("taken down", 0.526),
        ("stays", None),
        ("failed", None),
    ]
    assert told["left"] == 2
    listed = list(lines([found._replace(tried=False, gone=frozenset(), error="")], NOW))
    assert listed[-2:] == ["3 parts have expired and not been destroyed", "to destroy the parts that aren't kept, add --yes"]
    assert list(lines([StackResult("dev")], NOW)) == ["nothing in stack dev has expired at 2026-12-05T00:00:00Z"]
    assert list(lines([StackResult("dev"), StackResult("prod")], NOW)) == [
        "nothing in 2 stacks has expired at 2026-12-05T00:00:00Z"
    ]
