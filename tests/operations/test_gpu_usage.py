"""`gpu-usage`: what DCGM's pages and nvidia-smi's output say of GPUs and jobs, in tables, in JSON, before and after."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import pod_of
from azure_gpu_operations.gpu_usage.gathering import (
    NoFiguresError,
    dcgm_uses,
    gather,
    samples,
    smi_gpus,
    smi_processes,
    smi_shares,
)
from azure_gpu_operations.gpu_usage.reading import WHOLE_GPU, GpuUse, JobUse, Reading, changes, keep, kept, show
from tests.operations import kubernetes_bodies as bodies

LABELS = 'gpu="0",UUID="GPU-1",pci_bus_id="00000001:00:00.0",device="nvidia0",modelName="Tesla T4",Hostname="n1"'
POD = f'{LABELS},container="main",namespace="jobs",pod="train-1"'
PAGE = f"""\
# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{{{POD}}} 37
DCGM_FI_DEV_FB_FREE{{{POD}}} 12288
DCGM_FI_DEV_FB_USED{{{POD}}} 3072
DCGM_FI_DEV_XID_ERRORS{{{POD},err_msg="a \\"b\\", c"}} 0
DCGM_FI_DEV_POWER_USAGE{{{POD}}} NaN
"""
MIG = """\
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",UUID="GPU-2",modelName="NVIDIA A100 80GB PCIe",GPU_I_PROFILE="1g.10gb",GPU_I_ID="7"} 0.25
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-2",modelName="NVIDIA A100 80GB PCIe",GPU_I_PROFILE="1g.10gb",GPU_I_ID="7"} 512
DCGM_FI_DEV_FB_FREE{gpu="0",UUID="GPU-2",modelName="NVIDIA A100 80GB PCIe",GPU_I_PROFILE="1g.10gb",GPU_I_ID="7"} 9216
"""
GPUS = "0, GPU-1, Tesla T4, 60, 3072, 15360\n1, GPU-2, Tesla T4, [N/A], [N/A], 15360\n"
PMON = """\
# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command
# Idx           #    C/G      %      %      %      %      %      %    name
    0       4711     C     25      3      -      -      -      -    python
    0       4712     C      -      -      -      -      -      -    python
"""


def body(name: str, node: str = "n1", gpus: int = 1, **more: Any) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    return bodies.pod(name, phase="Running", node=node, container=bodies.running(), limits=limits, **more)


def test_a_page_of_the_exporter_is_read_label_by_label() -> None:
    found = {each.name: each for each in samples(PAGE)}
    assert found["DCGM_FI_DEV_GPU_UTIL"].value == 37
    assert found["DCGM_FI_DEV_XID_ERRORS"].labels["err_msg"] == 'a "b", c'
    assert "DCGM_FI_DEV_POWER_USAGE" not in found  # no number


def test_dcgm_tells_totals_and_the_pod_on_each_gpu() -> None:
    gpus, jobs = dcgm_uses({"n1": PAGE}, [pod_of(body("train-1"))])
    assert gpus == [GpuUse("n1", "0", "Tesla T4", 37, 3072, 15360, "GPU-1")]
    assert jobs == [JobUse("jobs", "train-1", "train", "n1", "0", 37, 3072)]


def test_pods_that_share_a_gpu_are_not_told_apart_and_that_is_said() -> None:
    _, jobs = dcgm_uses({"n1": PAGE}, [pod_of(body("train-1")), pod_of(body("serve-2"))])
    assert [(each.pod, each.utilisation, each.note) for each in jobs] == [
        ("train-1", 37, WHOLE_GPU),
        ("serve-2", None, "DCGM doesn't distinguish pods that share a GPU"),
    ]
    virtual = PAGE + PAGE.replace("train-1", "serve-2")  # as with --kubernetes-virtual-gpus
    _, jobs = dcgm_uses({"n1": virtual}, [pod_of(body("train-1")), pod_of(body("serve-2"))])
    assert [(each.pod, each.utilisation, each.note) for each in jobs] == [("serve-2", 37, WHOLE_GPU), ("train-1", 37, WHOLE_GPU)]


def test_a_mig_instance_is_told_by_its_engine() -> None:
    gpus, _ = dcgm_uses({"n1": MIG}, [])
    assert gpus == [GpuUse("n1", "0/1g.10gb/7", "NVIDIA A100 80GB PCIe", 25, 512, 9728, "GPU-2")]


def test_nvidia_smi_is_read_with_what_it_does_not_know() -> None:
    assert smi_gpus(GPUS, "n1") == [
        GpuUse("n1", "0", "Tesla T4", 60, 3072, 15360, "GPU-1"),
        GpuUse("n1", "1", "Tesla T4", None, None, 15360, "GPU-2"),
    ]
    assert smi_gpus("No devices were found\n", "n1") == []
    assert [each.used_mib for each in smi_processes("GPU-1, 4711, 1024\nGPU-1, 4712, [N/A]\n")] == [1024, None]


def test_the_share_of_a_process_stands_in_the_column_that_the_heading_names() -> None:
    assert smi_shares(PMON) == {4711: 25}
    moved = "# gpu pid type fb sm command\n# Idx # C/G MB % name\n 0 5 C 100 7 python\n"
    assert smi_shares(moved) == {5: 7}
    assert smi_shares("Not supported on the device(s)\n") == {}


class Cluster:
    """Pods with what they answer; everything else fails."""

    def __init__(self, pods: Sequence[dict[str, Any]], pages: Any = None, outputs: Any = None) -> None:
        self.pods, self.pages, self.outputs = list(pods), pages or {}, outputs or {}

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        if "labelSelector" in query:
            name = "dcgm-exporter" if query["labelSelector"].endswith("/name=dcgm-exporter") else ""
            return [each for each in self.pods if name and each["metadata"]["name"].startswith(name)]
        return self.pods

    def page_of(self, namespace: str, pod: str, port: int, path: str) -> str:
        if (pod, port) not in self.pages:
            raise ClusterError(f"port {port} of {pod} can't be reached")
        return self.pages[pod, port]

    def execute(self, namespace: str, pod: str, container: str, command: Sequence[str]) -> str:
        for words, output in self.outputs.get(pod, {}).items():
            if words in " ".join(command):
                return output
        raise ClusterError(f"{command[0]} can't be run in {pod}", 500)


def test_the_exporter_is_asked_first_at_its_own_port() -> None:
    exporter = body("dcgm-exporter-abc", gpus=0)
    exporter["spec"]["containers"][0]["ports"] = [{"name": "metrics", "containerPort": 19400}]
    cluster = Cluster([exporter, body("train-1")], pages={("dcgm-exporter-abc", 19400): PAGE})
    found = gather(cluster, "auto", "jobs", print)
    assert (found.source, found.total.utilisation, len(found.jobs)) == ("dcgm", 37, 1)


def test_without_an_exporter_nvidia_smi_runs_in_the_pods_that_use_gpus() -> None:
    environment = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "0"}]
    edge = body("serve-2", gpus=0)
    edge["spec"]["containers"][0]["env"] = environment
    none = body("web-3", gpus=0)
    none["spec"]["containers"][0]["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "none"}]
    outputs = {
        "train-1": {"query-gpu": GPUS.splitlines()[0], "query-compute-apps": "GPU-1, 4711, 1024", "pmon": PMON},
        "serve-2": {"query-gpu": GPUS.splitlines()[0], "query-compute-apps": ""},
    }
    found = gather(Cluster([body("train-1"), edge, none], outputs=outputs), "auto", "jobs", print)
    assert found.source == "nvidia-smi"
    assert found.gpus == (GpuUse("n1", "0", "Tesla T4", 60, 3072, 15360, "GPU-1"),)  # one, though two pods see it
    assert [(each.pod, each.utilisation, each.used_mib, each.note) for each in found.jobs] == [
        ("train-1", 25, 1024, ""),
        ("serve-2", 60, 3072, WHOLE_GPU),
    ]


def test_a_cluster_in_which_nothing_tells_says_what_would() -> None:
    with pytest.raises(NoFiguresError, match="no DCGM exporter is running, and no running pod uses a GPU"):
        gather(Cluster([]), "auto", "jobs", print)
    with pytest.raises(NoFiguresError, match="`metrics: true`"):
        gather(Cluster([]), "dcgm", "jobs", print)


def test_whoever_may_read_one_namespace_alone_sees_that() -> None:
    class OneNamespace(Cluster):
        def items(self, path: str, **query: str) -> list[dict[str, Any]]:
            if path == "/api/v1/pods":
                raise ClusterError("Forbidden: pods is forbidden", 403)
            return super().items(path, **query)

    outputs = {"train-1": {"query-gpu": GPUS.splitlines()[0]}}
    assert gather(OneNamespace([body("train-1")], outputs=outputs), "auto", "jobs", print).source == "nvidia-smi"


BEFORE = Reading(
    "2026-11-22T10:00:00+00:00",
    "nvidia-smi",
    (GpuUse("n1", "0", "Tesla T4", 40, 2048, 15360),),
    (JobUse("jobs", "train-1", "train", "n1", "0", 40, 2048),),
)
AFTER = BEFORE._replace(
    gpus=(GpuUse("n1", "0", "Tesla T4", 90, 5120, 15360),),
    jobs=(JobUse("jobs", "train-1", "train", "n1", "0", 60, 2048), JobUse("jobs", "serve-2", "serve", "n1", "0", 30, 3072)),
)


def test_before_and_after_are_compared_in_all_and_job_by_job() -> None:
    found = {each.what: each for each in changes(BEFORE, AFTER)}
    assert found["GPUs used, on average"].difference == 50
    assert found["memory used"].difference == 3072
    assert found["jobs on GPUs"].difference == 1
    assert found["jobs/train: GPU"].difference == 20
    assert (found["jobs/serve: GPU"].before, found["jobs/serve: GPU"].after) == (None, 30)


def test_a_reading_is_kept_in_a_file_and_another_file_is_none(tmp_path: Path) -> None:
    file = tmp_path / "before.json"
    keep(BEFORE, file)
    assert kept(file) == BEFORE
    file.write_text("{}")
    assert kept(file) is None
    assert kept(tmp_path / "gone.json") is None


def test_people_see_tables_and_programs_json(capsys: pytest.CaptureFixture[str]) -> None:
    show(AFTER, BEFORE, for_programs=False, on_one_line=False)
    said = capsys.readouterr().out
    assert "1 GPU: 90 % used on average, memory 5.0 GiB of 15.0 GiB; 2 jobs on them" in said
    assert "before and after" in said
    assert "+50" in said
    show(AFTER, None, for_programs=True, on_one_line=True)
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["total"] == {"gpus": 1, "utilisation": 90, "used_mib": 5120, "total_mib": 15360}
