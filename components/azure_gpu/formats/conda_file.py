"""Reads a conda file: the packages of an environment, conda's own and those that pip installs. Nothing is looked up."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from azure_gpu.catalog.services.machine_learning.packages import Package
from azure_gpu.formats import bounded_yaml

LONGEST = 100_000  # characters; such files have some dozen lines
# A name and its version constraint: `numpy`, `python=3.12`, `tensorflow-gpu == 1.12.0`, `jax[cuda12]>=0.4`, `channel::name`.
_PACKAGE = re.compile(
    r"(?:[\w./-]+::)?(?P<name>[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)(?P<extras>\[[\w.,\s-]*\])?\s*(?P<constraint>.*)", re.DOTALL
)
# What pip may be given besides packages: its own options, files and addresses.
_OF_PIP = re.compile(r"-|[A-Za-z][A-Za-z0-9+.-]*://|git\+|\.{0,2}/")
_WHEEL = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._]*)-[0-9][^/-]*-[^/]*\.whl")


class CondaFileError(ValueError):
    """The text isn't a conda file. The message tells why."""


def read(text: str) -> tuple[Package, ...]:
    """The packages. One has no name where pip gets an option, or an address that names none."""
    if len(text) > LONGEST:
        raise CondaFileError(f"it has {len(text)} characters, and such a file has at most {LONGEST}")
    try:
        content: Any = bounded_yaml.load(text)
    except bounded_yaml.BoundedYamlError as error:
        raise CondaFileError(f"it can't be read: {error}") from None
    if not isinstance(content, Mapping):
        raise CondaFileError("expected a mapping with the key dependencies")
    body = cast(Mapping[object, object], content)
    dependencies = body.get("dependencies")
    if not isinstance(dependencies, list) or not dependencies:
        raise CondaFileError("it has no list under dependencies")
    if not isinstance(body.get("channels"), list | None):
        raise CondaFileError("channels isn't a list")
    return tuple(_packages(cast(list[object], dependencies)))


def _packages(dependencies: list[object]) -> Iterator[Package]:
    for each in dependencies:
        if isinstance(each, str):
            yield _package(each, pip=False)
        elif isinstance(each, Mapping) and set(cast(Mapping[object, object], each)) == {"pip"}:
            of_pip: Any = cast(Mapping[str, Any], each)["pip"]
            if not isinstance(of_pip, list) or not all(isinstance(one, str) for one in cast(list[object], of_pip)):
                raise CondaFileError("pip isn't a list of packages")
            for one in cast(list[str], of_pip):
                yield _package(one, pip=True)
        else:
            raise CondaFileError(f"not a package: {_word(each)[:80] or 'neither a word nor a number'}")


def _word(value: object) -> str:
    """ "" for anything but a word or a number: with aliases, a few lines can be a list too long to print."""
    is_word = isinstance(value, str | float) or (isinstance(value, int) and value.bit_length() <= 64)
    return str(value) if is_word else ""


def _package(text: str, *, pip: bool) -> Package:
    wheel = _WHEEL.search(text)
    if pip and _OF_PIP.match(text.strip()):
        name = wheel["name"] if wheel else ""
        return Package(_normal(name), (), "", pip, text)
    match = _PACKAGE.fullmatch(text.strip())
    if match is None:
        raise CondaFileError(f"not a package: {text[:80]}")
    extras = tuple(one.strip().lower() for one in (match["extras"] or "[]")[1:-1].split(",") if one.strip())
    return Package(_normal(match["name"]), extras, match["constraint"].strip(), pip, text)


def _normal(name: str) -> str:
    """As pip and conda compare names: `Scikit_Learn` is `scikit-learn`."""
    return re.sub(r"[-_.]+", "-", name).lower()
