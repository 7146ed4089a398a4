"""From `az container create` to the first log line, against the same process started by hand and the client's own time.

The client's own time is that of `az group show`, whose one request takes milliseconds. All three are taken in each round, so that
a slow minute of the machine slows all of them. The image was pulled before.
"""

import json
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.azure_cli import AzureCli
from tests.support.embedded import SUBSCRIPTION, ServedAzure

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


@dataclass(frozen=True, slots=True)
class FirstLine:
    """Seconds of each round: to the first log line, of the same process by hand to its first line, and of `az group show`."""

    created: list[float]
    by_hand: list[float]
    client: list[float]

    @property
    def ratio(self) -> float:
        return statistics.median(self.created) / (statistics.median(self.by_hand) + statistics.median(self.client))


def measure(azure: ServedAzure, rounds: int) -> FirstLine:
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{GROUP}"
    azure.put(group, {"location": "eastus", "tags": {"as-of": "2019-06-01"}}, GROUPS).raise_for_status()
    az = AzureCli(azure, warm=False)
    file = azure.state / "bench-group.yaml"
    file.write_text(FILE, encoding="utf-8")
    _created(az, file, f"{group}/providers/Microsoft.ContainerInstance/containerGroups/warm")  # builds the image, loads `az`
    spec = _spec(azure)
    times = FirstLine([], [], [])
    for number in range(rounds):
        times.client.append(_client(az))
        times.by_hand.append(_by_hand(spec))
        times.created.append(_created(az, file, f"{group}/providers/Microsoft.ContainerInstance/containerGroups/round-{number}"))
    azure.finished(azure.delete(group, GROUPS))
    return times


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
    done = az("group", "show", "--name", GROUP, "--output", "none")
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
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
