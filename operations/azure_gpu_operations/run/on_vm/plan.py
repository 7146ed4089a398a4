"""What is sent to a machine for a run: a script, and a run-command that has it.

In: what is wanted, the image, and as whom the machine speaks. Out: text for bash, and the run-command's body. Pure.

The script tells first whether there is a GPU. Secrets are the run-command's protected parameters, which it finds as variables:
they stand in no text. A container is pulled as the machine's identity; it is ended with the script that waits for it.
"""

import base64
import math
import shlex
from typing import Any, NamedTuple

from azure_gpu_operations.exit_codes import FAILED_RUN
from azure_gpu_operations.run import gpu_confirmation
from azure_gpu_operations.run.context import REQUIREMENTS, Context, content_hash
from azure_gpu_operations.run.on_vm.wanted import Wanted, Way

RUNS = "vm-runs"  # the container of outputs in the stack's storage
LONGEST_SECONDS = 7 * 24 * 3600
_FOLDER = "/var/lib/azure-gpu"
_NOBODY = "00000000-0000-0000-0000-000000000000"  # as whom a registry takes a token


class Image(NamedTuple):
    """An image, and the registry that it is pulled from as the machine's identity; "" where everybody may."""

    name: str
    server: str = ""


class Place(NamedTuple):
    """Where outputs go, and as whom: "" is the machine's own identity, else that of a client id."""

    endpoint: str  # https://account.blob.core.windows.net/
    client_id: str = ""

    @property
    def identity(self) -> dict[str, str]:
        return {"clientId": self.client_id} if self.client_id else {}


def body(name: str, location: str, script: str, place: Place, wanted: Wanted) -> dict[str, Any]:
    """The run-command."""
    properties: dict[str, Any] = {
        "source": {"script": script},
        "asyncExecution": True,  # else its creation lasts as long as it runs
        "timeoutInSeconds": LONGEST_SECONDS if wanted.timeout_minutes is None else max(1, math.ceil(wanted.timeout_minutes * 60)),
        "outputBlobUri": url(place, name, "stdout"),
        "outputBlobManagedIdentity": place.identity,
        "errorBlobUri": url(place, name, "stderr"),
        "errorBlobManagedIdentity": place.identity,
    }
    if wanted.target.secrets:
        properties["protectedParameters"] = [{"name": key, "value": value} for key, value in wanted.target.secrets.items()]
    return {"location": location, "properties": properties}


def url(place: Place, name: str, stream: str) -> str:
    return f"{place.endpoint.rstrip('/')}/{RUNS}/{blob(name, stream)}"


def blob(name: str, stream: str) -> str:
    return f"{name}/{stream}.txt"


def script(name: str, wanted: Wanted, way: Way | None, image: Image | None, place: Place) -> str:
    """The text for bash. `way` None: a command of the machine's own."""
    lines = ["#!/bin/bash", gpu_confirmation.SHELL]
    if way is Way.CONTAINER and image is not None:
        lines += _container(name, wanted, image, place.client_id)
    elif wanted.target.context is not None:
        lines += _python(name, wanted, wanted.target.context)
    else:
        variables = [f"{key}={value}" for key, value in wanted.target.environment.items()]
        lines.append(f"exec {shlex.join(['env', *variables, *wanted.arguments] if variables else wanted.arguments)}")
    return "\n".join(lines) + "\n"


def end_script(name: str) -> str:
    """What ends a container whose script was ended from outside."""
    return f"#!/bin/bash\ndocker rm -f {shlex.quote(name)} >/dev/null 2>&1 || true\n"


def _container(name: str, wanted: Wanted, image: Image, client_id: str) -> list[str]:
    variables = [word for key, value in wanted.target.environment.items() for word in ("-e", f"{key}={value}")]
    variables += [word for key in wanted.target.secrets for word in ("-e", key)]  # with the value that the shell has
    called = shlex.join([*variables, image.name, *wanted.arguments])
    return [
        f'command -v docker >/dev/null || {{ echo "docker isn\'t on this machine" >&2; exit {FAILED_RUN}; }}',
        *(_sign_on(image.server, client_id) if image.server else []),
        f"docker pull -q {shlex.quote(image.name)} >/dev/null || exit {FAILED_RUN}",
        "with=()",
        'if [ "$gpus" = yes ]; then with=(--gpus all); fi',
        f"trap 'docker rm -f {shlex.quote(name)} >/dev/null 2>&1; exit 143' TERM INT",
        f'docker run --rm --name {shlex.quote(name)} "${{with[@]}}" {called} &',
        "wait $!",
    ]


def _sign_on(server: str, client_id: str) -> list[str]:
    """To a registry as the machine: by the Azure CLI where it is, else by the same requests as it sends."""
    registry = shlex.quote(server.partition(".")[0])
    whom = f" --client-id {shlex.quote(client_id)}" if client_id else ""
    asked = "api-version=2018-02-01&resource=https://management.azure.com/" + (f"&client_id={client_id}" if client_id else "")
    field = 'sed -n \'s/.*"{}" *: *"\\([^"]*\\)".*/\\1/p\''  # of an answer in JSON
    return [
        "if command -v az >/dev/null; then",
        f"  az login --identity{whom} --output none >/dev/null && az acr login --name {registry} >/dev/null || exit {FAILED_RUN}",
        "else",
        f"  token=$(curl -fsS -H Metadata:true 'http://169.254.169.254/metadata/identity/oauth2/token?{asked}' | "
        f"{field.format('access_token')})",
        f'  refresh=$(curl -fsS "https://{server}/oauth2/exchange" --data-urlencode access_token@<(printf %s "$token") '
        f"--data grant_type=access_token --data service={server} | {field.format('refresh_token')})",
        f'  printf %s "$refresh" | docker login {server} --username {_NOBODY} --password-stdin >/dev/null || exit {FAILED_RUN}',
        "fi",
    ]


def _python(name: str, wanted: Wanted, context: Context) -> list[str]:
    """The script in a folder of its own, with its requirements in an environment that stays for the next run."""
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
    variables = [f"{key}={value}" for key, value in wanted.target.environment.items()]
    lines.append(f"env PYTHONUNBUFFERED=1 {shlex.join([*variables, python, context.script, *wanted.arguments])} &")
    lines += ["program=$!", "trap 'kill $program 2>/dev/null' TERM INT", "wait $program", "exit $?"]
    return lines


# Images of Ubuntu have no python3-venv, without which Python makes no environment that has pip; those for HPC have pip itself
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
  echo "requirements need an environment of Python, which this image can't make: install python3-venv on the machine, or \
write --way container" >&2
  return 1
}"""


def _environment(folder: str) -> list[str]:
    """Two runs may make it at the same time: each makes its own, and the first to be done has it renamed."""
    install = f"{folder}.$$/bin/python -m pip install --quiet --disable-pip-version-check -r {REQUIREMENTS} >&2"
    return [
        *_MAKE_ENVIRONMENT.splitlines(),
        f"if [ ! -d {folder} ]; then",
        f"  mkdir -p {folder.rpartition('/')[0]} && environment {folder}.$$ && {install} &&",
        f"    {{ mv -T {folder}.$$ {folder} 2>/dev/null || [ -d {folder} ]; }} || exit {FAILED_RUN}",
        "fi",
    ]
