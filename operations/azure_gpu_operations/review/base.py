"""Deploys the base commit's stacks on a separate embedded Azure and previews a change against them.

A base is deployed once. Its folder is named after the commit and the code that deploys it, and is never moved, since paths in a
state are absolute. The base runs its program and components on the Python packages of this process. The copy of the state is
unprotected, so that the engine plans everything. A base whose deployment was killed is started over. `python -m localazure` is
run as a command: this package never imports it.
"""

import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.formats import bounded_yaml
from azure_gpu.shared.installation import CHECKOUT
from azure_gpu.stack.keys import FILE_VARIABLE
from azure_gpu_operations import local_connection, torn_state
from azure_gpu_operations.review import placeholders
from azure_gpu_operations.review.placeholders import Prepared
from azure_gpu_operations.review.policies import Packs, Violation, violations, without_own
from azure_gpu_operations.review.repository import Repository
from azure_gpu_operations.stack import EVENT_LOGS
from azure_gpu_operations.terminal import last_line

_ROOM = "localazure"
_ENGINE_BIN = ".local/engine-bin"  # where `make engine` writes the folder of the `pulumi` that it has built


class EmbeddedAzureError(Exception):
    """A command of the embedded Azure failed. The message is for the user."""


class EmbeddedAzure:
    """`state`: its folder. `checkout`: what images are built from."""

    def __init__(self, state: Path, checkout: Path) -> None:
        self.state = state
        self._checkout = checkout

    @contextmanager
    def running(self, as_of: str) -> Iterator[None]:
        """From here until the block ends. `as_of`: the day at which services judge."""
        engine = engine_folder()
        own_engine = ["--engine-bin", str(engine)] if engine else []
        try:
            self._command("start", "--weather", "calm", "--nothing-runs", "--as-of", as_of, *own_engine)
            yield
        finally:  # a start that is interrupted leaves a server, too
            with contextlib.suppress(EmbeddedAzureError):  # what was found out stays; the next start takes a server that is left
                self._command("stop")

    def connect(self, stack: str, folder: Path) -> Path:
        """A copy of the folder's `Pulumi.<stack>.yaml`, connected to it."""
        return Path(self._command("connect", stack, checkout=folder).strip().splitlines()[-1])

    def place(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Puts what a stack names there: `principals`, and `left_out`."""
        file = self.state / "place.json"
        file.write_text(json.dumps(request), encoding="utf-8")
        return json.loads(self._command("place", str(file)))

    def kubeconfig(self, context: str) -> str:
        """The kubeconfig of a cluster that accepts everything and runs nothing. `context`: the name of its context; "": any."""
        found: dict[str, Any] = bounded_yaml.load((self.state / "still" / "kubeconfig").read_text(encoding="utf-8"))
        if context:
            found["contexts"][0]["name"] = found["current-context"] = context
        return json.dumps(found)

    def environment(self, *packages: Path) -> dict[str, str]:
        """The engine's environment. `packages`: folders of Python packages that come before all others."""
        found = {**os.environ, **local_connection.exported(self.state / local_connection.FILE, os.environ)}
        found["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), found.get("PATH", os.defpath)))
        found.pop("VIRTUAL_ENV", None)
        if packages:
            found["PYTHONPATH"] = os.pathsep.join(map(str, packages))
        return found

    def _command(self, *words: str, checkout: Path | None = None) -> str:
        command = [sys.executable, "-m", _ROOM, "--state", str(self.state), "--checkout", str(checkout or self._checkout), *words]
        done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise EmbeddedAzureError(f"`localazure {words[0]}` failed: {last_line(done.stderr)}")
        return done.stdout


def require_embedded_azure() -> None:
    """EmbeddedAzureError where this installation has no embedded Azure."""
    if CHECKOUT is None or not (CHECKOUT / _ROOM).is_dir():
        raise EmbeddedAzureError(
            "this installation has no embedded Azure, which a review requires; fix: review with --live and a login, "
            "or run it in a checkout of azure-gpu"
        )
    if importlib.util.find_spec("uvicorn") is None:
        raise EmbeddedAzureError(
            "the embedded Azure's packages aren't installed here; fix: `make .venv/ready`, and use `.venv/bin/python`"
        )


def engine_folder() -> Path | None:
    """The folder of the `pulumi` that this checkout has built; None: the one on PATH."""
    file = CHECKOUT / _ENGINE_BIN if CHECKOUT else None
    return Path(file.read_text(encoding="utf-8").strip()) if file is not None and file.is_file() else None


def engine(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], stack_file: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Runs `pulumi`, however it ends."""
    own = {FILE_VARIABLE: str(stack_file)} if stack_file is not None else {}
    try:
        return subprocess.run(
            ["pulumi", *words, "--non-interactive"],
            cwd=folder,
            env={**environment, **own},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise EmbeddedAzureError("`pulumi` isn't on PATH; fix: `make engine` builds it in a checkout, or install it") from None


_KEPT = 4  # bases; older ones go
_PACKAGES = ("components", "operations")
_SALT = "encryptionsalt"
_BEGUN = ".begun"


class BaseError(Exception):
    """A stack can't be brought up at the base, or the change can't be previewed. The text is for the user."""


class Against(NamedTuple):
    """The engine's plan for a change."""

    deployment: Mapping[str, Any]
    """The state at the base, with what it protects; {} where the stack is new."""
    steps: list[Mapping[str, Any]]
    """As `pulumi preview --json` writes them."""
    errors: tuple[str, ...]
    """Why the engine wouldn't go on."""
    left_out: Mapping[str, str] = {}
    """Resources that exist by the stack file and couldn't be put there, and why."""
    violations: tuple[Violation, ...] = ()
    """Violations of policies by the change."""
    judged_at: str = ""
    """The day at which both are judged, that of the base's commit: today the base's program would refuse it. "": today."""


class Base:
    """The stacks of one commit, while their embedded Azure runs."""

    def __init__(self, folder: Path, azure: EmbeddedAzure, project_folder: str, day: str) -> None:
        self._folder = folder
        self._azure = azure
        self._day = day
        self._project = self.checkout / project_folder

    @property
    def checkout(self) -> Path:
        """The files of the commit."""
        return self._folder / "checkout"

    @property
    def project(self) -> Path:
        """The folder of the project there."""
        return self._project

    def offline(self, stack: str, commit: str, text: str) -> Path:
        """A stack file for what is decided without Azure. `commit`: `base` or `head`."""
        file = self._folder / f"offline-{commit}" / f"Pulumi.{stack}.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def preview(self, stack: str, base: Prepared | None, head: Prepared, program: Path, packs: Packs) -> Against:
        """The plan of `program` for `head` with `base` deployed, and violations of policies. `base` None: the stack is new."""
        kept = self._brought_up(stack, base) if base is not None else {}
        deployment, left_out = kept.get("deployment") or {}, kept.get("left_out") or {}
        left_out = {
            **left_out,
            **self._configured(stack, head, self._of_head(stack), base_file=self._project / f"Pulumi.{stack}.yaml"),
        }
        file = self._of_head(stack)
        environment = self._azure.environment()
        if base is None:
            folder = self._in_folder_of(file, program)
            engine(("stack", "rm", stack, "--yes", "--preserve-config"), program, environment)  # of a review that was killed
            self._engine(("stack", "init", stack, "--no-select"), folder, environment)
            shutil.copy(folder / file.name, file)
        self._encrypt(stack, head, file, program, environment)
        judged_at = "" if head.as_of else str(kept.get("judged_at") or "")
        if judged_at:  # as the base: the day is a tag of everything, and a change of one makes outputs unknown
            day = ("config", "set", head.as_of_key, judged_at, "--stack", stack, "--config-file", str(file))
            self._engine(day, program, environment)
        words = ("preview", "--json", "--show-replacement-steps", "--stack", stack, "--config-file", str(file))
        events = self._folder / f"events-{stack}.jsonl"
        done = _twice(lambda: engine((*words, *packs.words(events)), program, {**environment, EVENT_LOGS: "true"}, file))
        if base is None:
            self._engine(("stack", "rm", stack, "--yes", "--preserve-config"), program, environment)
        try:
            plan: Mapping[str, Any] = json.loads(done.stdout)
        except ValueError:
            raise BaseError(f"the change couldn't be previewed: {last_line(done.stderr or done.stdout)}") from None
        wrong = tuple(str(each["message"]).strip() for each in plan.get("diagnostics") or [] if each.get("severity") == "error")
        if done.returncode != 0 and not wrong:
            raise BaseError(f"the change couldn't be previewed: {last_line(done.stderr)}")
        broken = violations(events) if packs.folders else ()
        return Against(
            deployment=deployment,
            steps=list(plan.get("steps") or []),
            errors=without_own(wrong, broken),
            left_out=left_out,
            violations=broken,
            judged_at=judged_at,
        )

    def _brought_up(self, stack: str, base: Prepared) -> Mapping[str, Any]:
        kept = self._folder / f"{stack}.json"
        if kept.is_file():
            content = json.loads(kept.read_text(encoding="utf-8"))
            if content.get("failed"):
                raise BaseError(content["failed"])
            return content
        kept.with_suffix(_BEGUN).touch()
        environment = self._azure.environment(*(self.checkout / each for each in _PACKAGES if (self.checkout / each).is_dir()))
        file = self._project / f"Pulumi.{stack}.yaml"
        left_out = self._configured(stack, base, file)
        done = engine(("stack", "init", stack, "--no-select"), self._project, environment)
        if done.returncode != 0:
            raise BaseError(f"the base's stack couldn't be created: {last_line(done.stderr)}")
        self._encrypt(stack, base, file, self._project, environment)
        up = ("up", "--yes", "--skip-preview", "--stack", stack)
        done = _twice(lambda: engine(up, self._project, environment, file))
        judged_at = self._day if done.returncode != 0 and _is_refused(done.stdout) and not base.as_of else ""
        if judged_at:  # by the program, which judges by today: a date may have passed since the commit
            self._engine(("config", "set", base.as_of_key, judged_at, "--stack", stack), self._project, environment)
            done = engine(up, self._project, environment, file)
        if done.returncode != 0:
            failed = f"the base couldn't be deployed: {_errors(done.stdout + done.stderr)}"
            if _is_refused(done.stdout):  # else another try may go well
                _write(kept, {"failed": failed})
            raise BaseError(failed)
        exported = self._engine(("stack", "export", "--stack", stack), self._project, environment)
        deployment = json.loads(exported)["deployment"]
        if any(each.get("protect") for each in deployment.get("resources") or []):
            self._engine(("state", "unprotect", "--all", "--yes", "--stack", stack), self._project, environment)
        content = {"deployment": deployment, "left_out": dict(left_out), "judged_at": judged_at}
        _write(kept, content)
        return content

    def _configured(self, stack: str, prepared: Prepared, target: Path, base_file: Path | None = None) -> Mapping[str, str]:
        """Writes the file, connected, and puts there what it names. `base_file`: with the salt of the stack's secrets."""
        request = {
            "location": prepared.location or "westeurope",
            "resources": [each._asdict() for each in prepared.resources],
            "people": list(prepared.people),
        }
        placed = self._azure.place(request) if prepared.resources or prepared.people else {"principals": {}, "left_out": {}}
        source = self._folder / "source"
        source.mkdir(exist_ok=True)
        text = placeholders.with_people(prepared.text, placed["principals"])
        (source / f"Pulumi.{stack}.yaml").write_text(text, encoding="utf-8")
        connected = self._azure.connect(stack, source)
        content: dict[str, Any] = bounded_yaml.load(connected.read_text(encoding="utf-8"))
        salted = bounded_yaml.load(base_file.read_text(encoding="utf-8")) if base_file is not None and base_file.is_file() else {}
        salt = {_SALT: salted[_SALT]} if isinstance(salted, dict) and _SALT in salted else {}
        rest = {key: value for key, value in content.items() if key != _SALT}
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(bounded_yaml.dump({**salt, **rest}), encoding="utf-8")
        return placed["left_out"]

    def _encrypt(self, stack: str, prepared: Prepared, file: Path, folder: Path, environment: Mapping[str, str]) -> None:
        edges = ((steps, self._azure.kubeconfig(context)) for steps, context in prepared.edges)
        for steps, value in (*prepared.secrets, *edges):
            path = str(steps[0]) + "".join(_step(each) for each in steps[1:])
            words = ("config", "set", "--secret", "--path", path, value, "--stack", stack, "--config-file", str(file))
            self._engine(words if len(steps) > 1 else tuple(each for each in words if each != "--path"), folder, environment)

    def _of_head(self, stack: str) -> Path:
        return self._folder / "head" / f"Pulumi.{stack}.yaml"

    def _in_folder_of(self, file: Path, program: Path) -> Path:
        """A folder with the stack file and a project, which `stack init` writes into."""
        folder = self._folder / "new"
        folder.mkdir(exist_ok=True)
        shutil.copy(program / "Pulumi.yaml", folder)
        shutil.copy(file, folder / file.name)
        return folder

    def _engine(self, words: tuple[str, ...], folder: Path, environment: Mapping[str, str]) -> str:
        done = engine(words, folder, environment)
        if done.returncode != 0:
            raise BaseError(f"`pulumi {' '.join(words[:2])}` failed: {last_line(done.stderr or done.stdout)}")
        return done.stdout


@contextmanager
def running_base(repository: Repository, commit: str, project_folder: str, cache: Path) -> Iterator[Base]:
    """The base of a commit, whose embedded Azure runs until the block ends. One review at a time uses a base."""
    folder = cache / f"{commit[:12]}-{_builder()}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.utime(folder)
        if _was_killed(folder):
            for each in folder.iterdir():
                if each.is_dir():
                    shutil.rmtree(each)
                elif each.name != "lock":
                    each.unlink()
        if not (folder / "checkout").is_dir():
            shutil.rmtree(folder / "exported", ignore_errors=True)
            repository.export(commit, folder / "exported")
            (folder / "exported").rename(folder / "checkout")
        azure = EmbeddedAzure(folder / "azure", folder / "checkout")
        day = repository.date_of(commit)
        with azure.running(day):
            yield Base(folder, azure, project_folder, day)
    with contextlib.suppress(OSError):  # another review may remove the same
        _remove_oldest(cache, keep=folder)


_DIED = "exited prematurely"  # what the engine says of a provider's process, pkg/resource/plugin of pulumi/pulumi


def _twice(run: Callable[[], "subprocess.CompletedProcess[str]"]) -> "subprocess.CompletedProcess[str]":
    """Runs the engine, and once more where a provider's process died, such as on a machine under load. Both continue what is
    there."""
    done = run()
    return run() if done.returncode != 0 and _DIED in f"{done.stdout}{done.stderr}" else done


def _write(file: Path, content: Mapping[str, Any]) -> None:
    """Writes atomically: the file marks a base as complete."""
    written = file.with_suffix(".new")
    written.write_text(json.dumps(content), encoding="utf-8")
    written.rename(file)


def _was_killed(folder: Path) -> bool:
    return any(not torn_state.is_whole(each.with_suffix(".json")) for each in folder.glob(f"*{_BEGUN}"))


def _remove_oldest(cache: Path, keep: Path) -> None:
    """Removes the bases that were used longest ago, without those that are in use."""
    found = sorted((each for each in cache.iterdir() if each.is_dir()), key=lambda each: each.stat().st_mtime, reverse=True)
    for each in found[_KEPT:]:
        if each == keep:
            continue
        with (each / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            shutil.rmtree(each, ignore_errors=True)


def _builder() -> str:
    """A digest of the code that deploys a base: the embedded Azure, and these modules. A new one deploys it again."""
    digest = hashlib.sha256()
    own = [Path(each) for each in (__file__, placeholders.__file__)]
    for file in [*sorted((CHECKOUT / "localazure").glob("**/*.py")), *own] if CHECKOUT else own:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:8]


def _step(step: str | int) -> str:
    return f"[{step}]" if isinstance(step, int) else f'["{step}"]'


def _is_refused(text: str) -> bool:
    """Whether the program has listed what is wrong, before it created anything."""
    return any(line.strip().startswith("- ") for line in text.splitlines()) and "nothing was created" in text


_SHOWN = 12  # lines of an engine's errors


def _errors(text: str) -> str:
    """The error lines of an engine's output."""
    lines = [line.strip() for line in text.splitlines()]
    wrong = [line for line in lines if line.startswith(("error:", "- ")) and "unhandled error" not in line]
    return "; ".join(dict.fromkeys(wrong[:_SHOWN])) or last_line(text)
