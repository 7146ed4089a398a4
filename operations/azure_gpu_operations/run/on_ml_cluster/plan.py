"""What is sent to a workspace for a run: an environment, code, and a job of one command.

In: what is wanted, the compute, and where code lies. Out: bodies of ARM, and the image to build. Pure. On several nodes each runs
the command once, told of the others by the service itself.

A script's image has its requirements alone, so that it is built once for each of them; the script comes as code, once for each
content. A workload's image has everything, and the job starts what its Dockerfile says: the service starts no ENTRYPOINT. The
command tells first whether there is a GPU, and last with which code it ended, which the service doesn't tell.
"""

import math
import re
import shlex
from collections.abc import Mapping
from typing import Any

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import dockerfile
from azure_gpu_operations.run import gpu_confirmation
from azure_gpu_operations.run.carried import CARRIER
from azure_gpu_operations.run.context import DOCKERFILE, INSTALL, REQUIREMENTS, Context
from azure_gpu_operations.run.gpu_confirmation import MARK
from azure_gpu_operations.run.on_batch.commands import whole_command
from azure_gpu_operations.run.on_ml_cluster.wanted import Wanted

EXPERIMENT = "run"
STACK_TAG = "azure-gpu-stack"
_ENDED = f"{MARK}exit "
_ENVIRONMENT_DOCKERFILE = """\
FROM {base}
ENV PYTHONUNBUFFERED=1 NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
{install}"""


def image_context(context: Context) -> Context:
    """What is built for a target. Of a script: what it needs, without itself."""
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
    """What comes as code: a script, and what carries its files."""
    names = (context.script, CARRIER) if context is not None and context.script else ()
    return {name: context.files[name] for name in names if context is not None and name in context.files}


def command(wanted: Wanted) -> tuple[str, list[Problem]]:
    """The job's command, for the shell that the service starts."""
    context = wanted.target.context
    if context is None:
        called, problems = shlex.join(wanted.arguments), list[Problem]()
    elif context.script:
        first = ["python", CARRIER] if CARRIER in context.files else []
        called, problems = shlex.join([*first, "python", context.script, *wanted.arguments]), []
    else:
        called, problems = _of_dockerfile(context, wanted.arguments)
    inner = f"{gpu_confirmation.SHELL}\n({called}); code=$?; echo '{_ENDED}'$code; exit $code"
    return f"bash -c {shlex.quote(inner)}", problems


def exit_code(line: str) -> int | None:
    """The code in a line that the command has written last; None in any other."""
    found = re.fullmatch(rf"{re.escape(_ENDED)}(\d{{1,3}})", line.strip())
    return int(found[1]) if found else None


def _of_dockerfile(context: Context, arguments: tuple[str, ...]) -> tuple[str, list[Problem]]:
    whole = whole_command(context, arguments)
    if not whole:
        fix = f"write ENTRYPOINT in the form of a list into its {DOCKERFILE}"
        message = "what the image starts can't be said to the service, which starts commands and no images"
        return "", [Problem("TARGET", message, value=context.described, fix=fix)]
    found, _ = dockerfile.parse(context.files[DOCKERFILE].decode("utf-8", errors="replace"))
    folders = [each.path for each in found.stages[-1].instructions if isinstance(each, dockerfile.Workdir)]
    # The service starts commands in the folder of the code, not in the image's.
    return (f"cd {shlex.quote(folders[-1])} && " if folders else "") + shlex.join(whole), []


def environment(image: str) -> dict[str, Any]:
    return {"properties": {"image": image, "osType": "Linux", "description": "made by a run"}}


def code(uri: str) -> dict[str, Any]:
    return {"properties": {"codeUri": uri, "description": "made by a run"}}


def job(
    name: str,
    wanted: Wanted,
    text: str,
    *,
    compute_id: str,
    environment_id: str,
    code_id: str,
    stack: str,
    client_id: str | None,
) -> dict[str, Any]:
    """`client_id`: of the cluster's identity, as which the job speaks; "" is the cluster's own, None: it has none."""
    nodes = wanted.group.nodes
    variables: Mapping[str, str] = {**wanted.group.devices, **wanted.target.environment}
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
    if wanted.timeout_minutes is not None:
        seconds = max(1, math.ceil(wanted.timeout_minutes * 60))
        properties["limits"] = {"jobLimitsType": "Command", "timeout": f"PT{seconds}S"}
    if client_id is not None:
        properties["identity"] = {"identityType": "Managed", **({"clientId": client_id} if client_id else {})}
    return {"properties": properties}
