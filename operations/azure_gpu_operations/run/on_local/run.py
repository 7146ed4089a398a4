"""A run on this machine: creates its environment or image, starts it, and returns its exit code.

The program inherits standard output and error, and gets Ctrl-C from the terminal.
"""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from azure_gpu.catalog.services.machines import smi
from azure_gpu_operations.exit_codes import TIMED_OUT
from azure_gpu_operations.run import gpu_confirmation, names
from azure_gpu_operations.run.context import archive
from azure_gpu_operations.run.errors import RunError
from azure_gpu_operations.run.method import RunMethod
from azure_gpu_operations.run.on_local import environments
from azure_gpu_operations.run.on_local.plan import Plan as Planned, container_command
from azure_gpu_operations.run.protocol import Cost, Outcome, Output, Say
from azure_gpu_operations.run.target import Target

_SMI_SECONDS = 20  # a driver that has just been loaded takes several
_END_SECONDS = 10  # between SIGTERM and SIGKILL


@contextmanager
def plan(planned: Planned, target: Target, timeout_minutes: float | None, output: Output) -> Iterator["LocalRun"]:
    """Creates its environment or image."""
    say = output.say
    gpus = _confirm(say)
    name = names.of_run(target)
    if planned.method is RunMethod.CONTAINER:
        image = _built(planned, say) if planned.context is not None else planned.image
        words = container_command(planned, image, name, gpus=gpus, secrets=target.secrets)
        more: Mapping[str, str] = target.secrets
    else:
        python = environments.python_of(planned.requirements, locked=planned.locked, say=say)
        words = [str(python), *planned.words]
        path = os.pathsep.join(filter(None, (planned.search, os.environ.get("PYTHONPATH", ""))))
        more = {"PYTHONUNBUFFERED": "1", **planned.environment, **target.secrets, **({"PYTHONPATH": path} if path else {})}
    yield LocalRun(planned, target, name, words, {**os.environ, **more}, timeout_minutes, output)


class LocalRun:
    """One process."""

    place = "here"
    can_be_left = False
    kept_as = ""

    def __init__(
        self,
        planned: Planned,
        target: Target,
        name: str,
        words: list[str],
        environment: Mapping[str, str],
        timeout_minutes: float | None,
        output: Output,
    ) -> None:
        self._planned, self._target, self._words, self._environment = planned, target, words, environment
        self._limit = None if timeout_minutes is None else timeout_minutes * 60
        self._say = output.say
        self._process: subprocess.Popen[Any] | None = None
        self.name = name

    def start(self) -> None:
        self._say(f"started {self._target.described} here")
        try:
            self._process = subprocess.Popen(self._words, env=dict(self._environment))
        except OSError as error:
            raise RunError(f"{self._words[0]} can't be started: {error.strerror or error}") from error

    def follow(self) -> Outcome:
        assert self._process is not None, "it was started"
        try:
            code = self._process.wait(self._limit)
        except subprocess.TimeoutExpired:
            self.stop()
            return Outcome(TIMED_OUT, "stopped after its timeout")
        code = 128 - code if code < 0 else code  # as a shell reports signals
        return Outcome(code, f"exit code {code}")

    def stop(self) -> bool:
        if self._process is None:
            return False
        _end(self._process)
        if self._planned.method is RunMethod.CONTAINER:
            with suppress(OSError):
                subprocess.run([self._planned.engine, "rm", "--force", self.name], capture_output=True, check=False)
        return True

    def cost(self) -> Cost:
        return Cost("nothing is billed")

    def settle(self) -> None:
        """Nothing to clean up."""


def _confirm(say: Say) -> bool:
    """Shows the visible GPUs; returns whether there are any."""
    command = ["nvidia-smi", *smi.ARGUMENTS.split(" ")]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_SMI_SECONDS, check=True).stdout
    except FileNotFoundError:
        say(gpu_confirmation.none(""))
        return False
    except (OSError, subprocess.SubprocessError) as error:
        output = getattr(error, "stdout", None) or getattr(error, "stderr", None) or error
        say(gpu_confirmation.none(str(output).strip().splitlines()[-1]))
        return False
    for line in gpu_confirmation.of_answer(answer):
        say(line)
    return True


def _built(planned: Planned, say: Say) -> str:
    """Builds the image, with the engine's cache; returns its local name."""
    assert planned.context is not None
    image = f"azure-gpu/{planned.context.image}"
    say(f"building {image} with {planned.engine}")
    done = subprocess.run(
        [planned.engine, "build", "--quiet", "--tag", image, "-"],
        input=archive(planned.context),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        last = "\n".join(done.stderr.decode("utf-8", errors="replace").splitlines()[-environments.LAST_LINES :])
        raise RunError(f"the image can't be built:\n{last}")
    return image


def _end(process: "subprocess.Popen[Any]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_END_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()
