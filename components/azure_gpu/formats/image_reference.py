"""References to container images: `[registry/]repository[:tag][@digest]`, with Docker's defaults filled in.

Source of the grammar and of the defaults: distribution/reference, reference.go and normalize.go (the rules that every client
shares).
"""

import re
from dataclasses import dataclass

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused

DEFAULT_REGISTRY = "docker.io"
DEFAULT_NAMESPACE = "library"  # of Docker Hub's official images: `python` means `docker.io/library/python`
DEFAULT_TAG = "latest"
LONGEST_NAME = 255

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_REGISTRY = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:]+\])(?::\d+)?"
)
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ImageReference:
    """One image. `tag` is "" only if the image is given by a digest without a tag."""

    registry: str
    repository: str
    tag: str
    digest: str = ""

    @property
    def name(self) -> str:
        return f"{self.registry}/{self.repository}"

    def __str__(self) -> str:
        return self.name + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")


def parse(text: str) -> ImageReference | None:
    """The image that `text` refers to, or None if it can't be parsed; `check` tells why."""
    parsed = _parse(text)
    return parsed if isinstance(parsed, ImageReference) else None


def check(text: str, path: str) -> list[Problem]:
    """One problem if `text` isn't an image reference, else none."""
    parsed = _parse(text)
    if isinstance(parsed, ImageReference):
        return []
    message, fix = parsed
    return [refused("image.reference", path, text, fix=fix, why=message)]


def _parse(text: str) -> ImageReference | tuple[str, str]:
    """The reference, or what is wrong with it and the likely fix."""
    if not text:
        return "it is empty", "name an image"
    if text != text.strip() or any(character.isspace() for character in text):
        return "it holds white space", "remove the white space"
    if "://" in text:
        return "it starts like a web address", f"write {text.split('://', 1)[1]!r}"
    rest, at, digest = text.partition("@")
    if at and not _DIGEST.fullmatch(digest):
        return f"the digest {digest!r} isn't sha256: and 64 hexadecimal digits", "copy the whole digest"
    name, tag = _split_tag(rest)
    if tag is not None and not _TAG.fullmatch(tag):
        return f"the tag {tag!r} isn't 1 to 128 letters, digits, '_', '.' and '-'", "correct the tag"
    registry, repository = _split_registry(name)
    if not _REGISTRY.fullmatch(registry):
        return f"the registry {registry!r} isn't a host name", "correct the registry's name"
    if repository != repository.lower():
        return f"the repository {repository!r} has capital letters", f"write {repository.lower()!r}"
    if not _REPOSITORY.fullmatch(repository):
        return (
            f"the repository {repository!r} isn't lowercase words joined by '/', '.', '_' or '-'",
            "correct the repository's name",
        )
    if len(name) > LONGEST_NAME:
        return f"its name has {len(name)} characters, {LONGEST_NAME} is the most", "choose a shorter name"
    if registry == DEFAULT_REGISTRY and "/" not in repository:
        repository = f"{DEFAULT_NAMESPACE}/{repository}"
    return ImageReference(registry, repository, tag or ("" if digest else DEFAULT_TAG), digest)


def _split_tag(text: str) -> tuple[str, str | None]:
    """A colon starts a tag only behind the last slash; before it, it starts a port."""
    folder, slash, last = text.rpartition("/")
    word, colon, tag = last.partition(":")
    return folder + slash + word, tag if colon else None


def _split_registry(name: str) -> tuple[str, str]:
    first, slash, rest = name.partition("/")
    looks_like_host = "." in first or ":" in first or first == "localhost"
    if slash and looks_like_host:
        return (DEFAULT_REGISTRY if first == "index.docker.io" else first), rest
    return DEFAULT_REGISTRY, name
