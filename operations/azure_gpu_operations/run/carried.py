"""Input and output files of a run (--input, --output, --into), transferred through the stack's storage account.

A carrier program in the image downloads inputs and uploads outputs, so files require a built image: a script, a workload or a
folder. On Batch the service transfers files, for any image.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.formats.build_context import DOCKERFILE, Context, content_hash
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.run.carrier import carry
from azure_gpu_operations.run.on_batch.commands import whole_command
from azure_gpu_operations.run.protocol import Say, WrongRunError
from azure_gpu_operations.run.target import LONGEST_NAME, Target, run_name

if TYPE_CHECKING:
    from azure_gpu_operations.azure import Arm
    from azure_gpu_operations.batch.blobs import Blobs

CONTAINER = "runs"  # in the stack's storage account, for the files of all runs
TASK = "main"  # folder of the output files of a run with one program
_INPUTS = "inputs"
_UNDER_WAY = "under-way"  # prefix of a marker blob per run, until its carrier has uploaded everything
CARRIER = "azure-gpu-carry.py"
_LARGEST = 2 * 1024**3  # bytes of one input: it is read into memory


class Input(NamedTuple):
    """A local file or folder, and its name in the program's working folder."""

    path: Path
    name: str


class Files(NamedTuple):
    """The files of a run."""

    inputs: tuple[Input, ...] = ()
    outputs: tuple[str, ...] = ()  # patterns relative to the working folder
    into: Path | None = None

    @property
    def are_carried(self) -> bool:
        return bool(self.inputs or self.outputs)


def resolve(inputs: Iterable[str], outputs: Iterable[str], into: Path | None) -> tuple[Files, list[Problem]]:
    problems: list[Problem] = []
    found: list[Input] = []
    for text in inputs:
        path_text, _, name = text.partition("=")
        path = Path(path_text).expanduser()
        name = name or path.resolve().name
        if not path.exists():
            problems.append(Problem("--input", "file or folder not found", value=path_text, code=Code.NOT_FOUND))
        elif _is_outside(name):
            fix = "use a path inside that folder, such as data"
            problems.append(Problem("--input", "the path is outside the program's working folder", value=name, fix=fix))
        elif any(each.name == name for each in found):
            fix = f"rename one: --input {path_text}=NAME"
            problems.append(Problem("--input", "two inputs have the same name", value=name, fix=fix))
        elif sum(file.stat().st_size for file in _files(path).values()) > _LARGEST:
            fix = "upload it to the storage account and let the program download it with its identity"
            problems.append(Problem("--input", f"larger than {_LARGEST // 1024**3} GiB", value=path_text, fix=fix))
        else:
            found.append(Input(path, name))
    patterns = tuple(outputs)
    problems += [
        Problem("--output", "the path is outside the program's working folder", value=each, fix="use a path inside that folder")
        for each in patterns
        if _is_outside(each)
    ]
    problems += check_into(into)
    return Files(tuple(found), patterns, into), problems


def check_into(into: Path | None) -> list[Problem]:
    """Problems with the folder for output files."""
    if into is None or not into.exists() or into.is_dir():
        return []
    return [Problem("--into", "not a folder", value=str(into), fix="name a new or existing folder")]


def make_folder(into: Path | None) -> None:
    """Creates the folder before anything is billed, so that files can be downloaded at the end."""
    if into is None:
        return
    try:
        into.expanduser().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        fix = "name a writable folder"
        raise WrongRunError([Problem("--into", f"the folder can't be created: {reason}", str(into), fix=fix)]) from error


def check(files: Files, context: Context | None, storage: str, stack: str) -> list[Problem]:
    """Problems with files in a built image. `storage`: the id of the stack's storage account."""
    if not files.are_carried:
        return []
    path = "--input" if files.inputs else "--output"
    if not storage:
        message = "the stack has no storage account, which transfers the files"
        fix = "add `storage: create` to the stack's foundation and run `pulumi up`"
        return [Problem(path, message, value=stack, fix=fix, code=Code.NOT_FOUND)]
    if context is None:
        message = "files require a built image: a script, a workload or a folder with a Dockerfile"
        fix = f"write a {DOCKERFILE} with `FROM` this image and its ENTRYPOINT, and name its folder"
        return [Problem(path, message, fix=fix)]
    if not context.script and whole_command(context, ()) is None:
        message = "the image's command can't be determined"
        fix = f"write ENTRYPOINT in its {DOCKERFILE} as a JSON list"
        return [Problem(path, message, value=context.described, fix=fix)]
    return []


def with_carrier(context: Context, arguments: Iterable[str]) -> tuple[Context, list[str]]:
    """The context with the carrier as entry point, which starts the original command; and its arguments."""
    words = list(arguments)
    lines = [f"COPY {CARRIER} /{CARRIER}"]
    if context.script:
        start = ["python", f"/{CARRIER}", "python", f"/app/{context.script}"]
    else:
        whole = whole_command(context, tuple(words)) or ()
        start, words = ["python3", f"/{CARRIER}"], list(whole)
    lines.append(f"ENTRYPOINT {json.dumps(start)}")
    dockerfile = context.files[DOCKERFILE].decode("utf-8").rstrip("\n") + "\n" + "\n".join(lines) + "\n"
    source = Path(carry.__file__).read_bytes()
    files = {**context.files, DOCKERFILE: dockerfile.encode(), CARRIER: source}
    return context._replace(files=files), words


class RunFiles(NamedTuple):
    """A run's files in the storage account. `blobs` None: no files."""

    name: str = ""  # of their folder there: some services name a run only after its start
    files: Files = Files()
    blobs: "Blobs | None" = None

    @property
    def kept_as(self) -> str:
        return self.name if self.files.outputs else ""

    def tell(self, say: Say) -> None:
        """Shows the name of the files after the start, for a later download."""
        if self.kept_as:
            say(f"its files will be stored in the stack's storage account as {self.kept_as}")

    def end(self, say: Say, stack: str) -> None:
        """Downloads the output files if requested; otherwise shows the command for it."""
        if self.blobs is None or not self.kept_as:
            return
        if self.files.into is None:
            say(f"to fetch its files: {COMMAND} logs {self.kept_as} --into FOLDER --stack {stack}")
            return
        folder = self.files.into.expanduser()
        say(fetched(fetch(self.blobs, self.kept_as, folder), folder))


NO_FILES = RunFiles()


class Carrying(NamedTuple):
    """The target and arguments of a run with files."""

    target: Target
    arguments: list[str]
    files: RunFiles = NO_FILES


@contextmanager
def carrying(
    arm: "Arm",
    storage: str,
    target: Target,
    arguments: Sequence[str],
    files: Files,
    client_id: Callable[[], str],
    longest: int = LONGEST_NAME,
) -> Iterator[Carrying]:
    """`client_id`: of the identity that transfers files, "" for the only one; called only if there are files. `longest`: maximum
    length of the run's name."""
    if not files.are_carried or target.context is None:
        yield Carrying(target, list(arguments))
        return
    from azure_gpu_operations.batch.blobs import Blobs  # here: Azure's clients load slowly

    identity = client_id()
    context, words = with_carrier(target.context, arguments)
    name = run_name(target, longest)
    with closing(Blobs(arm, storage)) as blobs:
        variables = placed(blobs, files, name, identity)
        target = target._replace(context=context, environment={**target.environment, **variables})
        yield Carrying(target, words, RunFiles(name, files, blobs))


def placed(blobs: "Blobs", files: Files, run: str, client_id: str) -> dict[str, str]:
    """Uploads the inputs, each content once. Returns the environment variable with the carrier's instructions."""
    blobs.make_container(CONTAINER)
    uploaded = [{"from": _upload(blobs, each), "to": each.name} for each in files.inputs]
    under_way = f"{_UNDER_WAY}/{run}" if files.outputs else ""
    if under_way:
        blobs.put(CONTAINER, under_way, b"")
    instructions = {
        "container_url": f"{blobs.endpoint}{CONTAINER}",
        "client_id": client_id,
        "inputs": uploaded,
        "outputs": list(files.outputs),
        "prefix": f"{run}/{TASK}",
        "under_way": under_way,
    }
    return {carry.VARIABLE: json.dumps(instructions)}


def fetch(blobs: "Blobs", run: str, folder: Path) -> int:
    """Downloads a run's output files to a folder; returns their number. Each of several tasks has a subfolder."""
    kept = list(blobs.names(CONTAINER, f"{run}/"))
    prefix = f"{run}/{TASK}/" if kept and all(name.startswith(f"{run}/{TASK}/") for name in kept) else f"{run}/"
    folder.mkdir(parents=True, exist_ok=True)
    return sum(1 for _ in blobs.fetch(CONTAINER, prefix, folder))


def is_under_way(blobs: "Blobs", run: str) -> bool:
    """Whether its carrier hasn't uploaded everything: the run continues, or was stopped early. Batch runs have no carrier."""
    return f"{_UNDER_WAY}/{run}" in blobs.names(CONTAINER, f"{_UNDER_WAY}/{run}")


def fetched(count: int, folder: Path) -> str:
    """Message about downloaded files."""
    return f"fetched {count} {'file' if count == 1 else 'files'} into {folder}"


def _upload(blobs: "Blobs", one: Input) -> str:
    files = _files(one.path)
    content: Mapping[str, bytes] = {name: file.read_bytes() for name, file in files.items()}
    prefix = f"{_INPUTS}/{content_hash(content)}"
    for name, each in content.items():
        blobs.put(CONTAINER, f"{prefix}/{name}" if one.path.is_dir() else prefix, each, again=False)
    return prefix


def _files(path: Path) -> dict[str, Path]:
    """Files by their path below the folder; a single file by its name."""
    if path.is_file():
        return {path.name: path}
    return {file.relative_to(path).as_posix(): file for file in sorted(path.rglob("*")) if file.is_file()}


def _is_outside(path: str) -> bool:
    return not path or path.startswith(("/", "\\")) or ".." in Path(path).parts
