"""`make bench`: the project's figures, each a ratio against a named baseline in the same run, or a figure held against a limit.

    --rounds N    runs of each preview; default 3
    --counts N,M  how many groups; default 250,1000
    --pairs N     PUT and GET pairs; default 1000
    --tasks N     tasks through a Batch pool of 8 slots; default 1000
    --nodes N     nodes of a cluster, of 4 GPUs each, that a pod is scheduled to for each GPU; default 25
    --requests N  to the scoring server, between two looks at its memory; default 5000
    --quick       small numbers: shows that it runs, and holds nothing against a limit

Ends with exit code 1 where a limit doesn't hold. The last line is one JSON object.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict
from functools import partial
from pathlib import Path

from tests.bench import (
    azure_cli,
    batch_tasks,
    catalog,
    embedded,
    endpoints,
    kubernetes_cluster,
    languages,
    preflight,
    previews,
    scoring,
    warm_up,
)
from tests.bench.results import hold
from tests.support.embedded import CHECKOUT, ServedAzure, kubernetes_programs

COMPONENT_TO_BARE = 1.15
PER_RESOURCE_LARGE_TO_SMALL = 1.1
PAIR_P50_MS = 10.0
RESIDENT_MIB = 250.0
WARM_UP_SECONDS = 60.0
CATALOG_LOAD_CPU_MS = 50.0
CATALOG_SERVICE_CPU_MS = 25.0
CHECK_TO_PREVIEW = 0.01
CATALOG_ROUNDS = 9
YAML_TO_PYTHON = 1.3  # of a preview of the same stack
LANGUAGE_ROUNDS = 5
PREFLIGHT_BEYOND_SLOWEST_LIST = 1.0  # seconds
FIRST_LOG_LINE = 1.5  # to the same process started by hand and the Azure CLI's own time
CLI_ROUNDS = 5
TASK_SECONDS = 0.2
TASK_OVERHEAD_MS = 20.0
TASKS_MIB = 10.0  # that the server grows by
CLUSTER_READY_SECONDS = 20.0
JOB_ROUNDS = 9
JOB_FIRST_LINE_SECONDS = 3.0
PODS_SCHEDULED_SECONDS = 30.0
CLUSTER_MIB = 1536.0  # control plane and node agent
ROUTED_REQUESTS = 2000  # each way
ROUTER_MS = 2.0  # that the router adds to a request's p50
SHARE_OFF = 28.0  # requests of a thousand that 90 to 10 may be off: 3 standard deviations


def main() -> int:
    options = _options()
    say = partial(print, flush=True)
    known = catalog.measure(max(options.counts), CATALOG_ROUNDS)  # first: what the others start would share its cores
    engine = subprocess.run([sys.executable, "engine/build.py"], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
    engine_bin = Path(engine.stdout.strip())
    programs = kubernetes_programs()
    if programs is None:
        sys.exit("bench: this machine has no build of Kubernetes: `make kubernetes` makes one")
    scored = scoring.measure(options.rounds, scoring.SECONDS / 10 if options.quick else scoring.SECONDS, options.requests)
    with tempfile.TemporaryDirectory() as folder:
        azure = ServedAzure(Path(folder) / "azure")
        try:
            times = previews.measure(azure, engine_bin, options.counts, options.rounds, say)
            spoken = languages.measure(azure, engine_bin, 1 if options.quick else LANGUAGE_ROUNDS, say)
            served = embedded.measure(azure, options.pairs)
            warm = warm_up.measure(azure, engine_bin, "lite" if options.quick else "local", once=options.quick)
            asked = preflight.measure(azure)
            told = azure_cli.measure(azure, 1 if options.quick else CLI_ROUNDS)
            worked = batch_tasks.measure(azure, options.tasks, TASK_SECONDS)
            routed = endpoints.measure(azure, 100 if options.quick else ROUTED_REQUESTS)
            ran = kubernetes_cluster.measure(azure, programs, 1 if options.quick else JOB_ROUNDS, options.nodes)
        finally:
            azure.stop()

    held = [
        *_report(times, served, warm, options.counts, say),
        *_report_catalog(known, times, say),
        _report_languages(spoken, say),
        _report_preflight(asked, say),
        _report_azure_cli(told, say),
        *_report_batch(worked, say),
        *_report_cluster(ran, say),
        *_report_endpoints(routed, say),
        *scoring.report(scored, say),
    ]
    figures = {f"{shape}-{count}": times[shape, count].seconds for shape, count in times}
    everything = {
        "machine_cores": os.cpu_count(),
        "preview_seconds": figures,
        "embedded_azure": asdict(served),
        "warm_up_seconds": asdict(warm),
        "catalog": asdict(known),
        "languages": asdict(spoken),
        "preflight": asdict(asked),
        "azure_cli": asdict(told),
        "batch_tasks": asdict(worked),
        "kubernetes_cluster": asdict(ran),
        "endpoints": {**asdict(routed), "overhead_ms": routed.overhead_ms},
        "scoring": asdict(scored),
    }
    say(json.dumps(everything))
    return 0 if all(held) or options.quick else 1


def _report(
    times: dict[tuple[str, int], previews.Times],
    served: embedded.Served,
    warm: warm_up.WarmUp,
    counts: tuple[int, ...],
    say: "partial[None]",
) -> list[bool]:
    """Says each figure; returns for each limit whether it holds."""
    held: list[bool] = []

    def limit(what: str, value: float, most: float) -> None:
        held.append(hold(what, value, most, say))

    for (shape, count), taken in times.items():
        say(f"preview of {count} groups, {shape}: {taken}")
    for count in counts:
        component = times["component", count].median
        limit(f"{count} groups, component to bare component", component / times["bare", count].median, COMPONENT_TO_BARE)
        say(f"{count} groups, component to flat resources: {component / times['flat', count].median:.2f}")
    small, large = min(counts), max(counts)
    if small != large:
        ratio = (times["component", large].median / large) / (times["component", small].median / small)
        limit(f"time per group, {large} to {small} groups", ratio, PER_RESOURCE_LARGE_TO_SMALL)
    engine_ms = times["flat", large].median / large * 1000
    say(f"the engine's own time per resource, flat preview of {large}: {engine_ms:.1f} ms")
    limit("embedded Azure, PUT and GET pair, p50 in ms", served.p50_ms, PAIR_P50_MS)
    say(f"  p95 {served.p95_ms:.1f} ms, longest {served.longest_ms:.1f} ms, {served.pairs} pairs")
    limit(f"embedded Azure, MiB resident with {served.pairs} resources", served.resident_mib, RESIDENT_MIB)
    limit("warm `up` of the local stack beyond its workloads' own run, in s", warm.beyond, WARM_UP_SECONDS)
    say(f"  whole {warm.whole:.1f} s, workloads {warm.workloads:.1f} s")
    return held


def _report_catalog(known: catalog.Catalog, times: dict[tuple[str, int], previews.Times], say: "partial[None]") -> list[bool]:
    preview = times["flat", known.checked].median
    say(f"checking {known.checked} resources: {known.check_seconds:.3f} s; flat preview of as many: {preview:.1f} s")
    say(f"loading the whole catalog beyond the standard library's modules, CPU in ms: {known.load_own_cpu_ms:.4g}")
    services = ", ".join(f"{name} {spent:.3g}" for name, spent in known.service_cpu_ms.items())
    say(f"loading what one service needs, and one answer, CPU in ms: {services}")
    modules = ", ".join(f"{name} {spent:.3g}" for name, spent in known.modules_cpu_ms.items())
    say(f"the same with every module of the service, CPU in ms: {modules}")
    slowest = max(known.service_cpu_ms.values())
    return [
        hold("loading what the slowest service needs, CPU in ms", slowest, CATALOG_SERVICE_CPU_MS, say),
        hold("loading the whole catalog with the standard library, CPU in ms", known.load_cpu_ms, CATALOG_LOAD_CPU_MS, say),
        hold(f"checking {known.checked} resources to previewing them", known.check_seconds / preview, CHECK_TO_PREVIEW, say),
    ]


def _report_languages(spoken: languages.Languages, say: "partial[None]") -> bool:
    say(f"preview of one stack, program in Python: {previews.Times(spoken.python)}; in YAML: {previews.Times(spoken.yaml)}")
    return hold("preview of a program in YAML to one in Python", spoken.ratio, YAML_TO_PYTHON, say)


def _report_preflight(asked: preflight.Preflight, say: "partial[None]") -> bool:
    say(f"online preflight, {asked.lists} lists: {asked.all_lists:.2f} s; the slowest alone: {asked.slowest_list:.2f} s")
    beyond = asked.all_lists - asked.slowest_list
    return hold("online preflight beyond its slowest list, in s", beyond, PREFLIGHT_BEYOND_SLOWEST_LIST, say)


def _report_azure_cli(told: azure_cli.FirstLine, say: "partial[None]") -> bool:
    created, by_hand, client = (statistics.median(each) for each in (told.created, told.by_hand, told.client))
    say(f"first log line after `az container create`: {created:.2f} s; by hand {by_hand:.3f} s, `az group show` {client:.2f} s")
    return hold("first log line to the same process by hand and `az group show`", told.ratio, FIRST_LOG_LINE, say)


def _report_batch(worked: batch_tasks.Tasks, say: "partial[None]") -> list[bool]:
    say(f"{worked.count} tasks of {worked.task_seconds} s on 8 slots: {worked.whole:.1f} s, submitting {worked.submitted:.2f} s")
    say(f"  by `xargs -P 8`: {worked.by_xargs:.1f} s, overhead of a task, p50 {worked.xargs_overhead_ms:.1f} ms")
    say(f"  p95 of a task's overhead {worked.overhead_p95_ms:.1f} ms")
    grown = worked.resident_after_mib - worked.resident_before_mib
    return [
        hold("Batch, overhead of a task, p50 in ms", worked.overhead_ms, TASK_OVERHEAD_MS, say),
        hold(f"Batch, MiB that the server grows by over {worked.count} tasks", grown, TASKS_MIB, say),
    ]


def _report_cluster(ran: kubernetes_cluster.Cluster, say: "partial[None]") -> list[bool]:
    lines = ", ".join(f"{each:.2f}" for each in ran.first_lines)
    say(f"first lines of Jobs on a cluster: {lines} s; its deletion: {ran.deleted:.1f} s")
    return [
        hold("a cluster with a node that is ready, in s", ran.ready, CLUSTER_READY_SECONDS, say),
        hold("`kubectl apply` of a Job to its first line, p50 in s", ran.first_line, JOB_FIRST_LINE_SECONDS, say),
        hold(f"{ran.pods} waiting GPU pods on {ran.nodes} nodes from zero, in s", ran.scheduled, PODS_SCHEDULED_SECONDS, say),
        hold("control plane and node agent, MiB resident", ran.resident_mib, CLUSTER_MIB, say),
    ]


def _report_endpoints(routed: endpoints.Endpoints, say: "partial[None]") -> list[bool]:
    say(
        f"a request to a container: p50 {routed.direct_p50:.2f} ms directly, {routed.routed_p50:.2f} ms (p99 "
        f"{routed.routed_p99:.2f}) through the endpoint; of {routed.shared} at 90 to 10, green got {routed.green}; a killed "
        f"container lost {routed.lost_by_kill} of {routed.answered_under_kill + routed.lost_by_kill}"
    )
    off = abs(routed.green - routed.shared * endpoints.GREEN / 100)
    return [
        hold("endpoints, what the router adds to a request, ms", routed.overhead_ms, ROUTER_MS, say),
        hold("endpoints, requests off 90 to 10", off, SHARE_OFF, say),
        hold("endpoints, requests lost by a killed container", routed.lost_by_kill, routed.clients, say),
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--counts", type=lambda text: tuple(int(each) for each in text.split(",")), default=(250, 1000))
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=25)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.counts, options.pairs, options.tasks, options.nodes = 1, (2, 5), 20, 20, 2
        options.requests = 200
    return options


if __name__ == "__main__":
    sys.exit(main())
