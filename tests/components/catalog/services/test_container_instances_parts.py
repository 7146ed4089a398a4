"""Rules for the parts of a container group, against literals from Microsoft's pages."""

from azure_gpu.catalog.problems import Severity
from azure_gpu.catalog.services.container_instances import ContainerRequest, GroupRequest, check_parts

CONTAINER = ContainerRequest(name="c", cpu=1, memory_gb=1, cpu_path="cpu", memory_path="memory")
GROUP = GroupRequest(
    location="westeurope",
    os_type="Linux",
    in_virtual_network=False,
    containers=(CONTAINER,),
    location_path="location",
    os_type_path="os",
    network_path="subnet",
    spot_path="priority",
    zones_path="zones",
    containers_path="containers",
    volumes_path="volumes",
    ports_path="ports",
)


def found(**changed: object) -> list[tuple[str, Severity]]:
    return [(problem.path, problem.severity) for problem in check_parts(GROUP._replace(**changed))]


def test_a_group_has_at_most_60_containers_20_volumes_and_5_ports() -> None:
    # Microsoft Learn, container-instances-resource-and-quota-limits: hard limits; at most 59 of them are init containers.
    assert found(containers=(CONTAINER,) * 60, volumes=20, ports=5) == []
    assert found(init_containers=59) == []
    assert [path for path, _ in found(containers=(CONTAINER,) * 2, init_containers=59, volumes=21, ports=6)] == [
        "containers",
        "volumes",
        "ports",
    ]
