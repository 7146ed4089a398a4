"""The third source document: its tables and its four worked pools at their own date, and what takes their place today.

The document is Microsoft's page on GPU and RDMA nodes in Batch pools, of 2018-12-17. What is asserted here are its own words.
"""

from typing import Any

import pytest
import yaml

from azure_gpu.catalog.problems import Code, Problem, errors
from azure_gpu.formats.stack_file import configuration
from azure_gpu.stack import settings
from tests.components.settings_of import pure_problems
from tests.support.embedded import CHECKOUT, SUBSCRIPTION

THEN, TODAY = "2018-12-17", "2026-11-21"
MANAGED = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/images/providers/Microsoft.Compute/images"
BUILT = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/images/providers/Microsoft.Compute/virtualMachines"

# The page's tables of settings, as it prints them but for the language. "Gebruikers-id: Pool van autouser, admin; Wachten op
# voltooiing: True" is `elevated` and `wait_for_success`.
FOUR: dict[str, dict[str, Any]] = {
    "windows-nc6": {
        "size": "NC6 Standard",
        "os_type": "Windows",
        "image": "MicrosoftWindowsServer:WindowsServer:2016-Datacenter",
        "packages": {"GPUDriver": "411.82"},
        "driver": "start_task",
        "driver_version": "411.82",
        "start_task": {
            "command": r'cmd /c "%AZ_BATCH_APP_PACKAGE_GPUDriver#411.82%\\GPUDriverSetup.exe /s"',
            "elevated": True,
            "wait_for_success": True,
        },
        "dedicated_nodes": 1,
    },
    "ubuntu-nc6": {
        "size": "NC6 Standard",
        "image_id": f"{MANAGED}/ubuntu-gpu",
        "node_agent": "batch.node.ubuntu 16.04",
        "dedicated_nodes": 1,
    },
    "windows-h16r": {
        "size": "H16r Standard",
        "os_type": "Windows",
        "image_id": f"{MANAGED}/windows-mpi",
        "node_agent": "batch.node.Windows amd64",
        "mpi": "microsoft_mpi",
        "inter_node": True,
        "task_slots": 1,
        "dedicated_nodes": 2,
    },
    "centos-h16r": {
        "size": "H16r Standard",
        "image": "OpenLogic:CentOS-HPC:7.4",
        "mpi": "intel_mpi",
        "inter_node": True,
        "task_slots": 1,
        "dedicated_nodes": 2,
    },
}
# The same four today.
TODAYS: dict[str, dict[str, Any]] = {
    "windows-gpu": {"size": "Standard_NC4as_T4_v3", "os_type": "Windows", "dedicated_nodes": 1},
    "ubuntu-gpu": {"size": "Standard_NC4as_T4_v3", "gallery_image": "ubuntu-gpu", "dedicated_nodes": 1},
    "windows-mpi": {
        "size": "Standard_HB120rs_v3",
        "os_type": "Windows",
        "gallery_image": "windows-mpi",
        "mpi": "microsoft_mpi",
        "dedicated_nodes": 2,
    },
    "linux-mpi": {"size": "Standard_HB120rs_v3", "mpi": "hpcx", "dedicated_nodes": 2},
}
IMAGES = {
    "ubuntu-gpu": {"source_id": f"{BUILT}/linux-build", "node_agent": "batch.node.ubuntu 22.04"},
    "windows-mpi": {"source_id": f"{BUILT}/windows-build", "os_type": "Windows", "node_agent": "batch.node.windows amd64"},
}


def dated(pools: dict[str, dict[str, Any]], end: str) -> dict[str, dict[str, Any]]:
    return {name: {**pool, "expires_after": end} for name, pool in pools.items()}


def config(pools: dict[str, dict[str, Any]], as_of: str, **more: Any) -> dict[str, Any]:
    return {
        "team": "tests",
        "location": "southcentralus",
        "as_of": as_of,
        "foundation": {"resource_group": "create", "identity": "create", "storage": "create"},
        "batch_account": {"applications": {"GPUDriver": {"display_name": "NVIDIA's driver"}}},
        "pools": pools,
        **more,
    }


def problems_of(pools: dict[str, dict[str, Any]], as_of: str, **more: Any) -> list[Problem]:
    """What the program says before anything is created."""
    keys = {f"azure-gpu:{key}": value for key, value in config(pools, as_of, **more).items()}
    text = yaml.safe_dump({"config": {"azure-native:subscriptionId": SUBSCRIPTION, **keys}})
    return pure_problems(settings.read(configuration(text), as_of), "azure-gpu", "documents")


def test_the_shipped_stack_file_has_the_pages_four_pools_at_the_pages_date() -> None:
    text = (CHECKOUT / "Pulumi.documents.yaml").read_text(encoding="utf-8")
    expected = {name: {**pool, "as_of": THEN, "expires_after": "2018-12-31"} for name, pool in FOUR.items()}
    expected["windows-nc6"]["enabled"] = False  # it comes second, when its package is there
    assert yaml.safe_load(text)["config"]["azure-gpu:pools"] == expected


def test_the_four_are_accepted_at_their_own_date() -> None:
    assert errors(problems_of(dated(FOUR, "2018-12-31"), THEN)) == []


def test_the_same_four_asked_today_are_answered_with_successors() -> None:
    found = errors(problems_of(dated(FOUR, "2026-11-30"), TODAY))
    gone = {problem.path: problem.instead for problem in found if problem.code is Code.RETIRED}
    assert gone["pools.windows-nc6.size"][0] == gone["pools.ubuntu-nc6.size"][0] == "Standard_NC4as_T4_v3"
    assert gone["pools.windows-h16r.size"][0] == gone["pools.centos-h16r.size"][0] == "Standard_HB120rs_v3"
    fixes = {problem.path: problem.fix for problem in found}
    assert "batch.node.ubuntu 24.04" in fixes["pools.ubuntu-nc6.node_agent"]
    assert "batch.node.ubuntu 24.04" in fixes["pools.centos-h16r.node_agent"]
    for name in ("ubuntu-nc6", "windows-h16r"):
        assert fixes[f"pools.{name}.image_id"] == "copy the image into an Azure Compute Gallery and use that version"
    assert {path.split(".")[1] for path in fixes} == set(FOUR)


def test_the_successors_are_accepted_today() -> None:
    assert errors(problems_of(dated(TODAYS, "2026-11-30"), TODAY, gallery_images=IMAGES)) == []


@pytest.mark.parametrize(
    ("size", "os_type", "image", "rdma"),
    [
        # Linux: RDMA
        *(
            (size, "Linux", image, True)
            for size in ("H16r", "H16mr", "A8", "A9", "NC24r", "NC24rs_v2", "NC24rs_v3", "ND24rs")
            for image in ("Canonical:UbuntuServer:16.04-LTS", "OpenLogic:CentOS-HPC:7.4")
        ),
        # Linux: GPUs
        *(
            (size, "Linux", image, False)
            for size in ("NC6", "NC6s_v2", "NC6s_v3")
            for image in ("Canonical:UbuntuServer:16.04-LTS", "OpenLogic:CentOS:7.3", "OpenLogic:CentOS:7.4")
        ),
        *(("NV6", "Linux", image, False) for image in ("Canonical:UbuntuServer:16.04-LTS", "OpenLogic:CentOS:7.3")),
        # Windows: the RDMA sizes with GPUs are in both tables, and that of GPUs has no Windows Server 2012
        *(
            (size, "Windows", f"MicrosoftWindowsServer:WindowsServer:{sku}", True)
            for size in ("H16r", "H16mr", "A8", "A9", "NC24r", "NC24rs_v2", "NC24rs_v3", "ND24rs")
            for sku in ("2016-Datacenter", "2012-R2-Datacenter", "2012-Datacenter")
            if sku != "2012-Datacenter" or not size.startswith("N")
        ),
        *(
            (size, "Windows", f"MicrosoftWindowsServer:WindowsServer:{sku}", False)
            for size in ("NC6", "NC6s_v2", "NC6s_v3", "ND6s", "NV6")
            for sku in ("2016-Datacenter", "2012-R2-Datacenter")
        ),
    ],
)
def test_every_row_of_the_pages_tables_is_accepted(size: str, os_type: str, image: str, rdma: bool) -> None:
    """The tables say what has to be installed; here the pool's own start task does it."""
    nodes: dict[str, Any] = {"inter_node": True, "rdma": True} if rdma else {}
    task = {"command": "install", "elevated": True}
    pool = {"size": f"Standard_{size}", "os_type": os_type, "image": image, "driver": "start_task", "start_task": task, **nodes}
    found = errors(problems_of(dated({"p": {**pool, "dedicated_nodes": 1}}, "2018-12-31"), THEN))
    assert found == []


@pytest.mark.parametrize(
    ("size", "image"),
    [
        ("H16r", "OpenLogic:CentOS:7.3"),
        ("NV6", "OpenLogic:CentOS:7.4"),
        ("NC24r", "OpenLogic:CentOS:7.4"),
    ],
)
def test_a_system_that_the_tables_dont_name_is_refused_at_their_date(size: str, image: str) -> None:
    pool = {"size": f"Standard_{size}", "image": image, "inter_node": True, "rdma": size != "NV6", "dedicated_nodes": 1}
    found = errors(problems_of(dated({"p": pool}, "2018-12-31"), THEN))
    assert any("doesn't support the" in problem.message for problem in found), found


def test_the_n_series_never_was_in_cloud_services() -> None:
    pool = {"size": "Standard_NC6", "os_type": "Windows", "cloud_services": True, "dedicated_nodes": 1}
    found = errors(problems_of(dated({"p": pool}, "2018-12-31"), THEN))
    assert any("which Batch pools in Cloud Services configuration never supported" in problem.message for problem in found), found
