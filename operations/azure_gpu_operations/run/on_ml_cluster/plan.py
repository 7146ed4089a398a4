"""The workspace resources of a run: environment, code, and a command job. Pure.

On several nodes each runs the command once; the service sets TF_CONFIG.

A script's image has only its requirements, so that it is built once per requirements; the script is uploaded as code, once per
content. A workload's image has everything, and the job runs the command of its Dockerfile, because the service ignores
ENTRYPOINT. The command first prints the visible GPUs, and last its exit code, which the service doesn't report.
"""

import math
import re
import shlex
from collections.abc import Mapping
from typing import Any

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import dockerfile
from azure_gpu.formats.build_context import DOCKERFILE, Context
from azure_gpu_operations.run import gpu_confirmation
from azure_gpu_operations.run.carried import CARRIER
from azure_gpu_operations.run.context import INSTALL, REQUIREMENTS
from azure_gpu_operations.run.gpu_confirmation import MARK
from azure_gpu_operations.run.on_batch.commands import whole_command
from azure_gpu_operations.run.on_ml_cluster.request import MlRequest

EXPERIMENT = "run"
STACK_TAG = "azure-gpu-stack"
_ENDED = f"{MARK}exit "
_ENVIRONMENT_DOCKERFILE = """\
FROM {base}
ENV PYTHONUNBUFFERED=1 NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
{install}"""


def image_context(context: Context) -> Context:
    """The build context of a target's image; that of a script has only its requirements."""
    if not context.script:
        return context
    base = context.files[DOCKERFILE].decode().splitlines()[0].removeprefix("FROM ").strip()
    requirements = context.files.get(REQUIREMENTS)
    install = INSTALL.format(requirements=REQUIREMENTS) if requirements else ""
    files = {DOCKERFILE: _ENVIRONMENT_DOCKERFILE.format(base=base, install=install).encode()}
    if requirements:
        files[REQUIREMENTS] = requirements
    return Context("run/environment", files, f"what {context.described} needs")


def code_files(context: Context | None) -> dict[str, bytes]:
    """The files of the code: a script, and the carrier of its files."""
    names = (context.script, CARRIER) if context is not None and context.script else ()
    return {name: context.files[name] for name in names if context is not None and name in context.files}


def command(request: MlRequest) -> tuple[str, list[Problem]]:
    """The job's command, for the service's shell."""
    context = request.target.context
    if context is None:
        called, problems = shlex.join(request.arguments), list[Problem]()
    elif context.script:
        first = ["python", CARRIER] if CARRIER in context.files else []
        called, problems = shlex.join([*first, "python", context.script, *request.arguments]), []
    else:
        called, problems = _of_dockerfile(context, request.arguments)
    inner = f"{gpu_confirmation.SHELL}\n({called}); code=$?; echo '{_ENDED}'$code; exit $code"
    return f"bash -c {shlex.quote(inner)}", problems


def exit_code(line: str) -> int | None:
    """The exit code in the command's last line; None for other lines."""
    found = re.fullmatch(rf"{re.escape(_ENDED)}(\d{{1,3}})", line.strip())
    return int(found[1]) if found else None


def _of_dockerfile(context: Context, arguments: tuple[str, ...]) -> tuple[str, list[Problem]]:
    whole = whole_command(context, arguments)
    if not whole:
        fix = f"write ENTRYPOINT in its {DOCKERFILE} as a JSON list"
        message = "the image's command can't be determined, and Azure ML jobs require a command"
        return "", [Problem("TARGET", message, value=context.described, fix=fix)]
    found, _ = dockerfile.parse(context.files[DOCKERFILE].decode("utf-8", errors="replace"))
    folders = [each.path for each in found.stages[-1].instructions if isinstance(each, dockerfile.Workdir)]
    # The service starts commands in the folder of the code, not in the image's working directory.
    return (f"cd {shlex.quote(folders[-1])} && " if folders else "") + shlex.join(whole), []


def environment(image: str) -> dict[str, Any]:
    return {"properties": {"image": image, "osType": "Linux", "description": "made by a run"}}


def code(uri: str) -> dict[str, Any]:
    return {"properties": {"codeUri": uri, "description": "made by a run"}}


def job(
    name: str,
    request: MlRequest,
    text: str,
    *,
    compute_id: str,
    environment_id: str,
    code_id: str,
    stack: str,
    client_id: str | None,
) -> dict[str, Any]:
    """`client_id`: of the identity of the job; "" for the cluster's system-assigned one, None without identity."""
    nodes = request.group.nodes
    variables: Mapping[str, str] = {**request.group.devices, **request.target.environment}
    properties: dict[str, Any] = {
        "jobType": "Command",
        "displayName": name,
        "experimentName": EXPERIMENT,
        "command": text,
        "computeId": compute_id,
        "environmentId": environment_id,
        "resources": {"instanceCount": nodes},
        "tags": {STACK_TAG: stack},
    }
    if nodes > 1:  # the service sets TF_CONFIG on each node
        properties["distribution"] = {"distributionType": "TensorFlow", "workerCount": nodes, "parameterServerCount": 0}
    if code_id:
        properties["codeId"] = code_id
    if variables:
        properties["environmentVariables"] = dict(variables)
    if request.timeout_minutes is not None:
        seconds = max(1, math.ceil(request.timeout_minutes * 60))
        properties["limits"] = {"jobLimitsType": "Command", "timeout": f"PT{seconds}S"}
    if client_id is not None:
        properties["identity"] = {"identityType": "Managed", **({"clientId": client_id} if client_id else {})}
    return {"properties": properties}
