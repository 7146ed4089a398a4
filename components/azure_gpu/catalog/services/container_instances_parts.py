"""Rules for the parts of a container group: numbers of containers, volumes and ports, zones, operating system.

They apply on every known date. Resources, GPUs and their ends are in `container_instances`, where rules depend on the date.
"""

import re
from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.container_instances import QUOTA_PAGE, SPRING_PAGE, GroupRequest
from azure_gpu.catalog.sources import FACTS_DAY, Dated, Source

MOST_CONTAINERS = 60  # init containers among them: at most 59 beside one that isn't
MOST_VOLUMES = 20
MOST_PORTS = 5
PORTS = range(1, 65536)
# Kept for the service itself.
_RESERVED = (
    *(range(port, port + 1) for port in (22, 9999, 19000, 19080, 19100, 19390)),
    *(range(1025, 1028), range(3389, 3400), range(20000, 30001), range(49152, 65535)),
)
SPOT_REGIONS = frozenset({"eastus2", "westeurope", "westus"})

_ZONES = Source("Microsoft Learn, reliability/migrate-container-instances", Dated.OBSERVED, FACTS_DAY)
_SPOT = Source("Microsoft Learn, container-instances-spot-containers-overview", Dated.OBSERVED, date(2024, 8, 29))
_WINDOWS = Source("Microsoft Learn, container-instances/container-instances-overview", Dated.OBSERVED, date(2024, 8, 29))
_NAMES = Source("Microsoft Learn, container-instances/container-instances-troubleshooting", Dated.OBSERVED, date(2024, 8, 29))
_FAQ = Source("Microsoft Learn, container-instances/container-instances-faq", Dated.OBSERVED, date(2025, 11, 17))
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]{0,62}"
_VARIABLES = "the service's own refusal of a variable, quoted in a public deployment log; its length: " + str(_NAMES)


def check(request: GroupRequest) -> list[Problem]:
    """Every problem of the group as a whole."""
    problems = [*_numbers(request)]
    if request.zones:
        problems += _zones(request)
    if request.spot:
        problems += _spot(request)
    if request.os_type == "Windows":
        problems += _windows(request)
    return problems


def _numbers(request: GroupRequest) -> Iterator[Problem]:
    amounts = (
        (len(request.containers) + request.init_containers, MOST_CONTAINERS, "containers", request.containers_path),
        (request.volumes, MOST_VOLUMES, "volumes", request.volumes_path),
        (request.ports, MOST_PORTS, "ports at its address", request.ports_path),
    )
    for amount, most, what, path in amounts:
        if amount > most:
            yield Problem(
                path=path,
                message=f"a container group has at most {most} {what}",
                value=amount,
                allowed=f"{most} or fewer; the limit can't be raised",
                fix="split it into two groups",
                source=str(QUOTA_PAGE),
                code=Code.IMPOSSIBLE,
            )


def _zones(request: GroupRequest) -> Iterator[Problem]:
    if any(container.gpu_count is not None for container in request.containers):
        yield Problem(
            path=request.zones_path,
            message="a container group with a GPU can't be pinned to a zone",
            allowed="no zones",
            fix="leave the zones out, or leave the GPU out",
            source=str(_ZONES),
            code=Code.IMPOSSIBLE,
        )
    if request.in_virtual_network:
        yield Problem(
            path=request.zones_path,
            message="by Azure's documentation, a container group in a virtual network can't be pinned to a zone",
            allowed="no zones, or no subnet",
            fix="leave one of the two out if Azure refuses the group",
            source=str(_ZONES),
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )
    if request.spot:
        yield Problem(
            path=request.zones_path,
            message="a Spot container group can't be pinned to a zone",
            allowed="no zones",
            fix="leave the zones out, or Spot",
            source=str(_SPOT),
            code=Code.IMPOSSIBLE,
        )


def _spot(request: GroupRequest) -> Iterator[Problem]:
    if request.in_virtual_network:
        yield Problem(
            path=request.network_path,
            message="a Spot container group can't be in a virtual network",
            allowed="no subnet",
            fix="leave the subnet out, or Spot",
            source=str(_SPOT),
            code=Code.IMPOSSIBLE,
        )
    if regions.normalise(request.location) not in SPOT_REGIONS:
        yield Problem(
            path=request.location_path,
            message="Spot container groups were listed in three regions only; whether this region has them is not known",
            value=request.location,
            allowed=", ".join(sorted(SPOT_REGIONS)),
            source=str(SPRING_PAGE),
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )


def _windows(request: GroupRequest) -> Iterator[Problem]:
    several = len(request.containers) + request.init_containers > 1
    for refused, what, path in (
        (several, "several containers", request.containers_path),
        (request.volumes > 0, "volumes", request.volumes_path),
    ):
        if refused:
            yield Problem(
                path=path,
                message=f"a container group on Windows can't have {what}",
                allowed="one container without volumes, or Linux",
                fix=f"write os_type: Linux, or leave out {what}",
                source=str(_WINDOWS),
                code=Code.IMPOSSIBLE,
            )


def check_port(port: int, path: str) -> list[Problem]:
    """A problem if this isn't a port, a warning if Container Instances reserves it."""
    if port not in PORTS:
        return [
            Problem(
                path=path,
                message="not a valid port",
                value=port,
                allowed=f"{PORTS.start} to {PORTS.stop - 1}",
                fix="write the port that the program in the container listens on",
                source=str(_NAMES),
            )
        ]
    if not any(port in reserved for reserved in _RESERVED):
        return []
    return [
        Problem(
            path=path,
            message="port reserved by Container Instances",
            value=port,
            allowed=f"any but {', '.join(map(_span, _RESERVED))}",
            fix="let the program in the container listen on another one, such as 8080",
            source=str(_FAQ),
            severity=Severity.WARNING,
        )
    ]


def _span(ports: range) -> str:
    return str(ports.start) if len(ports) == 1 else f"{ports.start} to {ports.stop - 1}"


def check_variable(name: str, path: str) -> list[Problem]:
    """One problem if the name isn't valid for an environment variable."""
    if re.fullmatch(_VARIABLE, name):
        return []
    return [
        Problem(
            path=path,
            message="not a valid name of an environment variable in Azure",
            value=name,
            allowed="1 to 63 letters a to z, digits and underscores, no digit first",
            fix=_spelling(name),
            source=_VARIABLES,
        )
    ]


def _spelling(name: str) -> str:
    fitting = re.sub(r"\W", "_", name, flags=re.ASCII)[:63]
    return f"write {fitting!r}" if re.fullmatch(_VARIABLE, fitting) else "use only the allowed characters"
