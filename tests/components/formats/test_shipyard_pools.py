"""Batch Shipyard's pools as the keys of a stack file, and what they don't say."""

from typing import Any

import pytest

from azure_gpu.catalog.problems import errors
from azure_gpu.formats.shipyard import files
from azure_gpu.formats.shipyard.pool_settings import PoolSettings, settings_of
from tests.support.shipyard_files import (
    CREDENTIALS,
    CUSTOM_POOL,
    MPI,
    OLD,
    SECRETS,
    TRAIN,
    TRAIN_POOL,
    VOLUMES_CONFIG,
    WINDOWS_POOL,
)


def pool_of(*given: tuple[str, str]) -> PoolSettings:
    found, problems = files.read(given)
    assert errors(problems) == []
    return settings_of(found)


def with_pool(text: str) -> PoolSettings:
    return pool_of(("pool.yaml", text))


def left_of(pool: PoolSettings) -> str:
    return "\n".join(map(str, pool.left))


def test_a_gpu_pool_with_its_images() -> None:
    assert pool_of(*TRAIN).settings == {
        "size": "Standard_NC6",
        "image": "Canonical:UbuntuServer:16.04-LTS",
        "dedicated_nodes": 2,
        "containers": {"images": ["docker.io/library/python:3.11-slim"]},
    }


def test_an_mpi_pool() -> None:
    pool = pool_of(*MPI)
    assert pool.settings == {
        "size": "Standard_H16r",
        "image": "OpenLogic:CentOS-HPC:7.4",
        "dedicated_nodes": 4,
        "resize_timeout_minutes": 30,
        "inter_node": True,
        "rdma": True,
        "containers": True,
        "start_task": {
            "command": """/bin/bash -c 'set -e; ulimit -l unlimited; echo "it is ready"'""",
            "elevated": True,
        },
    }
    assert "pool.yaml:4: pool_specification.vm_configuration.platform_image.native: every pool with containers" in left_of(pool)


def test_a_pool_of_2_x_in_json() -> None:
    pool = pool_of(*OLD)
    assert pool.settings == {
        "size": "Standard_NC24r",
        "image": "Canonical:UbuntuServer:16.04-LTS",
        "dedicated_nodes": 3,
        "containers": True,
    }
    assert "pool.json:9: pool_specification.gpu.nvidia_driver.source: a driver from a custom address" in left_of(pool)


def test_a_windows_pool() -> None:
    pool = with_pool(WINDOWS_POOL)
    assert pool.settings["os_type"] == "Windows"
    assert pool.settings["image"] == "MicrosoftWindowsServer:WindowsServer:2016-Datacenter-with-Containers"
    assert "license_type" in left_of(pool)
    assert "aPasswordOfAUser" not in left_of(pool) + str(pool.settings)


def test_an_image_of_ones_own_spot_nodes_and_a_network() -> None:
    pool = with_pool(CUSTOM_POOL)
    assert pool.settings["image_id"].endswith("/providers/Microsoft.Compute/images/gpu")
    assert pool.settings["node_agent"] == "batch.node.ubuntu 16.04"
    assert pool.settings["spot_nodes"] == 5
    assert "dedicated_nodes" not in pool.settings
    assert pool.settings["subnet_id"].endswith("/virtualNetworks/v/subnets/s")
    assert "pool.yaml:12: pool_specification.certificates: Batch installs no certificates since 2024-02-29" in left_of(pool)
    assert "changed, pool.yaml:9: pool_specification.vm_count.low_priority: low-priority nodes ended on 2025-09-30" in left_of(
        pool
    )


def test_shared_volumes_are_mounts_and_a_key_is_a_command() -> None:
    pool = pool_of(("pool.yaml", TRAIN_POOL), ("config.yaml", VOLUMES_CONFIG), ("credentials.yaml", CREDENTIALS))
    assert pool.settings["mounts"] == {
        "azfile": {
            "azure_file": {
                "url": "https://labstorage.file.core.windows.net/share",
                "account": "labstorage",
                "options": "file_mode=0777",
            }
        },
        "azblob": {"azure_blob": {"container": "input"}},
        "nfs": {"nfs": {"source": "10.0.0.4:/export", "options": "defaults,_netdev"}},
    }
    assert pool.settings["replace"] == "drain-first"
    assert pool.secrets == ["mounts.azfile.azure_file.key"]
    assert (
        "config.yaml:23: global_resources.volumes.shared_data_volumes.cluster.volume_driver: Shipyard's own file server"
        in left_of(pool)
    )


def test_no_secret_of_the_credentials_gets_anywhere() -> None:
    found, problems = files.read([*TRAIN, ("config2.yaml", VOLUMES_CONFIG)])
    pool = settings_of(found)
    everything = "\n".join([str(found), *map(str, problems), str(pool)])
    # The address of the digits' file in the jobs has a signature: what was read keeps it, what comes of it doesn't.
    for secret in SECRETS[:-1]:
        assert secret not in everything
    assert found.accounts.batch == "labbatch"
    assert found.accounts.location == "southcentralus"
    assert found.accounts.storage == {"lab": "labstorage"}
    assert found.accounts.registries == ("lab.azurecr.io",)


@pytest.mark.parametrize(
    ("change", "at", "message"),
    [
        (("  vm_size: STANDARD_NC6\n", ""), "pool.yaml:1: pool_specification", "vm_size is missing"),
        (
            ("dedicated: 2", "dedicated: two"),
            "pool.yaml:10: pool_specification.vm_count.dedicated",
            "expected a whole number, got text",
        ),
        (("  vm_count:\n    dedicated: 2\n    low_priority: 0\n", ""), "pool.yaml:1: pool_specification.vm_count", "no number"),
        (("STANDARD_NC6", "<vm size>"), "pool.yaml:8: pool_specification.vm_size", "is a placeholder"),
        (("sku: 16.04-LTS", "skew: 16.04-LTS"), "platform_image", "sku is missing"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(change: tuple[str, str], at: str, message: str) -> None:
    assert change[0] in TRAIN_POOL
    found, problems = files.read([("pool.yaml", TRAIN_POOL.replace(*change))])
    problems = [*problems, *settings_of(found).problems]
    assert [problem for problem in errors(problems) if at in problem.path and message in problem.message] != [], problems


def test_a_name_that_isnt_known_is_left_out_with_a_warning() -> None:
    found, problems = files.read([("pool.yaml", TRAIN_POOL + "  vm_colour: blue\n")])
    assert errors(problems) == []
    (problem,) = problems
    assert str(problem).startswith("pool.yaml:17: pool_specification.vm_colour: a pool of Shipyard has no property 'vm_colour'")
    assert "vm_colour" not in settings_of(found).settings


def test_a_file_of_something_else_is_named() -> None:
    _, problems = files.read([("x.yaml", "kind: Pod\n")])
    assert [problem.message for problem in problems] == ["not a file of Batch Shipyard"]


def test_other_files_of_shipyard_are_named_with_what_takes_their_place() -> None:
    _, problems = files.read([("slurm.yaml", "slurm: {}\n"), ("fs.yaml", "remote_fs: {}\n")])
    assert errors(problems) == []
    assert [problem.path for problem in problems] == ["slurm.yaml:1: slurm", "fs.yaml:1: remote_fs"]


def test_commands_of_a_windows_pool_run_in_its_shell() -> None:
    text = WINDOWS_POOL + "  additional_node_prep_commands: ['dir', 'ver']\n"
    assert with_pool(text).settings["start_task"] == {"command": 'cmd /c "dir && ver"', "elevated": True}


def test_a_secret_in_a_command_is_refused_and_not_shown() -> None:
    text = TRAIN_POOL + "  additional_node_prep_commands: ['login --password=hunter22']\n"
    found, _ = files.read([("pool.yaml", text)])
    (problem,) = settings_of(found).problems
    assert "hunter22" not in str(problem)


def test_the_signature_of_a_resource_file_is_left_out() -> None:
    text = TRAIN_POOL + "  resource_files:\n  - {blob_source: 'https://x.example/a?sig=c2lnbmF0dXJl', file_path: a}\n"
    pool = with_pool(text)
    files_of_task: list[dict[str, Any]] = pool.settings["start_task"]["resource_files"]
    assert files_of_task == [{"url": "https://x.example/a", "path": "a", "use_identity": True}]
    assert "c2lnbmF0dXJl" not in str(pool)
