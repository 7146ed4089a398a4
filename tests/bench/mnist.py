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
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from tests.bench import results
from tests.workloads.workload_runs import MNIST, locked_python

HERE = Path(__file__).with_name("trained")
TRAINING = 2.0  # at least, times the fastest `fit`
WORKERS = 1.6  # at least, two on a core each to one on one
PEAK_MIB = 900
START = 1.5  # at most, times `import tensorflow`
BATCH_SIZES = ("100", "200", "500")
ACCURACY = {"MNIST": 0.97, "scikit-learn digits": 0.97}
# Little is sent for much that is computed: what an exchange of gradients is for. The perceptron is the opposite.
SHARED = ("--model", "convolution", "--batch-size", "256")
IMPORT = "import time; t = time.perf_counter(); import tensorflow; print(time.perf_counter() - t, time.process_time())"


def main() -> int:
    options = _options()
    say = partial(print, flush=True)
    python = locked_python(MNIST)
    busy = results.load()
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        first = _train(
            python,
            made / "first",
            options.data,
            "--steps",
            "1" if options.quick else "1000",
            "--evaluate-every",
            "100",
            "--min-accuracy",
            "0",
        )
        data = options.data or made / "first" / "digits"
        trained = _trainings(python, data, made / "ours", first["dataset"], options, say)
        started = _starts(python, made / "start", options.data, options.rounds)
        shared = _workers(python, made / "workers", options.data, options.rounds, 30 if options.quick else 60)
    pairs = trained["pairs"]
    wall = [fit["wall"] / ours["wall"] for fit, ours in pairs]
    cpu = [fit["cpu"] / ours["cpu"] for fit, ours in pairs]
    start_wall, start_cpu = ([ours[kind] / alone[kind] for alone, ours in started] for kind in ("wall", "cpu"))
    scale, scale_cpu = ([two[kind] / one[kind] for one, two in shared] for kind in ("clock", "cpu"))
    peak = first["peak_memory_mib"]
    held = [
        _hold(
            "training, times the fastest fit (clock)",
            results.spread(wall),
            statistics.median(wall) >= TRAINING,
            f"≥ {TRAINING}",
            say,
        ),
        _hold("two workers, times one", results.spread(scale), statistics.median(scale) >= WORKERS, f"≥ {WORKERS}", say),
        _hold("peak memory in MiB", str(peak), peak < PEAK_MIB, f"< {PEAK_MIB}", say),
        _hold(
            "start to the first step, times import tensorflow (clock)",
            results.spread(start_wall),
            statistics.median(start_wall) <= START,
            f"≤ {START}",
            say,
        ),
    ]
    say(
        f"  in processor time: training {results.spread(cpu)}, two workers {results.spread(scale_cpu)}, "
        f"start {results.spread(start_cpu)}"
    )
    if not options.quick:
        results.write(
            "mnist",
            "MNIST: training",
            _page(first, trained, wall, cpu, start_wall, start_cpu, shared, scale, scale_cpu, busy),
            trained["versions"],
        )
    say(json.dumps({"training": trained, "start": started, "workers": shared, "peak_memory_mib": peak, "load": busy}))
    return 0 if all(held) or options.quick else 1


def _trainings(python: Path, data: Path, folder: Path, dataset: str, options: argparse.Namespace, say: "partial[None]") -> dict:
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
            say(f"  {line.strip()}")
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
                running.append(
                    subprocess.Popen(
                        ["taskset", "-c", str(core), *map(str, command)],
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        text=True,
                        env=environment,
                    )
                )
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
    first: dict,
    trained: dict,
    wall: Sequence[float],
    cpu: Sequence[float],
    start_wall: Sequence[float],
    start_cpu: Sequence[float],
    shared: Sequence[tuple[dict, dict]],
    scale: Sequence[float],
    scale_cpu: Sequence[float],
    busy: str,
) -> list[str]:
    fit, ours = trained["pairs"][0]
    batch, jit, steps = fit["setting"]
    seconds = [[pair[which]["wall"] for pair in trained["pairs"]] for which in (0, 1)]
    rows = [
        ("training to the accuracy, times the fastest `fit`", results.spread(wall), results.spread(cpu), f"at least {TRAINING}"),
        (
            "two workers on a core each, times one on one core",
            results.spread(scale),
            results.spread(scale_cpu),
            f"at least {WORKERS}",
        ),
        (
            "start to the first step, times `import tensorflow`",
            results.spread(start_wall),
            results.spread(start_cpu),
            f"at most {START}",
        ),
        ("peak memory of a run, MiB", first["peak_memory_mib"], "", f"under {PEAK_MIB}"),
    ]
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
    return [
        f"The perceptron to an accuracy of {trained['target']} on the held-out images of {trained['dataset']}, looked at after "
        f"every epoch; products in {first['precision']}. The fastest `fit` of the sweep has a batch of {batch}, `jit_compile` "
        f"{'on' if jit else 'off'} and `steps_per_execution` {steps}: {results.spread(seconds[0])} s; the workload with a "
        f"batch of {ours['setting'][0]}: {results.spread(seconds[1])} s. {len(wall)} pairs in turn. The workers share a batch "
        f"of 256 of the convolution: {results.spread([one['clock'] for one, _ in shared], 1)} steps a second of one, "
        f"{results.spread([two['clock'] for _, two in shared], 1)} of two; in processor time, the busier of the two counts. "
        f"{results.load_sentence(busy)}",
        "",
        *results.table(("", "by the clock", "in processor time", "target"), rows),
        "",
        "The sweep of `fit`, by processor time, which other work on the machine hardly changes:",
        "",
        *results.table(("batch", "jit_compile", "steps_per_execution", "processor seconds"), compared),
    ]


def _hold(what: str, value: str, holds: bool, limit: str, say: "partial[None]") -> bool:
    say(f"{what}: {value}, limit {limit}: {'holds' if holds else 'FELL SHORT'}")
    return holds


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
