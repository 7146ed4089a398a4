"""The folder of an image's file system: resolves absolute paths of the image below it.

There is no sandbox: a program that opens `/etc/hosts` opens this machine's. Only paths that a Dockerfile names are led into the
folder.
"""

import fnmatch
import posixpath
import shutil
from dataclasses import dataclass
from pathlib import Path

from azure_gpu.formats.build_context import context_files

WILDCARDS = "*?["


class CopyError(Exception):
    """A COPY whose source doesn't exist or whose paths lead outside."""


@dataclass(frozen=True, slots=True)
class ImageTree:
    """One image's files below `root`."""

    root: Path

    def at(self, path: str, workdir: str = "/") -> Path:
        """Where an image's path lies on this machine. `..` ends at the image's root, as it does in a container."""
        return self.root / posixpath.normpath(posixpath.join("/", workdir, path)).lstrip("/")

    def argument(self, word: str, workdir: str) -> str:
        """A program's argument with the image's absolute paths led into the folder: `/app/x`, `--out=/app/x`, `/app/a:/app/b`."""
        flag, equals, value = word.partition("=")
        if not equals or "/" in flag:
            flag, equals, value = "", "", word
        parts = [str(self.at(part)) if self._holds(part, workdir) else part for part in value.split(":")]
        return flag + equals + ":".join(parts)

    def _holds(self, path: str, workdir: str) -> bool:
        """Whether an absolute path means the image: it lies in the working folder, or its first folder came with the image."""
        if not path.startswith("/") or path.startswith("//") or path == "/":  # `//host` is what a URL leaves behind its colon
            return False
        normal = posixpath.normpath(path)
        top = self.root / normal.split("/")[1]
        return (workdir != "/" and (normal == workdir or normal.startswith(workdir + "/"))) or top.exists()

    def copy_context(self, context: Path, sources: tuple[str, ...], destination: str, workdir: str) -> None:
        """COPY out of the build context."""
        files = context_files(context)
        target = self.at(destination, workdir)
        for source in sources:
            clean = _inside(source)
            matches = _matches(files, clean, source)
            into_folder = destination.endswith(("/", "/.", ".")) or len(sources) > 1 or matches[0] != clean
            for path in matches:
                below = posixpath.relpath(path, _kept_from(clean, path))
                _copy_file(context / path, target / below if into_folder else target)

    def copy_stage(self, stage: "ImageTree", sources: tuple[str, ...], destination: str, workdir: str) -> None:
        """COPY --from a stage."""
        target = self.at(destination, workdir)
        into_folder = destination.endswith(("/", "/.", ".")) or len(sources) > 1
        for source in sources:
            found = stage.at(source)
            if found.is_dir():
                shutil.copytree(found, target, symlinks=True, dirs_exist_ok=True)
            elif found.is_file():
                _copy_file(found, target / found.name if into_folder or target.is_dir() else target)
            else:
                raise CopyError(f"the stage has no {source}")


def _copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target / source.name if target.is_dir() else target)


def _inside(source: str) -> str:
    clean = posixpath.normpath(source.lstrip("/") or ".")
    if clean.startswith(".."):
        raise CopyError(f"{source} lies outside of the build context")
    return clean


def _matches(files: list[str], clean: str, source: str) -> list[str]:
    """The context's files that a source names: one file, everything below a folder, or what fits wildcards."""
    if any(character in clean for character in WILDCARDS):
        found = [path for path in files if _fits(path, clean)]
    else:
        found = [path for path in files if clean == "." or path == clean or path.startswith(clean + "/")]
    if not found:
        raise CopyError(f"the build context has no {source}")
    return found


def _fits(path: str, pattern: str) -> bool:
    """Wildcards stop at slashes; a folder that fits brings everything below it."""
    requested, given = pattern.split("/"), path.split("/")
    return len(given) >= len(requested) and all(fnmatch.fnmatchcase(one, fit) for one, fit in zip(given, requested, strict=False))


def _kept_from(source: str, path: str) -> str:
    """The folder from which on a copied file keeps its path: a copied folder brings what is in it, and not itself."""
    if source == "." or path.startswith(source + "/"):
        return source
    depth = source.count("/") + 1
    parts = path.split("/")
    return "/".join(parts[:depth]) if len(parts) > depth else posixpath.dirname(path) or "."
