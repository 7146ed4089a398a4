"""From `az container create` to the first log line, against the same process started by hand and the client's own time.

The client's own time is that of `az group show`, whose one request takes milliseconds. All three are taken in each round, so that
a slow minute of the machine slows all of them. The image was pulled before.
"""

import json
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.bench.results import Bench, Limit, succeeded
from tests.support.azure_cli import AzureCli
from tests.support.embedded import SUBSCRIPTION, ServedAzure

FIRST_LOG_LINE = Limit("at most", 1.5)  # to the same process started by hand and the Azure CLI's own time
GROUP = "bench-az"
CONTAINER = "adder"
LIMIT_SECONDS = 60
POLL_SECONDS = 0.02
GROUPS = "2024-03-01"
CONTAINER_GROUPS = "2018-10-01"
FILE = f"""
apiVersion: '{CONTAINER_GROUPS}'
properties:
  osType: Linux
  restartPolicy: Never
  containers:
  - name: {CONTAINER}
    properties:
      image: k8s-gcrio.azureedge.net/cuda-vector-add:v0.1
      resources: {{requests: {{cpu: 1, memoryInGB: 1.5}}}}
"""


def measure(bench: Bench, azure: ServedAzure, rounds: int) -> None:
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{GROUP}"
    azure.put(group, {"location": "eastus", "tags": {"as-of": "2019-06-01"}}, GROUPS).raise_for_status()
    az = AzureCli(azure, warm=False)
    file = azure.state / "bench-group.yaml"
    file.write_text(FILE, encoding="utf-8")
    _created(az, file, f"{group}/providers/Microsoft.ContainerInstance/containerGroups/warm")  # builds the image, loads `az`
    spec = _spec(azure)
    rows = [
        (
            _created(az, file, f"{group}/providers/Microsoft.ContainerInstance/containerGroups/{number}"),
            _by_hand(spec),
            _client(az),
        )
        for number in range(rounds)
    ]
    azure.finished(azure.delete(group, GROUPS))
    created, by_hand, client = (statistics.median(each) for each in zip(*rows, strict=True))
    bench.figures["azure_cli"] = {"created": created, "by_hand": by_hand, "client": client}
    bench.say(
        f"first log line after `az container create`: {created:.2f} s; by hand {by_hand:.3f} s, `az group show` {client:.2f} s"
    )
    bench.hold("first log line to the same process by hand and `az group show`", FIRST_LOG_LINE, created / (by_hand + client))


def _created(az: AzureCli, file: Path, group: str) -> float:
    began = time.perf_counter()
    create = ["az", "container", "create", "-g", GROUP, "-n", group.rsplit("/", 1)[-1], "--file", str(file), "-o", "none"]
    child = subprocess.Popen(create, env=az.environment, stderr=subprocess.PIPE, text=True)
    try:
        while time.perf_counter() < began + LIMIT_SECONDS:
            answer = az.azure.get(f"{group}/containers/{CONTAINER}/logs", CONTAINER_GROUPS)
            if answer.status_code == 200 and "\n" in answer.json()["content"]:
                return time.perf_counter() - began
            time.sleep(POLL_SECONDS)
    finally:
        _, said = child.communicate(timeout=LIMIT_SECONDS)
    raise RuntimeError(f"no log line of {group} in {LIMIT_SECONDS} s: {said}")


def _client(az: AzureCli) -> float:
    began = time.perf_counter()
    succeeded(az("group", "show", "--name", GROUP, "--output", "none"))
    return time.perf_counter() - began


def _spec(azure: ServedAzure) -> dict[str, Any]:
    """Program, variables and folder of the container that ran, as its shim read them."""
    (file,) = azure.state.glob(f"containers/**/{CONTAINER}/spec.json")
    return json.loads(file.read_text())


def _by_hand(spec: dict[str, Any]) -> float:
    began = time.perf_counter()
    with subprocess.Popen(spec["argv"], env=spec["env"], cwd=spec["workdir"], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        took = time.perf_counter() - began
        child.communicate(timeout=LIMIT_SECONDS)
    return took
