"""Rows of `running` for Azure Machine Learning and virtual machines: deployments, nodes of compute clusters, machines.

A managed deployment is billed even without requests; one on Kubernetes has the cost of the cluster's nodes. A deallocated machine
costs only its disk.
"""

from collections.abc import Iterator
from decimal import Decimal

from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.hourly_cost import Machines, of_machines
from azure_gpu.catalog.services.machine_learning.deployments import MANAGED
from azure_gpu.catalog.services.machines import shutdown
from azure_gpu.catalog.services.machines.costs import MachineUse, cost
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.formats.dates import instant
from azure_gpu_operations import virtual_machines
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.machine_learning import endpoints
from azure_gpu_operations.machine_learning.endpoints import API_VERSION, Deployment, Endpoint
from azure_gpu_operations.running_report import MACHINE, Row, end_of
from azure_gpu_operations.virtual_machines import Machine

DEPLOYMENT, NODES = "deployment", "nodes of a compute"
_GONE = ("Failed", "Deleting", "Canceled")


def of_endpoint(arm: Arm, endpoint_id: str, name: str) -> Iterator[Row]:
    """A row for each deployment; an endpoint without deployments costs nothing."""
    endpoint = endpoints.get(arm, endpoint_id)
    if endpoint is None:
        return
    for body in arm.values(f"{endpoint_id}/deployments", API_VERSION):
        deployment = endpoints.deployment_of(body)
        if deployment.state in _GONE:
            continue
        yield Row(
            f"{name}/{deployment.name}",
            DEPLOYMENT,
            deployment_words(endpoint, deployment),
            deployment.id,
            since=instant((body.get("systemData") or {}).get("createdAt")),
            expires_at=end_of(endpoint.tags),
            usd_hour=_usd(deployment.instance_type, deployment.instances, endpoint.location),
            counted=deployment.kind == MANAGED,
        )


def deployment_words(endpoint: Endpoint, deployment: Deployment) -> str:
    instances = "1 instance" if deployment.instances == 1 else f"{deployment.instances} instances"
    of = f" of {deployment.instance_type}" if deployment.instance_type else ""
    mirrored = endpoint.mirror.get(deployment.name, 0)
    mirror = f", {mirrored} % mirrored" if mirrored else ""
    coming = f"{deployment.state}, " if deployment.state in endpoints.COMING else ""
    return f"{coming}{instances}{of}, {endpoint.traffic.get(deployment.name, 0)} % of the traffic{mirror}"


def of_compute(arm: Arm, compute_id: str, name: str) -> Iterator[Row]:
    """A row if a compute cluster has nodes. Attached computes have separate rows."""
    body = arm.get(compute_id, API_VERSION)
    outer = (body or {}).get("properties") or {}
    inner = outer.get("properties") or {}
    count = int(inner.get("currentNodeCount") or 0)
    if body is None or outer.get("computeType") != "AmlCompute" or not count:
        return
    size, spot = str(inner.get("vmSize") or ""), inner.get("vmPriority") == "LowPriority"
    location = str(outer.get("computeLocation") or body.get("location") or "")
    working = int((inner.get("nodeStateCounts") or {}).get("runningNodeCount") or 0)
    words = f"{'1 node' if count == 1 else f'{count} nodes'} of {size}{', Spot' if spot else ''}, {working} at work"
    usd = _usd(size, count, location, spot=spot)
    yield Row(name, NODES, words, compute_id, expires_at=end_of(body.get("tags")), usd_hour=usd)


def of_machine(arm: Arm, machine_id: str, name: str) -> Iterator[Row]:
    machine = virtual_machines.get(arm, machine_id, whole=False)
    if machine is not None:
        billed = machine.power != shutdown.DEALLOCATED.name
        since = (machine.since or machine.created) if billed else None
        words, usd, end = machine_words(machine), machine_usd(machine), end_of(machine.tags)
        yield Row(name, MACHINE, words, machine_id, since=since, expires_at=end, usd_hour=usd)


def machine_words(machine: Machine) -> str:
    spot = ", Spot" if machine.spot else ""
    note = ""
    if machine.power == shutdown.STOPPED.name:
        note = ", billed as if it ran: it isn't deallocated"
    elif machine.power == shutdown.DEALLOCATED.name:
        note = ", its disks are billed"
    return f"{machine.power or machine.state} {machine.size}{spot}{note}"


def machine_usd(machine: Machine) -> Decimal | None:
    """Current hourly cost: of the machine, or of its disk when deallocated. None if unknown."""
    system = OperatingSystem.WINDOWS if machine.windows else OperatingSystem.LINUX
    use = MachineUse(machine.size, machine.location, system, machine.spot, machine.disk_type, machine.disk_gib)
    found = cost(use, packaged())
    return (found.stays if machine.power == shutdown.DEALLOCATED.name else found.running).usd_hour


def _usd(size: str, count: int, location: str, *, spot: bool = False) -> Decimal | None:
    return of_machines((Machines(size, count, spot),), location, packaged()).usd_hour
