"""The request of a run on a compute cluster of a workspace, and whether the cluster and its region's quotas allow it. Pure."""

import argparse
import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from azure_gpu.catalog import quotas
from azure_gpu.catalog.problems import Code, Problem, errors
from azure_gpu.catalog.quotas import Limit
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu_operations.machine_learning import usages
from azure_gpu_operations.run.carried import Files
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.run.workers import Group, group
from azure_gpu_operations.stack_view import StackView


class MlRequest(NamedTuple):
    """One job, with one worker per node."""

    target: Target
    arguments: tuple[str, ...] = ()
    timeout_minutes: float | None = None
    files: Files = Files()
    group: Group = Group()


def check_cluster(name: str, settings: Mapping[str, Any], group: Group) -> list[Problem]:
    """Problems of a group of workers with a compute's settings, `properties.properties`."""
    problems: list[Problem] = []
    most = int((settings.get("scaleSettings") or {}).get("maxNodeCount") or 0)
    if group.nodes > most:
        message = f"the compute {name} gets at most {'1 node' if most == 1 else f'{most} nodes'}, so the job would wait forever"
        fix = f"request {most} or fewer, or increase `max_nodes` of the compute in the stack's file and run `pulumi up`"
        problems.append(Problem("--nodes", message, group.nodes, f"1 to {most}", fix, code=Code.IMPOSSIBLE))
    size = SIZES.find(str(settings.get("vmSize") or ""))
    has = math.ceil(size.gpu_count) if size is not None and size.gpu_count else 0
    if group.gpus and size is not None and group.gpus > has:
        message = f"a node of the compute {name} ({size.name}) has {'fewer GPUs' if has else 'no GPU'}"
        fix = "choose a compute with more GPUs per node"
        problems.append(Problem("--gpus", message, group.gpus, f"0 to {has}" if has else "0", fix, code=Code.IMPOSSIBLE))
    return problems


def resolve(options: argparse.Namespace, target: Target, _: StackView | None) -> tuple[MlRequest, list[Problem]]:
    problems: list[Problem] = []
    if target.image and not options.after:
        fix = "add the command after --, such as -- python train.py"
        message = "Azure ML jobs require a command and ignore the image's"
        problems.append(Problem("TARGET", message, value=target.image, fix=fix))
    if target.secrets:
        message = "the variables of a job are visible to all readers of the workspace"
        fix = "let the program fetch the secret itself, with the cluster's identity"
        problems.append(Problem("--secret-env", message, value=", ".join(target.secrets), fix=fix))
    return MlRequest(target, tuple(options.after), options.timeout, group=group(options.nodes, options.gpus)), problems


def quota_problems(compute: Mapping[str, Any], group: Group, listed: Iterable[Mapping[str, Any]]) -> list[Problem]:
    settings = (compute.get("properties") or {}).get("properties") or {}
    region, spot = str(compute.get("location") or ""), settings.get("vmPriority") not in (None, "Dedicated")
    rows = [(str(each["type"]), Limit(str(each["name"]["value"]), int(each["limit"]))) for each in listed]
    if not rows:
        return []
    use = SizeUse(Service.ML_COMPUTE, str(settings.get("vmSize") or ""), region, "--nodes", "--compute", group.nodes, spot=spot)
    return errors(quotas.machine_learning_problems([use], [usages.limits_of(region, rows)]))
