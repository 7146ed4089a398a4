"""The bash script and run-command of a run on a machine. Pure.

The script first prints the visible GPUs. Secrets are protected parameters of the run-command, which become variables and aren't
part of the script. A container is pulled with the machine's identity, and ended with the script that waits for it.
"""

import base64
import math
import shlex
from typing import Any, NamedTuple

from azure_gpu.formats.build_context import Context, content_hash
from azure_gpu_operations.exit_codes import FAILED_RUN
from azure_gpu_operations.run import gpu_confirmation
from azure_gpu_operations.run.context import REQUIREMENTS
from azure_gpu_operations.run.on_vm.request import VmRequest
from azure_gpu_operations.run.target import RunMethod

RUNS = "vm-runs"  # the container of outputs in the stack's storage
LONGEST_SECONDS = 7 * 24 * 3600
_FOLDER = "/var/lib/azure-gpu"
_USER = "00000000-0000-0000-0000-000000000000"  # user name for a registry's token


class Image(NamedTuple):
    """An image, and the registry to pull it from with the machine's identity; "" for public images."""

    name: str
    server: str = ""


class OutputStore(NamedTuple):
    """The storage for output, and the client id of the identity for it; "": the machine's system-assigned one."""

    endpoint: str  # https://account.blob.core.windows.net/
    client_id: str = ""

    @property
    def identity(self) -> dict[str, str]:
        return {"clientId": self.client_id} if self.client_id else {}


def body(name: str, location: str, script: str, store: OutputStore, request: VmRequest) -> dict[str, Any]:
    """The run-command."""
    properties: dict[str, Any] = {
        "source": {"script": script},
        "asyncExecution": True,  # otherwise its creation takes as long as the run
        "timeoutInSeconds": LONGEST_SECONDS
        if request.timeout_minutes is None
        else max(1, math.ceil(request.timeout_minutes * 60)),
        "outputBlobUri": url(store, name, "stdout"),
        "outputBlobManagedIdentity": store.identity,
        "errorBlobUri": url(store, name, "stderr"),
        "errorBlobManagedIdentity": store.identity,
    }
    if request.target.secrets:
        properties["protectedParameters"] = [{"name": key, "value": value} for key, value in request.target.secrets.items()]
    return {"location": location, "properties": properties}


def url(store: OutputStore, name: str, stream: str) -> str:
    return f"{store.endpoint.rstrip('/')}/{RUNS}/{blob(name, stream)}"


def blob(name: str, stream: str) -> str:
    return f"{name}/{stream}.txt"


def script(name: str, request: VmRequest, method: RunMethod | None, image: Image | None, store: OutputStore) -> str:
    """The bash script. `method` None: a command on the machine."""
    lines = ["#!/bin/bash", gpu_confirmation.SHELL]
    if method is RunMethod.CONTAINER and image is not None:
        lines += _container(name, request, image, store.client_id)
    elif request.target.context is not None:
        lines += _python(name, request, request.target.context)
    else:
        variables = [f"{key}={value}" for key, value in request.target.environment.items()]
        lines.append(f"exec {shlex.join(['env', *variables, *request.arguments] if variables else request.arguments)}")
    return "\n".join(lines) + "\n"


def end_script(name: str) -> str:
    """Script that removes a container after its script was terminated."""
    return f"#!/bin/bash\ndocker rm -f {shlex.quote(name)} >/dev/null 2>&1 || true\n"


def _container(name: str, request: VmRequest, image: Image, client_id: str) -> list[str]:
    variables = [word for key, value in request.target.environment.items() for word in ("-e", f"{key}={value}")]
    variables += [word for key in request.target.secrets for word in ("-e", key)]  # with the value from the shell
    called = shlex.join([*variables, image.name, *request.arguments])
    return [
        f'command -v docker >/dev/null || {{ echo "docker is not installed on this machine" >&2; exit {FAILED_RUN}; }}',
        *(_sign_on(image.server, client_id) if image.server else []),
        f"docker pull -q {shlex.quote(image.name)} >/dev/null || exit {FAILED_RUN}",
        "with=()",
        'if [ "$gpus" = yes ]; then with=(--gpus all); fi',
        f"trap 'docker rm -f {shlex.quote(name)} >/dev/null 2>&1; exit 143' TERM INT",
        f'docker run --rm --name {shlex.quote(name)} "${{with[@]}}" {called} &',
        "wait $!",
    ]


def _sign_on(server: str, client_id: str) -> list[str]:
    """Signs in to a registry with the machine's identity: with the Azure CLI if installed, else with the same requests."""
    registry = shlex.quote(server.partition(".")[0])
    whom = f" --client-id {shlex.quote(client_id)}" if client_id else ""
    query = "api-version=2018-02-01&resource=https://management.azure.com/" + (f"&client_id={client_id}" if client_id else "")
    field = 'sed -n \'s/.*"{}" *: *"\\([^"]*\\)".*/\\1/p\''  # of an answer in JSON
    return [
        "if command -v az >/dev/null; then",
        f"  az login --identity{whom} --output none >/dev/null && az acr login --name {registry} >/dev/null || exit {FAILED_RUN}",
        "else",
        f"  token=$(curl -fsS -H Metadata:true 'http://169.254.169.254/metadata/identity/oauth2/token?{query}' | "
        f"{field.format('access_token')})",
        f'  refresh=$(curl -fsS "https://{server}/oauth2/exchange" --data-urlencode access_token@<(printf %s "$token") '
        f"--data grant_type=access_token --data service={server} | {field.format('refresh_token')})",
        f'  printf %s "$refresh" | docker login {server} --username {_USER} --password-stdin >/dev/null || exit {FAILED_RUN}',
        "fi",
    ]


def _python(name: str, request: VmRequest, context: Context) -> list[str]:
    """Runs the script in a new folder, with its requirements in a cached environment."""
    folder = f"{_FOLDER}/runs/{name}"
    lines = [f"mkdir -p {folder} && cd {folder} || exit {FAILED_RUN}", f"trap 'rm -rf {folder}' EXIT"]
    files = {context.script: context.files[context.script]}
    python = "python3"
    if REQUIREMENTS in context.files:
        files[REQUIREMENTS] = context.files[REQUIREMENTS]
        tag = content_hash({REQUIREMENTS: context.files[REQUIREMENTS]})
        python = f"{_FOLDER}/environments/{tag}/bin/python"
    for path, content in files.items():
        encoded = base64.encodebytes(content).decode("ascii")
        lines += [f"base64 -d >{shlex.quote(path)} <<'END'", encoded.rstrip("\n"), "END"]
    if REQUIREMENTS in context.files:
        lines += _environment(python.removesuffix("/bin/python"))
    variables = [f"{key}={value}" for key, value in request.target.environment.items()]
    lines.append(f"env PYTHONUNBUFFERED=1 {shlex.join([*variables, python, context.script, *request.arguments])} &")
    lines += ["program=$!", "trap 'kill $program 2>/dev/null' TERM INT", "wait $program", "exit $?"]
    return lines


# Images of Ubuntu lack python3-venv, which an environment with pip requires; those for HPC have pip itself
# (Azure/azhpc-images, distros/ubuntu22.04/install_utils.sh and distros/ubuntu24.04/install_utils.sh, 2026-07-29). That one puts a
# pip into an environment made without; the pip of 22.04, 22.0, doesn't install requirements into another environment by itself.
_MAKE_ENVIRONMENT = """\
environment() {
  python3 -m venv "$1" >/dev/null 2>&1 && return
  rm -rf "$1"
  if python3 -m pip --version >/dev/null 2>&1 && python3 -m venv --without-pip "$1" >&2; then
    packages=$("$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    python3 -m pip install --quiet --disable-pip-version-check --target "$packages" pip >&2 && return
    rm -rf "$1"
  fi
  echo "this image has no python3-venv: installing it" >&2
  apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq)
  "${apt[@]}" update >&2 && "${apt[@]}" install python3-venv >&2 && python3 -m venv "$1" >&2 && return
  echo "this image can't create a Python environment for the requirements: install python3-venv on the machine, or \
use --way container" >&2
  return 1
}"""


def _environment(folder: str) -> list[str]:
    """Safe for parallel runs: each creates a separate environment, and the first one to finish renames it."""
    install = f"{folder}.$$/bin/python -m pip install --quiet --disable-pip-version-check -r {REQUIREMENTS} >&2"
    return [
        *_MAKE_ENVIRONMENT.splitlines(),
        f"if [ ! -d {folder} ]; then",
        f"  mkdir -p {folder.rpartition('/')[0]} && environment {folder}.$$ && {install} &&",
        f"    {{ mv -T {folder}.$$ {folder} 2>/dev/null || [ -d {folder} ]; }} || exit {FAILED_RUN}",
        "fi",
    ]
