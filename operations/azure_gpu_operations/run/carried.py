"""Files that go with a run: what is put beside its program, and what of it is kept.

In: the words of --input, --output and --into; a build context; a storage account. Out: `Files` and problems; the context with the
carrier in it; the carrier's instructions; blobs. The carrier runs inside the image, so only what is built can have it: a script,
a workload, a folder. On a pool Batch itself carries files, for any image.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.run import names
from azure_gpu_operations.run.carrier import carry
from azure_gpu_operations.run.context import DOCKERFILE, Context, content_hash
from azure_gpu_operations.run.on_batch.commands import whole_command
from azure_gpu_operations.run.protocol import Say
from azure_gpu_operations.run.target import Target

if TYPE_CHECKING:
    from azure_gpu_operations.azure import Arm
    from azure_gpu_operations.batch.blobs import Blobs

CONTAINER = "runs"  # of the stack's storage account, for the files of every run
TASK = "main"  # of a run that is one program: below it lies what it leaves
_INPUTS = "inputs"
_UNDER_WAY = "under-way"  # below it a blob for each run whose carrier hasn't uploaded everything yet
CARRIER = "azure-gpu-carry.py"
_LARGEST = 2 * 1024**3  # bytes of all inputs: they pass through this machine's memory one by one


class Input(NamedTuple):
    """A file or a folder of this machine, and what it is called below the program's working folder."""

    path: Path
    name: str


class Files(NamedTuple):
    """What goes with a run."""

    inputs: tuple[Input, ...] = ()
    outputs: tuple[str, ...] = ()  # patterns from the working folder on
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
            problems.append(Problem("--input", "the file or folder isn't there", value=path_text, code=Code.NOT_FOUND))
        elif _leads_out(name):
            fix = "write a path below that folder, such as data"
            problems.append(Problem("--input", "it leads out of the program's working folder", value=name, fix=fix))
        elif any(each.name == name for each in found):
            fix = f"give one another name: --input {path_text}=NAME"
            problems.append(Problem("--input", "two inputs have the same name", value=name, fix=fix))
        elif sum(file.stat().st_size for file in _files(path).values()) > _LARGEST:
            fix = "put it into the storage account and let the program fetch it as its identity"
            problems.append(Problem("--input", f"it is larger than {_LARGEST // 1024**3} GiB", value=path_text, fix=fix))
        else:
            found.append(Input(path, name))
    patterns = tuple(outputs)
    problems += [
        Problem("--output", "it leads out of the program's working folder", value=each, fix="write a path below that folder")
        for each in patterns
        if _leads_out(each)
    ]
    problems += check_into(into)
    return Files(tuple(found), patterns, into), problems


def check_into(into: Path | None) -> list[Problem]:
    """Whether what a run leaves can be put there."""
    if into is None or not into.exists() or into.is_dir():
        return []
    return [Problem("--into", "this is no folder", value=str(into), fix="name a folder, new or not")]


def check(files: Files, context: Context | None, storage: str, stack: str) -> list[Problem]:
    """What keeps them from being carried into an image that is built. `storage`: the id of the stack's storage account."""
    if not files.are_carried:
        return []
    path = "--input" if files.inputs else "--output"
    if not storage:
        message = "the stack has no storage account, through which files come and go"
        fix = "add `storage: create` to the stack's foundation and run `pulumi up`"
        return [Problem(path, message, value=stack, fix=fix, code=Code.NOT_FOUND)]
    if context is None:
        message = "only what is built can have files: a script, a workload, a folder with a Dockerfile"
        fix = f"write a {DOCKERFILE} with `FROM` that image and its ENTRYPOINT, and name its folder"
        return [Problem(path, message, fix=fix)]
    if not context.script and whole_command(context, ()) is None:
        message = "what the image starts can't be read"
        fix = f"write ENTRYPOINT in the form of a list into its {DOCKERFILE}"
        return [Problem(path, message, value=context.described, fix=fix)]
    return []


def with_carrier(context: Context, arguments: Iterable[str]) -> tuple[Context, list[str]]:
    """The context whose image starts the carrier, which starts what the image started; and the arguments that go with it."""
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
    """A run's files in the storage account. `blobs` None: it has none."""

    name: str = ""  # under which they lie there: not every service has a name for a run before it begins
    files: Files = Files()
    blobs: "Blobs | None" = None

    @property
    def kept_as(self) -> str:
        return self.name if self.files.outputs else ""

    def tell(self, say: Say) -> None:
        """Once it was started: for whoever looks for its files when this command is gone."""
        if self.kept_as:
            say(f"its files will be in the stack's storage account as {self.kept_as}")

    def end(self, say: Say, stack: str) -> None:
        """Fetches what the program has left, where that was requested; else says how it is fetched."""
        if self.blobs is None or not self.kept_as:
            return
        if self.files.into is None:
            say(f"its files: {COMMAND} fetch {self.kept_as} --into FOLDER --stack {stack}")
            return
        folder = self.files.into.expanduser()
        say(fetched(fetch(self.blobs, self.kept_as, folder), folder))


NO_FILES = RunFiles()


class Carrying(NamedTuple):
    """What a run starts, with its files in their places."""

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
    longest: int = names.LONGEST,
) -> Iterator[Carrying]:
    """`client_id`: of the identity by which files come and go, "" for the only one; asked where there are files. `longest`: name
    of the run, in characters."""
    if not files.are_carried or target.context is None:
        yield Carrying(target, list(arguments))
        return
    from azure_gpu_operations.batch.blobs import Blobs  # here: Azure's clients take longer to load than a command line

    identity = client_id()
    context, words = with_carrier(target.context, arguments)
    name = names.of_run(target, longest)
    with closing(Blobs(arm, storage)) as blobs:
        variables = placed(blobs, files, name, identity)
        target = target._replace(context=context, environment={**target.environment, **variables})
        yield Carrying(target, words, RunFiles(name, files, blobs))


def placed(blobs: "Blobs", files: Files, run: str, client_id: str) -> dict[str, str]:
    """Uploads the inputs, each content once. The variable that tells the carrier what to do."""
    blobs.make_container(CONTAINER)
    told = [{"from": _upload(blobs, each), "to": each.name} for each in files.inputs]
    under_way = f"{_UNDER_WAY}/{run}" if files.outputs else ""
    if under_way:
        blobs.put(CONTAINER, under_way, b"")
    instructions = {
        "container_url": f"{blobs.endpoint}{CONTAINER}",
        "client_id": client_id,
        "inputs": told,
        "outputs": list(files.outputs),
        "prefix": f"{run}/{TASK}",
        "under_way": under_way,
    }
    return {carry.VARIABLE: json.dumps(instructions)}


def fetch(blobs: "Blobs", run: str, folder: Path) -> int:
    """What a run has left, into a folder; how many files. Of several tasks each has a folder of its own."""
    kept = list(blobs.names(CONTAINER, f"{run}/"))
    prefix = f"{run}/{TASK}/" if kept and all(name.startswith(f"{run}/{TASK}/") for name in kept) else f"{run}/"
    folder.mkdir(parents=True, exist_ok=True)
    return sum(1 for _ in blobs.fetch(CONTAINER, prefix, folder))


def is_under_way(blobs: "Blobs", run: str) -> bool:
    """Whether its carrier hasn't uploaded everything: the run goes on, or was ended before. A Batch run has no carrier."""
    return f"{_UNDER_WAY}/{run}" in blobs.names(CONTAINER, f"{_UNDER_WAY}/{run}")


def fetched(count: int, folder: Path) -> str:
    """The sentence that says so."""
    return f"fetched {count} {'file' if count == 1 else 'files'} into {folder}"


def _upload(blobs: "Blobs", one: Input) -> str:
    files = _files(one.path)
    content: Mapping[str, bytes] = {name: file.read_bytes() for name, file in files.items()}
    prefix = f"{_INPUTS}/{content_hash(content)}"
    for name, each in content.items():
        blobs.put(CONTAINER, f"{prefix}/{name}" if one.path.is_dir() else prefix, each, again=False)
    return prefix


def _files(path: Path) -> dict[str, Path]:
    """By their names below the path; a file is itself."""
    if path.is_file():
        return {path.name: path}
    return {file.relative_to(path).as_posix(): file for file in sorted(path.rglob("*")) if file.is_file()}


def _leads_out(path: str) -> bool:
    return not path or path.startswith(("/", "\\")) or ".." in Path(path).parts
