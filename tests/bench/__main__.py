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
import sys
import tempfile
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
from tests.bench.results import Bench, Limit
from tests.support.embedded import ServedAzure, kubernetes_programs

CHECK_TO_PREVIEW = Limit("at most", 0.01)


def main() -> int:
    options = _options()
    bench = Bench(quick=options.quick)
    most = max(options.counts)
    check_seconds = catalog.measure(bench, most)  # first: what the others start would share its cores
    engine_bin = previews.built()
    programs = kubernetes_programs()
    if programs is None:
        sys.exit("bench: this machine has no build of Kubernetes: `make kubernetes` makes one")
    scoring.measure(bench, options.rounds, options.requests)
    with tempfile.TemporaryDirectory() as folder:
        azure = ServedAzure(Path(folder) / "azure")
        try:
            preview_seconds = previews.measure(bench, azure, engine_bin, options.counts, options.rounds)
            bench.hold(f"checking {most} resources to previewing them", CHECK_TO_PREVIEW, check_seconds / preview_seconds)
            languages.measure(bench, azure, engine_bin, 1 if options.quick else 5)
            embedded.measure(bench, azure, options.pairs)
            warm_up.measure(bench, azure, engine_bin)
            preflight.measure(bench, azure)
            azure_cli.measure(bench, azure, 1 if options.quick else 5)
            batch_tasks.measure(bench, azure, options.tasks)
            endpoints.measure(bench, azure, 100 if options.quick else 2000)
            kubernetes_cluster.measure(bench, azure, programs, 1 if options.quick else 9, options.nodes)
        finally:
            azure.stop()
    return bench.end()


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
