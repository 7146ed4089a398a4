"""Reads the git repository of a project: commits, changed paths, files at a commit, and the stacks that a change affects.

A stack is affected by changes of its file, of the file that it extends, of a workload or a file that either names, and of the
program and the library. Files that are only extended aren't stacks.
"""

import io
import posixpath
import re
import subprocess
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from azure_gpu.formats import git, stack_file
from azure_gpu.stack.common_file import EXTENDS
from azure_gpu.stack.keys import config_key
from azure_gpu_operations.terminal import last_line


class RepositoryError(Exception):
    """A failed git command, or a stack that neither commit has. The message is for the user."""


class Repository:
    """`folder`: any folder of it, such as the project's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self.root = Path(self._text("rev-parse", "--show-toplevel").strip())
        except RepositoryError as error:
            raise RepositoryError(f"{folder} can't be reviewed: not a git repository with commits: {error}") from None

    def commit(self, reference: str) -> str:
        """The commit that a name means: 40 hex digits."""
        if reference.startswith("-"):
            raise RepositoryError(f"--base: invalid commit name; given: {reference!r}; fix: name a branch or a commit")
        try:
            return self._text("rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}").strip()
        except RepositoryError:
            raise RepositoryError(
                f"--base: commit not found; given: {reference!r}; fix: `git fetch origin {reference}`; "
                "in a workflow, check out with `fetch-depth: 0`"
            ) from None

    def common_ancestor(self, base: str, head: str) -> tuple[str, bool]:
        """Where the change begins: what the base branch has got since then isn't part of it. The base itself, and False, where
        that isn't known, as in a shallow clone."""
        try:
            return self._text("merge-base", base, head).strip(), True
        except RepositoryError:
            return base, False

    def head(self) -> str:
        """The commit that is checked out, with `+` behind it where a file of it is changed, new or gone."""
        commit = self._text("rev-parse", "--verify", "HEAD").strip()
        return f"{commit}+" if self._text("status", "--porcelain").strip() else commit

    def date_of(self, commit: str) -> str:
        """The day of a commit, YYYY-MM-DD in UTC."""
        return self._text("show", "-s", "--format=%cd", "--date=format-local:%Y-%m-%d", commit).strip()

    def changed(self, base: str) -> tuple[str, ...]:
        """The paths of all files that the folders now have otherwise than the commit, from the root on: changed, new, or gone."""
        tracked = self._text("diff", "--name-only", "-z", "--no-renames", base).split("\0")
        new = self._text("ls-files", "--others", "--exclude-standard", "-z", "--full-name", str(self.root)).split("\0")
        return tuple(sorted({each for each in (*tracked, *new) if each}))

    def text_at(self, commit: str, path: str) -> str | None:
        """A file's text at a commit; None where it isn't there, or no text. `path`: from the root on."""
        done = self._run("show", f"{commit}:{path}")
        if done.returncode != 0:
            return None
        try:
            return done.stdout.decode()
        except UnicodeDecodeError:
            return None

    def names_at(self, commit: str, folder: str) -> tuple[str, ...]:
        """The names in a folder at a commit. `folder`: from the root on, "" for the root itself."""
        found = self._text("ls-tree", "--name-only", "-z", f"{commit}:{folder}" if folder else commit).split("\0")
        return tuple(each for each in found if each)

    def export(self, commit: str, target: Path) -> None:
        """Writes the files of a commit into a folder, which must not be there yet; without links that lead elsewhere."""
        done = self._run("-C", str(self.root), "archive", "--format=tar", commit)
        if done.returncode != 0:
            raise RepositoryError(f"git couldn't export {commit[:12]}: {last_line(done.stderr.decode(errors='replace'))}")
        target.mkdir(parents=True)
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(target, filter=_within)  # noqa: S202 - by tarfile's own filter for data

    def _text(self, *words: str) -> str:
        done = self._run(*words)
        if done.returncode != 0:
            raise RepositoryError(f"`git {words[0]}` failed: {last_line(done.stderr.decode(errors='replace'))}")
        return done.stdout.decode(errors="replace")

    def _run(self, *words: str) -> "subprocess.CompletedProcess[bytes]":
        environment = git.environment(TZ="UTC")
        try:
            return subprocess.run(["git", *words], cwd=self.folder, capture_output=True, check=False, env=environment)
        except FileNotFoundError:
            raise RepositoryError("`git` isn't on PATH; install it first") from None


def _within(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
    """A file of an archive; None for what would be, or lead, outside of its folder."""
    try:
        return tarfile.data_filter(member, path)
    except tarfile.FilterError:
        return None


def stack_files(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Stack names and file names of the stack files among the names of a project's folder."""
    for name in sorted(names):
        if name.startswith("Pulumi.") and name.endswith(".yaml") and len(name) > len("Pulumi.yaml"):
            yield name.removeprefix("Pulumi.").removesuffix(".yaml"), name


_PROGRAM = ("__main__.py", "Pulumi.yaml", "requirements.txt", "requirements-deploy.txt")
_LIBRARY = "components/"
_WORKLOAD = re.compile(r"^workloads/([^/]+)/")


class StackFiles(NamedTuple):
    """The texts of one stack's file: at the base, and now. None where it isn't there."""

    stack: str
    file: str  # from the root of the repository
    base: str | None
    head: str | None
    base_extends: str = ""  # the file that it extends, from the root of the repository; "": none
    head_extends: str = ""
    base_common: str | None = None  # that file's text
    head_common: str | None = None


def extended(text: str | None, project: str, folder: str) -> str:
    """The path of the file that a stack's text extends, from the root of the repository on; "" where it extends none."""
    try:
        configuration: Mapping[str, str] = stack_file.configuration(text or "")
    except stack_file.StackFileError:
        return ""
    name = configuration.get(config_key(EXTENDS, project))
    return posixpath.normpath(folder + name) if name else ""


def touched(files: Iterable[StackFiles], changed: Sequence[str], folder: str) -> list[StackFiles]:
    """`folder`: the project's, from the root of the repository on, "" or with a slash at its end."""
    listed = list(files)
    own = [each.removeprefix(folder) for each in changed if each.startswith(folder)]
    commons = {name for each in listed for name in (each.base_extends, each.head_extends)}
    stacks = [each for each in listed if each.file not in commons]
    if any(each in _PROGRAM or each.startswith(_LIBRARY) for each in own):
        return stacks
    words = {match[1] for each in own if (match := _WORKLOAD.match(each))}
    # Files that a stack may name: those that aren't stacks' own, and whose name is more than a word of a sentence.
    words |= {each for each in own if "." in each and not each.startswith("Pulumi.") and not each.endswith((".md", ".py"))}
    return [each for each in stacks if _is_touched(each, set(changed), words)]


def _is_touched(each: StackFiles, changed: set[str], words: set[str]) -> bool:
    if {each.file, each.base_extends, each.head_extends} & changed:
        return True
    texts = [text for text in (each.base, each.head, each.base_common, each.head_common) if text]
    return any(re.search(rf"(?<![\w./-]){re.escape(word)}(?![\w/-])", text) for word in words for text in texts)
