"""MPI over several nodes of a Batch pool: its limits, the commands of each implementation, and where they run.

The coordination command runs on every node, then the application command on the first node. The program starts in the task's
shared folder, which has the same path on every node and holds the common resource files. On Linux, MPI starts its processes
over SSH from the first node.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from types import MappingProxyType
from typing import NamedTuple, get_args

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.batch import requirements
from azure_gpu.catalog.services.batch.request import AllocationMode, Mpi, PoolRequest
from azure_gpu.catalog.services.vm_images import HPC_IMAGES, IMAGES, Software, choice, sold
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sources import BATCH_ARTICLE

__all__ = ["RUNS_UNDER", "Mpi", "MpiCommands", "commands", "mpi_problems_of"]

RUNS_UNDER: Mapping[Mpi, tuple[OperatingSystem, ...]] = {
    "intel_mpi": ("Linux", "Windows"),
    "microsoft_mpi": ("Windows",),
    "hpcx": ("Linux",),
}
CALLED: Mapping[Mpi, str] = {"intel_mpi": "Intel MPI", "microsoft_mpi": "Microsoft MPI", "hpcx": "HPC-X"}
_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # an elevated task is root
# The network before SR-IOV, as public jobs on H16r and NC24r set it; on later ones libfabric finds the fastest itself.
_BEFORE_SR_IOV = {"I_MPI_FABRICS": "shm:dapl", "I_MPI_DAPL_PROVIDER": "ofa-v2-ib0", "I_MPI_DYNAMIC_CONNECTION": "0"}
_SINCE_SR_IOV = {"I_MPI_FABRICS": "shm:ofi"}


class MpiCommands(NamedTuple):
    """What a multi-instance task is given."""

    coordination: str  # on every node; it has to end
    application: str  # on the first node, when all have done so
    environment: Mapping[str, str] = MappingProxyType({})


def commands(
    mpi: Mpi, operating_system: OperatingSystem, program: str, *, processes_per_node: int = 1, before_sr_iov: bool = False
) -> MpiCommands:
    """The commands for `program`, which may have arguments and is shell text on Linux, cmd's on Windows.

    Raises ValueError if `mpi` doesn't run under that operating system: `mpi_problems_of` reports that to a user.
    """
    if operating_system not in RUNS_UNDER[mpi]:
        raise ValueError(f"{CALLED[mpi]} doesn't run under {operating_system}")
    if operating_system == "Windows":
        return _windows(mpi, program, processes_per_node)
    environment = dict(_ROOT) if mpi == "hpcx" else dict(_BEFORE_SR_IOV if before_sr_iov else _SINCE_SR_IOV)
    script = _hpcx(program, processes_per_node) if mpi == "hpcx" else _intel(program, processes_per_node)
    return MpiCommands(
        coordination=_bash('test -d "$AZ_BATCH_TASK_SHARED_DIR"'),
        application=_bash(script),
        environment=MappingProxyType(environment),
    )


def _windows(mpi: Mpi, program: str, processes: int) -> MpiCommands:
    """As the documentation has them for Microsoft MPI."""
    if mpi == "microsoft_mpi":
        return MpiCommands(
            coordination='cmd /c start cmd /c ""%MSMPI_BIN%\\smpd.exe"" -d',
            application=f'cmd /c ""%MSMPI_BIN%\\mpiexec.exe"" -c {processes} -wdir %AZ_BATCH_TASK_SHARED_DIR% {program}',
        )
    folder = "%I_MPI_ROOT%\\intel64\\bin"
    return MpiCommands(
        coordination=f'cmd /c start cmd /c ""{folder}\\smpd.exe"" -d',
        application=f'cmd /c ""{folder}\\mpiexec.exe"" -hosts %CCP_NODES% -wdir %AZ_BATCH_TASK_SHARED_DIR% {program}',
    )


def _hpcx(program: str, processes: int) -> str:
    """Open MPI of HPC-X: every node with its number of processes.

    mpirun is called by its full path, so that it is found on the other nodes, and the module's variables are passed on.
    """
    return (
        "if [ -f /etc/profile.d/modules.sh ]; then . /etc/profile.d/modules.sh; module load mpi/hpcx; fi; "
        f'hosts=$(echo "$AZ_BATCH_HOST_LIST" | sed "s/,/:{processes},/g"):{processes}; '
        'nodes=$(echo "$AZ_BATCH_HOST_LIST" | tr "," "\\n" | wc -l); '
        f'"$(command -v mpirun)" -np $((nodes * {processes})) --host "$hosts" --map-by ppr:{processes}:node '
        "-x PATH ${LD_LIBRARY_PATH:+-x LD_LIBRARY_PATH} "
        f'-wdir "$AZ_BATCH_TASK_SHARED_DIR" {program}'
    )


def _intel(program: str, processes: int) -> str:
    """Intel MPI: from the module in current images, from its folder in the images of 2018."""
    return (
        "if [ -f /etc/profile.d/modules.sh ]; then . /etc/profile.d/modules.sh; module load mpi/impi-2021; "
        'else . "$(find /opt/intel -name mpivars.sh | head -n 1)"; fi; '
        'nodes=$(echo "$AZ_BATCH_HOST_LIST" | tr "," "\\n" | wc -l); '
        f'mpirun -np $((nodes * {processes})) -ppn {processes} -hosts "$AZ_BATCH_HOST_LIST" '
        f'-wdir "$AZ_BATCH_TASK_SHARED_DIR" {program}'
    )


def _bash(script: str) -> str:
    import shlex

    return f"/bin/bash -c {shlex.quote(script)}"


def mpi_problems_of(mpi: Mpi, request: PoolRequest, as_of: date) -> Iterator[Problem]:
    """The problems of that MPI: with the operating system, the network, the image."""
    path = request.at("mpi")
    if request.operating_system not in RUNS_UNDER[mpi]:
        others = [one for one in get_args(Mpi) if request.operating_system in RUNS_UNDER[one]]
        yield refused(
            "mpi.other_system",
            path,
            str(mpi),
            allowed=", ".join(others),
            source=BATCH_ARTICLE if mpi == "microsoft_mpi" else HPC_IMAGES,
            request=request,
            others=" or ".join(others),
            called=CALLED[mpi],
        )
        return
    if mpi == "hpcx" and request.size is not None and requirements.before_sr_iov(request.size):
        yield refused("mpi.before_sr_iov", path, str(mpi), request=request)
    elif request.start_task is None and request.image_kind == "Marketplace":
        yield from _in_image(mpi, request, as_of)


def _in_image(mpi: Mpi, request: PoolRequest, as_of: date) -> Iterator[Problem]:
    image = vm_images.find(request.image, IMAGES) if request.image else None
    if image is None or _brings(mpi, image.has):
        return
    names = [str(row.reference) for row in IMAGES if _brings(mpi, row.has) and row.reference.sku]
    others = sold(names, as_of, IMAGES)
    yield refused(  # a warning: a task may bring its own
        "mpi.not_in_image",
        request.at("image"),
        str(request.image),
        fix=(f"{choice(others)}, or i" if others else "i") + "nstall it in a start task, or use a gallery image that has it",
        instead=others,
        called=CALLED[mpi],
    )


def _brings(mpi: Mpi, has: frozenset[Software]) -> bool:
    """The images with HPC-X have a module of Intel MPI too; no Marketplace image has Microsoft MPI."""
    if mpi == "hpcx":
        return "HPC-X MPI" in has
    return mpi == "intel_mpi" and bool({"Intel MPI 5.1", "HPC-X MPI"} & has)


# The most nodes in a pool whose nodes talk to each other. These limits can't be raised.
MOST_NODES: Mapping[AllocationMode, int] = {"BatchService": 100, "UserSubscription": 80}


def mpi_problems(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    """Multi-instance tasks, RDMA, which MPI, and the size of a pool whose nodes talk to each other."""
    wants_mpi = request.multi_instance or request.rdma or request.mpi is not None
    if request.mpi is not None:
        yield from mpi_problems_of(request.mpi, request, as_of)
    if wants_mpi and not request.inter_node:
        yield refused("mpi.no_communication", request.at("inter_node"), request.inter_node)
    if wants_mpi and request.task_slots != 1:
        yield refused("mpi.task_slots", request.at("task_slots"), request.task_slots)
    if request.inter_node:
        yield from _limits(request)


def _limits(request: PoolRequest) -> Iterator[Problem]:
    most = MOST_NODES[request.allocation_mode]
    if request.nodes > most:
        yield refused("mpi.too_many_nodes", request.at(_counted(request)), request.nodes, most=most, request=request)
    if request.spot_nodes:  # a warning: a task may end before its nodes are taken away
        yield refused("mpi.spot", request.at("spot_nodes"), request.spot_nodes)


def _counted(request: PoolRequest) -> str:
    """The field that requests most of the nodes."""
    if request.dedicated_nodes or request.spot_nodes:
        return "dedicated_nodes" if request.dedicated_nodes else "spot_nodes"
    return "autoscale_formula"
