"""Labels of GPU feature discovery, acted out. Literals are NVIDIA's and from users' pages."""

from pathlib import Path
from typing import Any

from tests.localazure.kubernetes.gpu_world import World, eventually, pool
from tests.support.loopback import run

CONFIG = "/config/config.yaml"
RESOURCES = "    resources:\n    - name: nvidia.com/gpu\n      replicas: 4\n"
SLICED = f"version: v1\nsharing:\n  timeSlicing:\n{RESOURCES}"
RENAMED = f"version: v1\nsharing:\n  timeSlicing:\n    renameByDefault: true\n{RESOURCES}"
MPS = f"version: v1\nsharing:\n  mps:\n{RESOURCES}"
MIG = pool(name="mig", size="Standard_NC24ads_A100_v4", mig_profile="MIG1g")


class Nodes:
    """An API that keeps the labels of nodes."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, str]] = {}

    async def patch(self, path: str, body: Any) -> None:
        self.kept[path] = body["metadata"]["labels"]


def labels_of(world: World, config: str, **env: str) -> dict[str, str]:
    api = Nodes()

    async def whole() -> None:
        container = world.container(
            command=["gpu-feature-discovery"], env={"CONFIG_FILE": CONFIG, **env}, files={CONFIG: config}, api=api
        )
        async with container.running():
            await eventually(lambda: api.kept, container.text)

    run(whole())
    return api.kept[f"/api/v1/nodes/{world.node['name']}"]


def test_labels_say_which_gpus_a_node_has_and_how_they_are_shared(tmp_path: Path) -> None:
    labels = labels_of(World(tmp_path), SLICED)
    assert (
        labels.items()
        >= {
            "nvidia.com/gpu.product": "Tesla-T4-SHARED",
            "nvidia.com/gpu.count": "1",
            "nvidia.com/gpu.memory": "15360",
            "nvidia.com/gpu.replicas": "4",
            "nvidia.com/gpu.sharing-strategy": "time-slicing",
            "nvidia.com/gpu.family": "turing",
            "nvidia.com/gpu.compute.major": "7",
            "nvidia.com/gpu.compute.minor": "5",
            "nvidia.com/mps.capable": "false",
            "nvidia.com/mig.capable": "false",
            "nvidia.com/cuda.driver.major": "580",
            "nvidia.com/cuda.driver-version.full": "580.159.04",
        }.items()
    )
    assert "nvidia.com/mig.strategy" not in labels
    assert int(labels["nvidia.com/gfd.timestamp"]) > 0


def test_a_renamed_resource_keeps_the_products_name_and_mps_says_that_it_can(tmp_path: Path) -> None:
    renamed = labels_of(World(tmp_path / "a"), RENAMED)
    assert renamed["nvidia.com/gpu.product"] == "Tesla-T4"
    assert renamed["nvidia.com/gpu.replicas"] == "4"
    by_mps = labels_of(World(tmp_path / "b"), MPS)
    assert by_mps["nvidia.com/mps.capable"] == "true"
    assert by_mps["nvidia.com/gpu.sharing-strategy"] == "mps"


def test_labels_of_instances_by_strategy(tmp_path: Path) -> None:
    single = labels_of(World(tmp_path / "a", MIG), "version: v1\n", MIG_STRATEGY="single")
    assert single["nvidia.com/mig.strategy"] == "single"
    assert single["nvidia.com/gpu.product"] == "NVIDIA-A100-80GB-PCIe-MIG-1g.10gb"
    assert single["nvidia.com/gpu.count"] == "7"
    mixed = labels_of(World(tmp_path / "b", MIG), "version: v1\n", MIG_STRATEGY="mixed")
    assert mixed["nvidia.com/mig-1g.10gb.count"] == "7"
    assert mixed["nvidia.com/gpu.product"] == "NVIDIA-A100-80GB-PCIe"
    assert mixed["nvidia.com/gpu.count"] == "1"
