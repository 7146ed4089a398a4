"""Rules for the parts of a container group, against literals from Microsoft's pages."""

import pytest

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.services.container_instances import ContainerRequest, GroupRequest
from azure_gpu.catalog.services.container_instances_parts import check, check_port, check_variable

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
    return [(problem.path, problem.severity) for problem in check(GROUP._replace(**changed))]


def test_a_group_has_at_most_60_containers_20_volumes_and_5_ports() -> None:
    # Microsoft Learn, container-instances-resource-and-quota-limits: hard limits; at most 59 of them are init containers.
    assert found(containers=(CONTAINER,) * 60, volumes=20, ports=5) == []
    assert found(init_containers=59) == []
    assert [path for path, _ in found(containers=(CONTAINER,) * 2, init_containers=59, volumes=21, ports=6)] == [
        "containers",
        "volumes",
        "ports",
    ]


def test_a_zone_goes_with_neither_a_gpu_nor_spot() -> None:
    # Microsoft Learn, reliability/migrate-container-instances; container-instances-spot-containers-overview.
    gpu = CONTAINER._replace(gpu_count=1, gpu_sku="V100")
    assert found(zones=True) == []
    assert found(zones=True, containers=(gpu,)) == [("zones", Severity.ERROR)]
    assert found(zones=True, spot=True) == [("zones", Severity.ERROR)]
    assert found(zones=True, in_virtual_network=True) == [("zones", Severity.WARNING)]


def test_spot_was_listed_in_three_regions_and_goes_with_no_virtual_network() -> None:
    # Microsoft Learn, container-instances-resource-and-quota-limits, 2025-03-27: East US 2, West Europe, West US.
    for region in ("East US 2", "westeurope", "West US"):
        assert found(spot=True, location=region) == []
    assert found(spot=True, location="eastus") == [("location", Severity.WARNING)]
    assert found(spot=True, in_virtual_network=True) == [("subnet", Severity.ERROR)]


def test_windows_has_one_container_and_no_volumes() -> None:
    # Microsoft Learn, container-instances-overview: both are for Linux alone.
    assert found(os_type="Windows") == []
    assert found(os_type="Windows", init_containers=1, volumes=1) == [("containers", Severity.ERROR), ("volumes", Severity.ERROR)]


@pytest.mark.parametrize("port", [1, 80, 65535])
def test_a_port_is_one_from_1_to_65535(port: int) -> None:
    assert check_port(port, "port") == []


@pytest.mark.parametrize("port", [22, 1026, 3389, 19080, 20000, 30000, 49152, 65534])
def test_a_port_that_the_service_keeps_is_warned_of(port: int) -> None:
    [problem] = check_port(port, "port")
    assert (problem.value, problem.severity) == (port, Severity.WARNING)
    assert "22, 9999, 19000" in problem.allowed
    assert "20000 to 30000" in problem.allowed


@pytest.mark.parametrize("port", [21, 23, 1024, 1028, 3388, 3400, 19999, 30001, 49151])
def test_a_port_beside_them_is_not(port: int) -> None:
    assert check_port(port, "port") == []


@pytest.mark.parametrize("port", [-1, 0, 65536])
def test_no_other_number_is_a_port(port: int) -> None:
    [problem] = check_port(port, "port")
    assert (problem.value, problem.allowed) == (port, "1 to 65535")


@pytest.mark.parametrize("name", ["my_name", "MY_NAME", "MyName", "_", "a" * 63])
def test_variables_have_the_names_that_the_service_names_as_examples(name: str) -> None:
    assert check_variable(name, "here") == []


@pytest.mark.parametrize(
    ("name", "fix"), [("my.name", "write 'my_name'"), ("1ST", "use only"), ("", "use only"), ("a" * 64, f"write '{'a' * 63}'")]
)
def test_other_names_of_variables_are_refused(name: str, fix: str) -> None:
    [problem] = check_variable(name, "here")
    assert isinstance(problem, Problem)
    assert problem.fix.startswith(fix)
