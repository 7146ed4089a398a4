"""What `explain` makes of the facts about a resource: a cause, what happened and how to fix it. Each row of `explained/*.yaml`.

A row has the facts, as a mapping with the fields of their type (`MAKING`), over the `defaults` of its section; facts of a cluster
are bodies as its API answers them. Beside them: the `cause`, parts of `what` and of the `fix`, the `evidence`, `lines` of the
report, the `exit` code, the `container` that failed, and what isn't in `what_not` and `fix_not`. `each` has what differs between
several rows.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.formats import bounded_yaml
from azure_gpu_operations.clusters.arm_facts import cluster_of, pool_of
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import events_of, job_of, node_of, pod_of
from azure_gpu_operations.explain import batch_rules, cluster_rules, machine_rules, ml_rules, pod_rules, report, rules, table
from azure_gpu_operations.explain.cluster_facts import ClusterCase, JobCase, PodCase, PodContext
from azure_gpu_operations.explain.facts import Cause, Facts, Finding, Kind, Refusal
from azure_gpu_operations.explain.machine_rules import MachineCase
from tests.operations import kubernetes_bodies as bodies
from tests.operations.yaml_tables import Only, TagLoader, made

CLUSTER = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/aks"
EXPECTED = {"cause", "what", "what_not", "fix", "fix_not", "evidence", "lines", "exit", "container", "named", "each"}


def pod(row: Mapping[str, Any]) -> PodCase:
    """A pod by its container's state, its events and its log, and what is around it."""
    said = dict(row)
    events, log, where = said.pop("events", ()), said.pop("log", ()), context(said)
    return PodCase(pod_of(bodies.of_row(said)), seen(events), {"main": tuple(log)}, where)


def seen(events: Any) -> Any:
    return events_of([bodies.event(**each) for each in events])


def context(said: dict[str, Any]) -> PodContext:
    """Takes what is around a pod out of its row. A login without a right to the cluster's nodes has `around` alone."""
    nodes, pools, holders = (said.pop(key, ()) for key in ("nodes", "pools", "holders"))
    around = said.pop("around", {})
    if around.get("is_edge"):
        return PodContext(is_edge=True)
    of_pools = made(Mapping[str, tuple[Refusal, ...]], around.get("pool_refusals", {}))
    return PodContext(
        tuple(node_of(bodies.node(**each)) for each in nodes),
        tuple(pool_of(bodies.pool(**each)) for each in pools),
        holders=tuple(pod_of(bodies.pod(**each)) for each in holders),
        pool_refusals=of_pools,
    )


def kubernetes_job(row: Mapping[str, Any]) -> JobCase:
    pods = tuple(pod({**each, "nodes": row["nodes"], "pools": row["pools"]}) for each in row["pods"])
    return JobCase(job_of(bodies.job(conditions=row.get("conditions"))), seen(row.get("events", ())), pods)


def cluster(row: Mapping[str, Any]) -> ClusterCase:
    refusals = made(tuple[Refusal, ...], row.get("refusals", ()))
    if row.get("missing"):
        return ClusterCase("gpu", CLUSTER, refusals=refusals)
    state = {"provisioningState": row["state"], "powerState": {"code": row["power"]}, **row.get("properties", {})}
    around = dict(row.get("around", {}))
    return ClusterCase(
        "gpu",
        CLUSTER,
        cluster_of({"name": "aks", "id": CLUSTER, "properties": state}),
        tuple(pool_of(bodies.pool(**each)) for each in row["pools"]),
        nodes=tuple(node_of(bodies.node(**each)) for each in row["nodes"]),
        waiting=tuple(map(pod, row.get("waiting", ()))),
        pool_refusals=made(Mapping[str, tuple[Refusal, ...]], around.pop("pool_refusals", {})),
        **around,
    )


def of_endpoint(case: ml_rules.EndpointCase) -> tuple[Facts, Finding]:
    return ml_rules.explain(case)


# How the facts of a section are made, and what explains them.
MAKING: dict[str, tuple[Any, Callable[[Any], Finding | tuple[Facts, Finding]]]] = {
    "group": (Facts, rules.explain),
    "deployment": (ml_rules.DeploymentCase, ml_rules.explain_deployment),
    "endpoint": (ml_rules.EndpointCase, of_endpoint),
    "compute": (ml_rules.ComputeCase, ml_rules.explain_compute),
    "job of a workspace": (ml_rules.JobCase, ml_rules.explain_job),
    "machine": (MachineCase, machine_rules.explain),
    "pool": (batch_rules.PoolSeen, batch_rules.explain_pool),
    "job of Batch": (batch_rules.JobSeen, batch_rules.explain_job),
    "pod that waits for a node": (pod, pod_rules.explain),
    "pod on a node": (pod, pod_rules.explain),
    "job of Kubernetes": (kubernetes_job, cluster_rules.explain_job),
    "cluster": (cluster, cluster_rules.explain),
}


def merged(before: Any, after: Any) -> Any:
    """A mapping over a mapping; any other value in place of the one before."""
    if not isinstance(before, dict) or not isinstance(after, dict) or isinstance(after, Only):
        return after
    return {**before, **{key: merged(before.get(key), each) for key, each in after.items()}}


def rows() -> Iterator[Any]:
    for file in sorted((Path(__file__).parent / "explained").glob("*.yaml")):
        for section in yaml.load(file.read_text(encoding="utf-8"), TagLoader)["sections"]:
            for name, row in section["rows"].items():
                for number, differing in enumerate(row.get("each", [{}])):
                    whole = merged(merged(section["defaults"], row), differing)
                    facts = {key: value for key, value in whole.items() if key not in EXPECTED}
                    id_ = f"{section['of']}: {name}{f' {number}' if 'each' in row else ''}"
                    yield pytest.param(section["of"], facts, {key: whole[key] for key in EXPECTED & whole.keys()}, id=id_)


@pytest.mark.parametrize(("of", "facts", "expected"), [*rows()])
def test_the_facts_are_explained_as_their_row_says(of: str, facts: dict[str, Any], expected: dict[str, Any]) -> None:
    kind, explain = MAKING[of]
    case = made(kind, facts) if isinstance(kind, type) else kind(facts)
    found = explain(case)
    told, finding = found if not isinstance(found, Finding) else (None, found)
    if "cause" in expected:
        assert finding.cause.name == expected["cause"], finding
    for key in ("what", "fix"):
        parts = expected.get(key, [])
        for part in [parts] if isinstance(parts, str) else parts:
            assert part in getattr(finding, key)
        assert f"{key}_not" not in expected or expected[f"{key}_not"] not in getattr(finding, key)
    assert finding.fix
    assert not finding.fix.endswith(".")
    if "evidence" in expected:
        assert list(finding.evidence) == expected["evidence"]
    assert finding.container == expected.get("container", finding.container)
    assert told is None or told.name == expected.get("named", told.name)
    if "lines" in expected:
        lines = report.lines(case if isinstance(case, Facts) else case.as_facts(), finding)
        assert [line for line in expected["lines"] if line not in lines] == [], lines
    if "exit" in expected or of == "group":
        assert report.exit_code(finding) == expected.get("exit", 1)


def test_the_table_names_causes_and_phrases_that_there_are() -> None:
    whole = bounded_yaml.load(table.TABLE.read_text(encoding="utf-8"))
    found = [row for kind in whole["kinds"] for row in table.rows(kind)]
    assert {row.cause for row in found if not row.rule} <= set(Cause.__members__)
    assert {row.phrase for row in found} <= {"", *whole["phrases"]}
    for name in whole["phrases"]:
        assert table.phrase(name).search("") is None, f"{name} is in every text"


def test_an_edge_that_does_not_answer_is_explained_without_arm() -> None:
    facts = Facts("box", Kind.CLUSTER, "kubeconfig")
    finding = cluster_rules.unreachable(ClusterError("the cluster at https://box:6443 doesn't answer"), facts, None)
    assert (finding.cause, report.exit_code(finding)) == (Cause.UNREACHABLE, 1)


def test_a_report_wraps_sentences_at_the_width_and_leaves_lines_of_a_log_alone() -> None:
    [facts] = (row.values[1] for row in rows() if row.id == "group: a program's own error")
    log = "loss " * 30
    case = made(Facts, facts | {"containers": [{**facts["containers"][0], "log": [log]}]})
    wrapped = report.lines(case, rules.explain(case), 60)
    assert [line for line in wrapped if len(line) > 60] == [f"    {log}"]
    assert " ".join(wrapped).split() == " ".join(report.lines(case, rules.explain(case))).split()
