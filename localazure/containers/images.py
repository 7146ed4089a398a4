"""Images: built from workloads' folders, cached by content, found by reference.

An image's files lie in the cache and outlive the server; which reference means which image is part of the server's state, as it
is a registry's.
"""

import asyncio
import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azure_gpu.formats import dockerfile as dockerfiles, image_reference
from azure_gpu.formats.build_context import BuildContextError, context_hash
from localazure.arm.store import Store
from localazure.containers import machine
from localazure.containers.build_log import BuildFailedError, BuildLog
from localazure.containers.builder import Builder, Built
from localazure.containers.environments import Environments, Requirements
from localazure.containers.image_tree import ImageTree
from localazure.containers.locks import alone

MACHINE = "localhost"  # the registry of what this machine made without one

_RECIPE = 2  # raised when the builder makes something else out of the same Dockerfile
_MANIFEST = "manifest.json"
_DOCUMENTS = "images/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One built image."""

    digest: str  # sha256:...
    root: Path  # its file system, as far as COPY and RUN filled it
    environment: Path | None  # its Python
    entrypoint: tuple[str, ...]
    cmd: tuple[str, ...]
    env: dict[str, str]
    workdir: str


class Images:
    """The images of this machine and the references that this server knows."""

    def __init__(self, cache: Path, store: Store) -> None:
        self._folder = cache / "images"
        self._environments = Environments(cache)
        self._store = store

    async def build(
        self, context: Path, dockerfile: str, build_args: dict[str, str], references: list[str], log: Path, *, target: str = ""
    ) -> Image:
        """Builds, unless the same content was built before; `references` mean the result from then on. Or BuildFailedError."""
        build_log = BuildLog(log)
        try:
            image = await self._build(context, dockerfile, build_args, target, build_log)
            build_log.say(f"built {image.digest}")
        except BuildFailedError as error:
            build_log.say(f"failed at {error}")
            raise
        finally:
            build_log.close()
        for reference in references:
            self.tag(reference, image)
        return image

    async def of_packages(self, python: str, requirements: str, step: str, log: Path) -> tuple[Image, str]:
        """An image of a Python with packages and nothing else, and the reference that means it. Or BuildFailedError."""
        build_log = BuildLog(log)
        try:
            environment = await self._environments.make(python, (Requirements(requirements),), step, build_log)
        finally:
            build_log.close()
        folder = self._folder / f"packages-{environment.name}"
        async with alone(folder.with_suffix(".lock")):
            image = self._load(folder)
            if image is None:
                tree = ImageTree(folder / "root")
                await asyncio.to_thread(tree.root.mkdir, parents=True, exist_ok=True)
                image = await asyncio.to_thread(self._finish, folder, Built(tree, environment=environment))
        reference = f"{MACHINE}/packages:{environment.name}"
        self.tag(reference, image)
        return image, reference

    def tag(self, reference: str, image: Image) -> None:
        """Lets a reference mean an image; its digest means it too, under the same name."""
        parsed = image_reference.parse(reference)
        if parsed is None:
            raise BuildFailedError("", image_reference.check(reference, "imageNames")[0].message)
        for name in {str(parsed), f"{parsed.name}@{image.digest}"}:
            self._store.put_document(_DOCUMENTS + name, {"folder": image.root.parent.name})

    def find(self, reference: str) -> Image | None:
        """The image that a reference means; None where none was built, or where the cache was emptied since."""
        parsed = image_reference.parse(reference)
        if parsed is None:
            return None
        name = f"{parsed.name}@{parsed.digest}" if parsed.digest else str(parsed)
        document = self._store.document(_DOCUMENTS + name)
        return self._load(self._folder / document["folder"]) if document else None

    def forget(self, registry: str) -> None:
        """Forgets every reference to a registry, when it is deleted. The cache keeps what was built."""
        for name in self._store.documents(f"{_DOCUMENTS}{registry}/"):
            self._store.delete_document(name)

    async def _build(self, context: Path, dockerfile: str, arguments: dict[str, str], target: str, log: BuildLog) -> Image:
        text = _read(context, dockerfile)
        parsed, problems = dockerfiles.parse(text, dockerfile)
        if problems:
            raise BuildFailedError("", "; ".join(str(problem) for problem in problems))
        try:
            content = await asyncio.to_thread(context_hash, context)
        except BuildContextError as error:
            raise BuildFailedError("", str(error)) from error
        log.say(f"building {context.name} from {dockerfile}, context {content}")
        tools = [machine.has_nvidia_driver(), shutil.which("nvcc")]  # the same Dockerfile makes something else where these differ
        recipe = json.dumps([_RECIPE, content, text, sorted(arguments.items()), target, tools])
        folder = self._folder / hashlib.sha256(recipe.encode()).hexdigest()[:24]
        async with alone(folder.with_suffix(".lock")):
            image = self._load(folder)
            if image is not None:
                log.say("the same content was built before; that image serves")
                return image
            shutil.rmtree(folder, ignore_errors=True)
            builder = Builder(
                context=context,
                folder=folder,
                arguments=arguments,
                environments=self._environments,
                log=log,
                target=target,
            )
            built = await builder.build(parsed)
            return await asyncio.to_thread(self._finish, folder, built)

    def _finish(self, folder: Path, built: Built) -> Image:
        """Writes the manifest, which marks the image as whole; its hash is the image's digest."""
        root = built.tree.root
        manifest: dict[str, Any] = {
            "root": root.name,
            "environment": str(built.environment) if built.environment else None,
            "entrypoint": list(built.entrypoint),
            "cmd": list(built.cmd),
            "env": built.variables,
            "workdir": built.workdir,
            "files": {path: hashlib.sha256((root / path).read_bytes()).hexdigest() for path in _files(root)},
        }
        temporary = folder / f".{_MANIFEST}"
        temporary.write_text(json.dumps(manifest, indent=1, sort_keys=True), encoding="utf-8")
        temporary.rename(folder / _MANIFEST)
        image = self._load(folder)
        if image is None:
            raise BuildFailedError("", "the image's Python environment was removed while the image was built; build it again")
        return image

    def _load(self, folder: Path) -> Image | None:
        """The image in a folder; None where it isn't whole, or its environment is gone."""
        file = folder / _MANIFEST
        if not file.exists():
            return None
        text = file.read_bytes()
        manifest = json.loads(text)
        environment = Path(manifest["environment"]) if manifest["environment"] else None
        if environment is not None and not environment.exists():
            return None
        return Image(
            digest=f"sha256:{hashlib.sha256(text).hexdigest()}",
            root=folder / manifest["root"],
            environment=environment,
            entrypoint=tuple(manifest["entrypoint"]),
            cmd=tuple(manifest["cmd"]),
            env=manifest["env"],
            workdir=manifest["workdir"],
        )


def _read(context: Path, dockerfile: str) -> str:
    """The Dockerfile's text. It has to lie in the context."""
    file = (context / dockerfile).resolve()
    if not file.is_relative_to(context.resolve()) or not file.is_file():
        raise BuildFailedError("", f"there is no Dockerfile at {dockerfile!r} in the source")
    return file.read_text(encoding="utf-8")


def _files(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file() and not path.is_symlink())
