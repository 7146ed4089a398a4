"""A run on this machine: its environment or its image is made, it is started, and its exit code is ours.

In: a `Plan` and a target. Out: an exit code; the program writes where we do. Ctrl-C ends it, as all else that is started
from a terminal.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from azure_gpu.catalog.services.machines import smi
from azure_gpu_operations.run import gpu_confirmation, names
from azure_gpu_operations.run.command import INTERRUPTED, TIMED_OUT
from azure_gpu_operations.run.context import archive
from azure_gpu_operations.run.errors import RunError
from azure_gpu_operations.run.on_local import environments
from azure_gpu_operations.run.on_local.plan import Plan, Way, container_command
from azure_gpu_operations.run.target import Target

_SMI_SECONDS = 20  # a driver that has just been loaded takes several
_END_SECONDS = 10  # between the friendly word and the other

Say = Callable[[str], None]


def run(plan: Plan, target: Target, *, timeout_minutes: float | None, say: Say) -> int:
    """The exit code of what ran."""
    gpus = _confirm(say)
    name = names.of_run(target)
    if plan.way is Way.CONTAINER:
        image = _built(plan, say) if plan.context is not None else plan.image
        words = container_command(plan, image, name, gpus=gpus, secrets=target.secrets)
        more: Mapping[str, str] = target.secrets
    else:
        python = environments.python_of(plan.requirements, locked=plan.locked, say=say)
        words = [str(python), *plan.words]
        path = os.pathsep.join(filter(None, (plan.search, os.environ.get("PYTHONPATH", ""))))
        more = {"PYTHONUNBUFFERED": "1", **plan.environment, **target.secrets, **({"PYTHONPATH": path} if path else {})}
    say(f"started {target.described} here")
    code = _wait(words, {**os.environ, **more}, None if timeout_minutes is None else timeout_minutes * 60)
    if code in (INTERRUPTED, TIMED_OUT) and plan.way is Way.CONTAINER:
        with suppress(OSError):
            subprocess.run([plan.engine, "rm", "--force", name], capture_output=True, check=False)
    say({TIMED_OUT: "stopped when its time was over", INTERRUPTED: "stopped at your word"}.get(code, f"exit code {code}"))
    return code


def _confirm(say: Say) -> bool:
    """Whether there is a GPU here, and in words."""
    command = ["nvidia-smi", *smi.ARGUMENTS.split(" ")]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_SMI_SECONDS, check=True).stdout
    except FileNotFoundError:
        say(gpu_confirmation.none(""))
        return False
    except (OSError, subprocess.SubprocessError) as error:
        told = getattr(error, "stdout", None) or getattr(error, "stderr", None) or error
        say(gpu_confirmation.none(str(told).strip().splitlines()[-1]))
        return False
    for line in gpu_confirmation.of_answer(answer):
        say(line)
    return True


def _built(plan: Plan, say: Say) -> str:
    """The image's name on this machine. What was built before is there at once, by the engine's own cache."""
    assert plan.context is not None
    image = f"azure-gpu/{plan.context.image}"
    say(f"building {image} with {plan.engine}")
    done = subprocess.run(
        [plan.engine, "build", "--quiet", "--tag", image, "-"], input=archive(plan.context), capture_output=True, check=False
    )
    if done.returncode:
        last = "\n".join(done.stderr.decode("utf-8", errors="replace").splitlines()[-environments.LAST_LINES :])
        raise RunError(f"the image can't be built:\n{last}")
    return image


def _wait(words: list[str], environment: Mapping[str, str], limit_seconds: float | None) -> int:
    """The exit code; that of a shell for one that a signal has ended."""
    try:
        process: subprocess.Popen[Any] = subprocess.Popen(words, env=dict(environment))
    except OSError as error:
        raise RunError(f"{words[0]} can't be started: {error.strerror or error}") from error
    try:
        code = process.wait(limit_seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        return TIMED_OUT
    except KeyboardInterrupt:
        _end(process)
        return INTERRUPTED
    return 128 - code if code < 0 else code


def _end(process: "subprocess.Popen[Any]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_END_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()
