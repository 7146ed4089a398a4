"""`make bench-mnist`: the training beside Keras' own `fit`, two workers beside one, and how a run starts; in turn, in one run.

    --data DIR    MNIST's four files; default scikit-learn's digits
    --rounds N    pairs of each measurement; default 5
    --quick       one small pair of each: shows that it runs, holds nothing against a limit and writes no page

Ends with exit code 1 where a limit doesn't hold. The last line is one JSON object. Machines are busy: each figure is a ratio of
two runs one after the other, by the clock and, where a processor is what it waits for, in processor time.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.bench import results
from tests.bench.results import Bench, Limit
from tests.workloads.workload_runs import MNIST, locked_python

HERE = Path(__file__).with_name("trained")
TRAINING = Limit("at least", 2.2)  # times the fastest `fit`
WORKERS = Limit("at least", 1.6)  # two on a core each to one on one
PEAK_MIB = Limit("at most", 900)
START = Limit("at most", 1.3)  # times `import tensorflow`
BATCH_SIZES = ("100", "200", "500")
ACCURACY = {"MNIST": 0.97, "scikit-learn digits": 0.97}
# Little is sent for much that is computed: what an exchange of gradients is for. The perceptron is the opposite.
SHARED = ("--model", "convolution", "--batch-size", "256")
IMPORT = "import time; t = time.perf_counter(); import tensorflow; print(time.perf_counter() - t, time.process_time())"


def main() -> int:
    options = _options()
    bench = Bench(quick=options.quick)
    python = locked_python(MNIST)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        steps = ("--steps", "1" if options.quick else "1000", "--evaluate-every", "100", "--min-accuracy", "0")
        first = _train(python, made / "first", options.data, *steps)
        data = options.data or made / "first" / "digits"
        trained = _trainings(python, data, made / "ours", first["dataset"], options)
        started = _starts(python, made / "start", options.data, options.rounds)
        shared = _workers(python, made / "workers", options.data, options.rounds, 30 if options.quick else 60)
    peak = first["peak_memory_mib"]
    bench.figures |= {"training": trained, "start": started, "workers": shared, "peak_memory_mib": peak}
    rows = [
        (
            "training to the accuracy, times the fastest `fit`",
            TRAINING,
            _ratios(trained["pairs"], "wall"),
            _ratios(trained["pairs"], "cpu"),
        ),
        ("two workers on a core each, times one on one core", WORKERS, *(_ratios(shared, kind, 1) for kind in ("clock", "cpu"))),
        ("start to the first step, times `import tensorflow`", START, *(_ratios(started, kind, 1) for kind in ("wall", "cpu"))),
        ("peak memory of a run, MiB", PEAK_MIB, [peak], []),
    ]
    shown: list[tuple[object, ...]] = []
    for what, limit, clock, cpu in rows:
        bench.hold(what, limit, *clock)
        shown.append((what, results.spread(clock) if cpu else peak, results.spread(cpu) if cpu else "", limit))
        if cpu:
            bench.say(f"  in processor time {results.spread(cpu)}")
    if not options.quick:
        page = _page(first, trained, shown, shared, bench.figures["load"])
        results.write("mnist", "MNIST: training", page, trained["versions"])
    return bench.end()


def _ratios(pairs: Sequence[tuple[dict, dict]], kind: str, above: int = 0) -> list[float]:
    """Of each pair, of which `above` is the place of the one that is divided."""
    return [pair[above][kind] / pair[1 - above][kind] for pair in pairs]


def _trainings(python: Path, data: Path, folder: Path, dataset: str, options: argparse.Namespace) -> dict:
    target = 0.3 if options.quick else ACCURACY.get(dataset, 0.95)
    sizes = BATCH_SIZES[:1] if options.quick else BATCH_SIZES
    command = [python, HERE / "training.py", data, target, options.rounds, folder, *sizes]
    environment = {**os.environ, "PYTHONPATH": str(MNIST), "TF_CPP_MIN_LOG_LEVEL": "3"}
    sweep: list[dict] = []
    rounds: dict[str, list[dict]] = {"fit": [], "ours": []}
    versions: dict[str, str] = {}
    with subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as measuring:
        assert measuring.stdout is not None
        for line in measuring.stdout:
            told = json.loads(line)
            print(f"  {line.strip()}", flush=True)
            if "who" in told:
                rounds[told["who"]].append(told)
            elif "tensorflow" in told:
                versions = {"TensorFlow": told["tensorflow"], "Keras": told["keras"]}
            else:
                sweep.append(told)
    if measuring.returncode:
        sys.exit(f"bench: {command[1]} ended with {measuring.returncode}")
    pairs = list(zip(rounds["fit"], rounds["ours"], strict=True))
    return {"dataset": dataset, "target": target, "sweep": sweep, "pairs": pairs, "versions": versions}


def _starts(python: Path, folder: Path, data: Path | None, rounds: int) -> list[tuple[dict, dict]]:
    """Seconds of `import tensorflow` alone, and of the program from its start to the end of its first step; in turn."""
    pairs = []
    for _ in range(rounds):
        alone = subprocess.run([python, "-c", IMPORT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        wall, cpu = map(float, alone.stdout.split())
        report = _train(python, folder, data, "--steps", "1", "--min-accuracy", "0", "--evaluate-every", "1000")
        seconds = report["seconds"]
        print(f"  start: {wall} {cpu} {seconds}", flush=True)
        pairs.append(({"wall": wall, "cpu": cpu}, {"wall": seconds["to_first_step"], "cpu": seconds["cpu_to_first_step"]}))
    return pairs


def _workers(python: Path, folder: Path, data: Path | None, rounds: int, steps: int) -> list[tuple[dict, dict]]:
    """Steps a second of one worker on one core, and of two on a core each, of the same batch; in turn."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        sys.exit("bench: two workers need two cores")
    arguments = [*SHARED, "--steps", str(steps), "--evaluate-every", "100000", "--checkpoint-every", str(steps // 3)]
    arguments += ["--min-accuracy", "0", *(["--data-dir", str(data)] if data else [])]
    pairs = []
    for _ in range(rounds):
        rates = []
        for used in (cores[:1], cores):
            with ExitStack() as stack:
                listeners = [stack.enter_context(socket.socket()) for _ in used]
                for listener in listeners:
                    listener.bind(("127.0.0.1", 0))
                addresses = [f"127.0.0.1:{listener.getsockname()[1]}" for listener in listeners]
            running = []
            for index, core in enumerate(used):
                config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
                environment = {**os.environ, "TF_CONFIG": json.dumps(config) if len(used) > 1 else "", "PYTHONPATH": str(MNIST)}
                command = [python, "-m", "mnist_training", "--output-dir", folder / str(index), *arguments]
                pinned = ["taskset", "-c", str(core), *map(str, command)]
                pipe = subprocess.PIPE
                running.append(subprocess.Popen(pinned, stdout=pipe, stderr=pipe, text=True, env=environment))
            ended = [process.communicate() for process in running]
            if any(process.returncode for process in running):
                sys.exit(f"bench: a worker failed: {[errors[-500:] for _, errors in ended]}")
            reports = [json.loads(output.splitlines()[-1]) for output, _ in ended]
            rates.append({kind: min(report["steps_per_second"][kind] for report in reports) for kind in ("clock", "cpu")})
        pairs.append((rates[0], rates[1]))
        print(f"  workers: {rates}", flush=True)
    return pairs


def _train(python: Path, folder: Path, data: Path | None, *arguments: str) -> dict:
    command = [python, "-m", "mnist_training", "--output-dir", folder, *arguments, *(["--data-dir", data] if data else [])]
    environment = {**os.environ, "PYTHONPATH": str(MNIST), "TF_CONFIG": ""}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        sys.exit(f"bench: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _page(
    first: dict, trained: dict, rows: Sequence[Sequence[object]], shared: Sequence[tuple[dict, dict]], busy: str
) -> list[str]:
    fit, ours = trained["pairs"][0]
    batch, jit, steps = fit["setting"]
    seconds = [[pair[which]["wall"] for pair in trained["pairs"]] for which in (0, 1)]
    compared = [
        (
            f"{each['fit'][0]}",
            "on" if each["fit"][1] else "off",
            each["fit"][2],
            f"{each['cpu']:.2f}" if "cpu" in each else f"slower than {each['slower_than']:.2f}",
        )
        for each in trained["sweep"]
        if "fit" in each
    ]
    one, two = (results.spread([pair[which]["clock"] for pair in shared], 1) for which in (0, 1))
    return [
        f"The perceptron to an accuracy of {trained['target']} on the held-out images of {trained['dataset']}, looked at after "
        f"every epoch; products in {first['precision']}. The fastest `fit` of the sweep has a batch of {batch}, `jit_compile` "
        f"{'on' if jit else 'off'} and `steps_per_execution` {steps}: {results.spread(seconds[0])} s; the workload with a "
        f"batch of {ours['setting'][0]}: {results.spread(seconds[1])} s. {len(trained['pairs'])} pairs in turn. The workers "
        f"share a batch of 256 of the convolution: {one} steps a second of one, {two} of two; in processor time, the busier of "
        f"the two counts. {results.load_sentence(busy)}",
        "",
        *results.table(("", "by the clock", "in processor time", "target"), rows),
        "",
        "The sweep of `fit`, by processor time, which other work on the machine hardly changes:",
        "",
        *results.table(("batch", "jit_compile", "steps_per_execution", "processor seconds"), compared),
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.mnist")
    parser.add_argument("--data", type=lambda text: Path(text).resolve())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.rounds = 1
    return options


if __name__ == "__main__":
    sys.exit(main())
