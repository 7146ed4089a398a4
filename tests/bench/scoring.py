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
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import httpx
from PIL import Image

from tests.bench import results
from tests.support.embedded import until
from tests.workloads.workload_runs import SCORING, locked_python

HERE = Path(__file__).with_name("scored")
IMAGES, CLIENTS, SIDE = 32, 32, 64
START_SECONDS = 180
UNBOUNDED = 10**9
SECONDS = 2.0  # of each measurement
P50 = 0.8  # of one PNG at one client, to the signature with the json module
P99_TO_P50 = 3.0
MORE_IMAGES = 8.0  # a second, of the same JSON, to the signature with the json module
MIB = 10.0  # that the server's workers grow by; the more requests, the surer
A, B, B_SIZED, OURS = "keras.predict", "signature and json", "signature and json, our set-up", "ours"
PNG, JSON, BASE64, NPY = "one.png", "pixels.json", "base64.json", "pixels.npy"
TYPES = {PNG: "image/png", JSON: "application/json", BASE64: "application/json", NPY: "application/x-npy"}


@dataclass(frozen=True, slots=True)
class Scoring:
    """Milliseconds of one PNG at one client, images a second of 32 clients with 32 images a request; one value a round, and of A
    one in all."""

    p50_ms: Mapping[str, Sequence[float]]
    p99_ms: Mapping[str, Sequence[float]]
    images_a_second: Mapping[str, Sequence[float]]  # by server and form of the body
    requests: int  # between the two readings of memory
    resident_before_mib: float  # all workers together
    resident_after_mib: float

    @property
    def p50_ratio(self) -> list[float]:
        return self.ratio(self.p50_ms, OURS, B)

    @property
    def images_ratio(self) -> list[float]:
        return self.ratio(self.images_a_second, form(OURS, JSON), form(B, JSON))

    @property
    def tail(self) -> list[float]:
        return [p99 / p50 for p99, p50 in zip(self.p99_ms[OURS], self.p50_ms[OURS], strict=True)]

    def ratio(self, figures: Mapping[str, Sequence[float]], which: str, to: str) -> list[float]:
        """Of each round, so that a busy moment of the machine weighs on both."""
        return [one / other for one, other in zip(figures[which], figures[to], strict=True)]


def measure(rounds: int, seconds: float, requests: int) -> Scoring:
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
        one: dict[str, list[_Run]] = {name: [] for name in ports}
        many: dict[str, list[float]] = {}
        for number in range(rounds):
            asked = [name for name in ports if name != A or number == 0]  # once is enough to see how far off it is
            if number == 0:
                one[A].append(_load(ports[A], made, PNG, clients=1, seconds=seconds))
            small = [name for name in ports if name != A]
            for name, run in zip(small, _in_turn([ports[name] for name in small], made, PNG, 2 * seconds), strict=True):
                one[name].append(run)
            bodies = [(name, JSON) for name in asked] + [(OURS, BASE64), (OURS, NPY)]
            for name, body in bodies:
                run = _load(ports[name], made, body, CLIENTS, seconds, may_refuse=name != OURS)
                many.setdefault(form(name, body), []).append(IMAGES * (len(run.milliseconds) - run.refused) / run.seconds)
        process = running[OURS][1]
        _load(ports[OURS], made, PNG, CLIENTS, UNBOUNDED, requests=max(requests // 10, 200))
        before = _resident_mib(process)
        _load(ports[OURS], made, PNG, clients=4, seconds=UNBOUNDED, requests=requests)
        after = _resident_mib(process)
    return Scoring(
        {name: [run.percentile(50) for run in runs] for name, runs in one.items()},
        {name: [run.percentile(99) for run in runs] for name, runs in one.items()},
        many,
        requests,
        before,
        after,
    )


def report(scored: Scoring, say: "partial[None]") -> list[bool]:
    """Says each figure; returns for each limit whether it holds."""
    for name, times in scored.p50_ms.items():
        say(f"one PNG at one client, {name}: p50 {_each(times)} ms, p99 {_each(scored.p99_ms[name])} ms")
    for name, images in scored.images_a_second.items():
        say(f"{CLIENTS} clients, {IMAGES} images a request, {name}: {_each(images)} images a second")
    say(
        f"  ratios to the baseline in each round: p50 {_each(scored.p50_ratio)}, images a second {_each(scored.images_ratio)}; "
        f"p99 to p50 {_each(scored.tail)}"
    )
    grown = scored.resident_after_mib - scored.resident_before_mib
    return [
        results.hold("scoring, p50 of one PNG to the plain signature's", statistics.median(scored.p50_ratio), P50, say),
        results.hold("scoring, p99 to p50 of one PNG", statistics.median(scored.tail), P99_TO_P50, say),
        results.hold(
            "scoring, the plain signature's images a second to ours",
            1 / statistics.median(scored.images_ratio),
            1 / MORE_IMAGES,
            say,
        ),
        results.hold(f"scoring, MiB that the workers grow by over {scored.requests} requests", grown, MIB, say),
    ]


def main() -> int:
    """`make bench-scoring`: these figures alone, and their section of the page of results."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scoring")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--quick", action="store_true", help="small numbers, no limit, no page")
    options = parser.parse_args()
    say = partial(print, flush=True)
    busy = results.load()
    if options.quick:
        options.rounds, options.requests = 1, 200
    scored = measure(options.rounds, SECONDS / 10 if options.quick else SECONDS, options.requests)
    held = report(scored, say)
    if not options.quick:
        results.write("scoring", "Scoring: requests", _page(scored, busy), _versions())
    say(json.dumps({**asdict(scored), "load": busy}))
    return 0 if all(held) or options.quick else 1


def _page(scored: Scoring, busy: str) -> list[str]:
    grown = scored.resident_after_mib - scored.resident_before_mib
    ratios = [
        ("p50 of one PNG at one client, to the plain signature's", results.spread(scored.p50_ratio), f"at most {P50}"),
        ("p99 to p50 of one PNG", results.spread(scored.tail), f"at most {P99_TO_P50:g}"),
        (
            f"images a second of {CLIENTS} clients, times the plain signature's",
            results.spread(scored.images_ratio, 1),
            f"at least {MORE_IMAGES:g}",
        ),
        (f"MiB that the workers grow by over {scored.requests} requests", f"{grown:.1f}", f"at most {MIB:g}"),
    ]
    servers = [
        (
            name,
            results.spread(scored.p50_ms[name], 1) if name in scored.p50_ms else "",
            results.spread(images, 0),
        )
        for name in scored.p50_ms
        for images in [scored.images_a_second.get(form(name, JSON), ())]
        if images
    ]
    others = [(name, "", results.spread(images, 0)) for name, images in scored.images_a_second.items() if not name.endswith(JSON)]
    return [
        "`workloads/scoring` beside the inference server with its own defaults, which calls `keras.predict` or a plain signature "
        f"with the json module; the second also in our set-up. Images of {SIDE} x {SIDE} pixels in colour, {IMAGES} in each "
        f"request of the {CLIENTS} clients. "
        f"{results.load_sentence(busy)}",
        "",
        *results.table(("", "ratio", "target"), ratios),
        "",
        *results.table(("server", "p50 of one PNG, ms", "images a second"), [*servers, *others]),
    ]


def _versions() -> dict[str, str]:
    script = "from importlib.metadata import version as v; print(v('tensorflow'), v('azureml-inference-server-http'))"
    said = subprocess.run([locked_python(SCORING), "-c", script], capture_output=True, text=True, check=True).stdout.split()
    return dict(zip(("TensorFlow", "azureml-inference-server-http"), said, strict=True))


def _each(figures: Sequence[float]) -> str:
    return ", ".join(f"{each:.3g}" for each in figures)


def form(name: str, body: str) -> str:
    """How `images_a_second` calls a server that gets this body."""
    return f"{name}, {body}"


@dataclass(frozen=True, slots=True)
class _Run:
    seconds: float
    milliseconds: list[float]
    refused: int  # requests
    first: str  # answer

    def percentile(self, percent: int) -> float:
        if len(self.milliseconds) == 1:  # a short run on a busy machine
            return self.milliseconds[0]
        return statistics.quantiles(self.milliseconds, n=100, method="inclusive")[percent - 1]


def _load(
    port: int, folder: Path, body: str, clients: int, seconds: float, requests: int = UNBOUNDED, *, may_refuse: bool = False
) -> _Run:
    """`may_refuse`: an overloaded baseline answers some requests with an error or closes the connection; they don't count."""
    (run,) = _runs(port, clients, seconds, requests, folder / body, TYPES[body], may_refuse=may_refuse)
    return run


def _in_turn(ports: Sequence[int], folder: Path, body: str, seconds: float) -> list[_Run]:
    return _runs(",".join(map(str, ports)), 1, seconds, UNBOUNDED, folder / body, TYPES[body])


def _runs(*arguments: object, may_refuse: bool = False) -> list[_Run]:
    done = subprocess.run([sys.executable, HERE / "load.py", *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"load.py {' '.join(map(str, arguments))} ended with {done.returncode}: {done.stderr[-2000:]}")
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    for said in runs:
        if said["failed"] and not may_refuse:
            raise RuntimeError(f"{said['failed']} requests failed, the first with: {said['refusal'][:200]}")
    return [_Run(said["seconds"], said["milliseconds"], said["failed"], said["first"]) for said in runs]


@contextmanager
def _server(command: Sequence[str | Path], model: Path, name: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    environment = {"AZUREML_MODEL_DIR": str(model), "TF_CPP_MIN_LOG_LEVEL": "2", "HOME": str(model)}
    with (model / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=model,
            env={"PATH": os.environ["PATH"], **environment},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:

        def healthy() -> bool:
            if process.poll() is not None:
                raise RuntimeError(f"{name}: {(model / f'{name}.log').read_text()[-2000:]}")
            try:
                return httpx.get(f"http://127.0.0.1:{port}/", trust_env=False).text == "Healthy"
            except httpx.TransportError:
                return False

        until(healthy, f"the server of {name}", START_SECONDS)
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
            said = json.loads(_load(port, folder, body, clients=1, seconds=UNBOUNDED, requests=5).first)
            rows[name] = said["scores"] if name == OURS else said
        for name, scores in rows.items():
            differ = max(
                abs(a - b) for row, other in zip(scores, rows[OURS], strict=True) for a, b in zip(row, other, strict=True)
            )
            if differ > 1e-3:
                raise RuntimeError(f"{name} differs from {OURS} by {differ} on {body}")


def _resident_mib(process: subprocess.Popen[bytes]) -> float:
    """Of the server's workers: the children of its first process."""
    said = subprocess.run(["ps", "-o", "rss=", "--ppid", str(process.pid)], capture_output=True, text=True, check=True).stdout
    return sum(int(line) for line in said.split()) / 1024


if __name__ == "__main__":
    sys.exit(main())
