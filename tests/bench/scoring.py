"""Scoring against two baselines in the same run: `keras.predict` (A), and a plain SavedModel signature with the json module (B).

The baselines run as the documents deploy them: the inference server with its own defaults, one worker. B runs in the set-up of
`workloads/scoring` too, so that what the script gains and what the set-up gains can be told apart. A process that does nothing
else asks them: one client all in turn, some requests at a time, and 32 clients one server after another in each round. Images
are of 64 x 64 pixels in colour, the model is small.
"""

import argparse
import base64
import io
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
from PIL import Image

from tests.bench import results
from tests.bench.results import Bench, Limit
from tests.support.embedded import until
from tests.workloads.workload_runs import SCORING, locked_python

HERE = Path(__file__).with_name("scored")
IMAGES, CLIENTS, SIDE = 32, 32, 64
UNBOUNDED = 10**9
SECONDS = 2.0  # of each measurement
P50, P99_TO_P50 = Limit("at most", 0.8), Limit("at most", 3)
MORE_IMAGES = Limit("at least", 8)  # a second, of the same JSON
MIB = Limit("at most", 10)  # the more requests, the surer
A, B, B_SIZED, OURS = "keras.predict", "signature and json", "signature and json, our set-up", "ours"
PNG, JSON, BASE64, NPY = "one.png", "pixels.json", "base64.json", "pixels.npy"
TYPES = {PNG: "image/png", JSON: "application/json", BASE64: "application/json", NPY: "application/x-npy"}


def measure(bench: Bench, rounds: int, requests: int) -> list[str]:
    """The tables of the page. Ratios are of each round, so that a busy moment of the machine weighs on both."""
    seconds = SECONDS / 10 if bench.quick else SECONDS
    python = locked_python(SCORING)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers:
        made = Path(folder)
        subprocess.run([python, HERE / "make_models.py", made], check=True, capture_output=True)
        _write_bodies(made)
        stock = [python, "-m", "azureml_inference_server_http"]
        sized = [python, SCORING / "serve.py"]
        commands = {
            A: [*stock, "--entry_script", HERE / "baseline_keras.py"],
            B: [*stock, "--entry_script", HERE / "baseline_signature.py"],
            B_SIZED: [*sized, "--entry_script", HERE / "baseline_signature.py"],
            OURS: sized,
        }
        running = {name: servers.enter_context(_server(command, made, name)) for name, command in commands.items()}
        ports = {name: port for name, (port, _) in running.items()}
        _same_answers(ports, made)
        # Once is enough to see how far off A is.
        one = {A: _load([ports[A]], made, PNG, seconds), **{name: [] for name in (B, B_SIZED, OURS)}}
        many: dict[str, list[float]] = {}
        for number in range(rounds):
            small = [name for name in ports if name != A]
            for name, run in zip(small, _load([ports[name] for name in small], made, PNG, 2 * seconds), strict=True):
                one[name].append(run)
            bodies = [(name, JSON) for name in ports if name != A or number == 0]
            for name, body in [*bodies, (OURS, BASE64), (OURS, NPY)]:
                (run,) = _load([ports[name]], made, body, seconds, CLIENTS, may_refuse=name != OURS)
                shown = name if body == JSON else f"{name}, {body}"
                many.setdefault(shown, []).append(IMAGES * (len(run.milliseconds) - run.refused) / run.seconds)
        process = running[OURS][1]
        _load([ports[OURS]], made, PNG, UNBOUNDED, CLIENTS, max(requests // 10, 200))
        before = results.resident_mib(process.pid, children=True)
        _load([ports[OURS]], made, PNG, UNBOUNDED, 4, requests)
        after = results.resident_mib(process.pid, children=True)
    p50, p99 = ({name: [run.percentile(percent) for run in runs] for name, runs in one.items()} for percent in (50, 99))
    found = {"p50_ms": p50, "p99_ms": p99, "images_a_second": many, "requests": requests}
    bench.figures["scoring"] = found | {"resident_mib": [before, after]}
    held = [
        ("p50 of one PNG at one client, to the plain signature's", P50, _ratios(p50[OURS], p50[B])),
        ("p99 to p50 of one PNG", P99_TO_P50, _ratios(p99[OURS], p50[OURS])),
        (f"images a second of {CLIENTS} clients, times the plain signature's", MORE_IMAGES, _ratios(many[OURS], many[B])),
        (f"MiB that the workers grow by over {requests} requests", MIB, [after - before]),
    ]
    for what, limit, values in held:
        bench.hold(f"scoring, {what}", limit, *values)
    times = {name: results.spread(p50[name], 1) if name in p50 else "" for name in many}
    of_servers = [(name, times[name], results.spread(images, 0)) for name, images in many.items()]
    lines = results.table(("server", "p50 of one PNG, ms", "images a second"), of_servers)
    bench.say("\n".join(lines))
    ratios = [(what, results.spread(values), limit) for what, limit, values in held]
    return [*results.table(("", "ratio", "target"), ratios), "", *lines]


def _ratios(of: Sequence[float], to: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(of, to, strict=True)]


def main() -> int:
    """`make bench-scoring`: these figures alone, and their section of the page of results."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scoring")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--quick", action="store_true", help="small numbers, no limit, no page")
    options = parser.parse_args()
    bench = Bench(quick=options.quick)
    if options.quick:
        options.rounds, options.requests = 1, 200
    tables = measure(bench, options.rounds, options.requests)
    if not options.quick:
        text = (
            "`workloads/scoring` beside the inference server with its own defaults, which calls `keras.predict` or a plain "
            f"signature with the json module; the second also in our set-up. Images of {SIDE} x {SIDE} pixels in colour, "
            f"{IMAGES} in each request of the {CLIENTS} clients. {results.load_sentence(bench.figures['load'])}"
        )
        results.write("scoring", "Scoring: requests", [text, "", *tables], _versions())
    return bench.end()


def _versions() -> dict[str, str]:
    script = "from importlib.metadata import version as v; print(v('tensorflow'), v('azureml-inference-server-http'))"
    said = subprocess.run([locked_python(SCORING), "-c", script], capture_output=True, text=True, check=True).stdout.split()
    return dict(zip(("TensorFlow", "azureml-inference-server-http"), said, strict=True))


class _Run(NamedTuple):
    seconds: float
    milliseconds: list[float]
    refused: int  # requests
    first: str  # answer

    def percentile(self, percent: int) -> float:
        if len(self.milliseconds) == 1:  # a short run on a busy machine
            return self.milliseconds[0]
        return statistics.quantiles(self.milliseconds, n=100, method="inclusive")[percent - 1]


def _load(
    ports: Sequence[int],
    folder: Path,
    body: str,
    seconds: float,
    clients: int = 1,
    requests: int = UNBOUNDED,
    *,
    may_refuse: bool = False,
) -> list[_Run]:
    """A run of each server. `may_refuse`: an overloaded baseline answers some requests with an error or closes the connection;
    they don't count."""
    arguments = [",".join(map(str, ports)), str(clients), str(seconds), str(requests), str(folder / body), TYPES[body]]
    said = results.succeeded(
        subprocess.run([sys.executable, str(HERE / "load.py"), *arguments], capture_output=True, text=True, check=False)
    )
    runs = [json.loads(line) for line in said.splitlines()]
    for run in runs:
        if run["failed"] and not may_refuse:
            raise RuntimeError(f"{run['failed']} requests failed, the first with: {run['refusal'][:200]}")
    return [_Run(run["seconds"], run["milliseconds"], run["failed"], run["first"]) for run in runs]


@contextmanager
def _server(command: Sequence[str | Path], model: Path, name: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    environment = {"AZUREML_MODEL_DIR": str(model), "TF_CPP_MIN_LOG_LEVEL": "2"}
    environment |= {"HOME": str(model), "PATH": os.environ["PATH"]}
    with (model / f"{name}.log").open("wb") as log:
        words = [*command, "--port", str(port)]
        process = subprocess.Popen(words, cwd=model, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:

        def healthy() -> bool:
            if process.poll() is not None:
                raise RuntimeError(f"{name}: {(model / f'{name}.log').read_text()[-2000:]}")
            try:
                return httpx.get(f"http://127.0.0.1:{port}/", trust_env=False).text == "Healthy"
            except httpx.TransportError:
                return False

        until(healthy, f"the server of {name}")
        yield port, process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _write_bodies(folder: Path) -> None:
    """32 images with some structure, so that their files are neither noise nor one colour."""
    rows = range(SIDE)
    images = [
        [[[(x * (n + 1) + 2 * y) % 256, (3 * y + 8 * n) % 256, (2 * (x + y) + n) % 256] for x in rows] for y in rows]
        for n in range(IMAGES)
    ]
    flat = [bytes(channel for row in image for pixel in row for channel in pixel) for image in images]
    files = []
    for pixels in flat:
        file = io.BytesIO()
        Image.frombytes("RGB", (SIDE, SIDE), pixels).save(file, "PNG")
        files.append(file.getvalue())
    (folder / PNG).write_bytes(files[0])
    (folder / JSON).write_text(json.dumps({"inputs": images}))
    (folder / BASE64).write_text(json.dumps({"inputs": [base64.b64encode(file).decode() for file in files]}))
    header = repr({"descr": "|u1", "fortran_order": False, "shape": (IMAGES, SIDE, SIDE, 3)}).encode() + b"\n"
    magic = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
    (folder / NPY).write_bytes(magic + header + b"".join(flat))


def _same_answers(ports: Mapping[str, int], folder: Path) -> None:
    """A baseline that answers something else would be none. This is the first request of each, too."""
    for body in (PNG, JSON):
        rows = {}
        for name, port in ports.items():
            said = json.loads(_load([port], folder, body, UNBOUNDED, requests=5)[0].first)
            rows[name] = said["scores"] if name == OURS else said
        for name, scores in rows.items():
            pairs = [pair for row, other in zip(scores, rows[OURS], strict=True) for pair in zip(row, other, strict=True)]
            if (differ := max(abs(one - other) for one, other in pairs)) > 1e-3:
                raise RuntimeError(f"{name} differs from {OURS} by {differ} on {body}")


if __name__ == "__main__":
    sys.exit(main())
