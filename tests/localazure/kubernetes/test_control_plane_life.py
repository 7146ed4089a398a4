"""What becomes of a control plane: parts that die, shims that are killed, stops and starts, an end that leaves nothing."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localazure.arm.errors import ArmError
from localazure.containers import supervision
from localazure.kubernetes import control_plane
from localazure.kubernetes.clusters import ClusterContext, Clusters
from localazure.kubernetes.control_plane_folder import ClusterFolder
from localazure.process import start_time
from tests.support import kubernetes
from tests.support.embedded import ServedAzure, until
from tests.support.kubernetes import ControlPlane


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One of this module's own, whose parts are killed, and which the last test that uses it removes."""
    with kubernetes.running(kubernetes.clusters_in(tmp_path_factory.mktemp("life")), kubernetes.shape("life")) as running:
        yield running


def parts(folder: Path) -> dict[str, dict[str, Any]]:
    """By name what its shim tells of each."""
    return {state.parent.name: json.loads(state.read_text()) for state in (folder / "control-plane").glob("*/*/state.json")}


def pids(folder: Path) -> dict[str, int]:
    return {name: part["pid"] for name, part in parts(folder).items()}


def kill_shims(folder: Path) -> None:
    """All of them, with nobody to take the parts up."""
    killed = [part["shim"] for part in parts(folder).values()]
    for shim in killed:
        os.kill(shim, signal.SIGKILL)
    until(lambda: not any(start_time(shim) for shim in killed), "they are gone")  # which a signal doesn't wait for


def processes_of(folder: Path) -> list[int]:
    """Every process of this machine whose command line names the folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in path.read_bytes() and start_time(int(path.parent.name)):
                found.append(int(path.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


@pytest.mark.slow
def test_parts_that_die_are_started_again_and_nothing_is_lost(cluster: ControlPlane) -> None:
    cluster.kubectl("create", "configmap", "before", "--from-literal=a=1")
    names = ("etcd", "kube-apiserver", "kube-scheduler")
    before = parts(cluster.folder)
    for name in names:
        os.kill(before[name]["pid"], signal.SIGKILL)

    def back(name: str) -> bool:
        return pids(cluster.folder)[name] not in (None, before[name]["pid"])

    until(lambda: all(back(name) for name in names), "they are back")
    assert parts(cluster.folder)["etcd"]["restart_count"] == before["etcd"]["restart_count"] + 1
    until(lambda: cluster.kubectl("get", "configmap", "before").returncode == 0, "what was stored is there")


@pytest.mark.slow
def test_parts_that_lost_their_shims_are_ended_before_new_ones_start(cluster: ControlPlane) -> None:
    before = set(pids(cluster.folder).values())
    kill_shims(cluster.folder)
    asyncio.run(_apply(cluster))
    assert not before & set(pids(cluster.folder).values())
    assert not any(start_time(pid) for pid in before)
    assert cluster.clusters.server(cluster.key) == cluster.server, "a kubeconfig in somebody's hands stays good"
    assert cluster.kubectl("get", "namespaces").returncode == 0


@pytest.mark.slow
def test_a_killed_shim_gets_a_successor_while_the_server_runs(cluster: ControlPlane) -> None:
    async def whole() -> None:
        killed = parts(cluster.folder)["kube-scheduler"]["shim"]
        await cluster.clusters.started()
        os.kill(killed, signal.SIGKILL)
        await asyncio.to_thread(
            until, lambda: parts(cluster.folder)["kube-scheduler"]["shim"] != killed, "another stands over the part"
        )
        await cluster.clusters.stopping()

    asyncio.run(whole())
    assert cluster.clusters.server(cluster.key) == cluster.server
    assert cluster.kubectl("get", "namespaces").returncode == 0


@pytest.mark.slow
def test_applied_again_it_stays_as_it_is(cluster: ControlPlane) -> None:
    before = pids(cluster.folder)
    asyncio.run(_apply(cluster))
    assert pids(cluster.folder) == before


@pytest.mark.slow
def test_a_stopped_cluster_has_no_process_and_is_started_with_all_that_it_stored(cluster: ControlPlane) -> None:
    cluster.kubectl("create", "configmap", "kept", "--from-literal=a=1")

    async def whole() -> None:
        await cluster.clusters.stop(cluster.key)
        assert cluster.clusters.power(cluster.key) == "Stopped"
        assert processes_of(cluster.folder) == []
        await cluster.clusters.apply(kubernetes.shape("life"))
        assert processes_of(cluster.folder) == [], "a change of a stopped cluster doesn't start it"
        await cluster.clusters.start(cluster.key)
        await cluster.clusters.stopping()

    asyncio.run(whole())
    assert cluster.clusters.power(cluster.key) == "Running"
    assert cluster.asked("get", "configmap", "kept")["data"] == {"a": "1"}


@pytest.mark.slow
def test_removal_leaves_no_process_no_port_and_no_file(cluster: ControlPlane) -> None:
    ports = json.loads((cluster.folder / "cluster.json").read_text())["ports"].values()
    until(lambda: len(processes_of(cluster.folder)) == 8, "all parts run again")
    asyncio.run(cluster.clusters.remove(cluster.key))
    assert processes_of(cluster.folder) == []
    assert list(cluster.folder.parent.iterdir()) == []
    for port in ports:
        with socket.socket() as tried:
            assert tried.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.slow
def test_a_cluster_outlives_its_server_is_found_by_the_next_and_ends_with_it(
    own_served_azure: ServedAzure,
) -> None:
    programs = kubernetes.needed()
    around = ClusterContext(
        own_served_azure.state / "clusters",
        lambda: programs,
        url=own_served_azure.url,
        authority=own_served_azure.state / "ca" / "ca.pem",
        issuer=f"{own_served_azure.url}/{own_served_azure.tenant_id}/v2.0",
    )
    with kubernetes.running(Clusters(around), kubernetes.shape("found", entra=True, azure_rbac=True)) as running:
        names = [name for name in parts(running.folder) if name != "agent"]
        before = [pids(running.folder)[name] for name in names]
        own_served_azure.kill9()
        assert running.kubectl("get", "namespaces").returncode == 0
        own_served_azure.start()
        assert [pids(running.folder)[name] for name in names] == before
        own_served_azure.stop()
        assert processes_of(running.folder) == []
        own_served_azure.start()
        until(lambda: running.kubectl("get", "namespaces").returncode == 0, "it runs again, at the same address")


@pytest.mark.slow
def test_parts_under_the_supervisor_of_an_earlier_version_are_ended(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path)
    folder.control_plane.mkdir()
    (folder.control_plane / "spec.json").touch()
    lock = "lock = os.open('lock', os.O_RDWR | os.O_CREAT); fcntl.flock(lock, fcntl.LOCK_EX); os.write(lock, b'1')"
    program = f"import fcntl, os, time; {lock}\nwhile os.path.exists('spec.json'): time.sleep(0.05)"
    with subprocess.Popen([sys.executable, "-c", program], cwd=folder.control_plane) as earlier:
        until(lambda: supervision.holder(folder.control_plane) == 1, "it stands over the cluster")
        asyncio.run(control_plane.end_earlier(folder))
        assert supervision.holder(folder.control_plane) is None
    assert earlier.returncode == 0


def test_without_the_programs_the_refusal_says_what_builds_them(tmp_path: Path) -> None:
    clusters = Clusters(ClusterContext(tmp_path, lambda: None))
    with pytest.raises(ArmError) as refused:
        asyncio.run(clusters.apply(kubernetes.shape()))
    assert refused.value.status == 501
    assert "`make kubernetes` builds it" in refused.value.message
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_that_nobody_knows_is_removed_without_a_word(tmp_path: Path) -> None:
    asyncio.run(Clusters(ClusterContext(tmp_path, lambda: None)).remove("/subscriptions/0/nothing"))


async def _apply(cluster: ControlPlane) -> None:
    await cluster.clusters.apply(kubernetes.shape("life"))
    await cluster.clusters.stopping()
