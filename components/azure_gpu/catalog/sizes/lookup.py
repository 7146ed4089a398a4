"""Finds a VM size by name, in any letter case, with or without `Standard_`, or as the portal once showed it: `NC6 Standard`.

An unknown name gives a problem with the nearest names: an error for a misspelling of a known name, else a warning, as the size
may be newer than the catalog.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from azure_gpu.catalog import spelling
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.sizes.model import Size

PREFIX = "Standard_"
# Families whose machines have no GPU, by the first letters of a size's name. Source: Microsoft Learn, virtual-machines/sizes/
# overview: A, B, D and DC for general purpose, E, EC and M for memory, F and FX for compute, L for storage; GPUs are those of N.
_WITHOUT_GPU = r"standard_(a|b|d[cs]?|ec?|fx?|l|m)[0-9]+[a-z0-9-]*(_v[0-9]+)?"
_KEY_PREFIX = PREFIX.lower()
# Names of a preview that no longer deploy, other than those whose figures the catalog has.
_PREVIEW = r"standard_nc(?:(?:8|16)l|(?:32|64|132|264|324)l?)ds_xl_rtxpro6000bse_v6"
_AFTER_PREVIEW = "NC_RTXPRO6000BSE_v6"


class Sizes:
    """A set of sizes by name."""

    def __init__(self, rows: Iterable[Size] | Callable[[], Iterable[Size]]) -> None:
        """`rows`: sizes, or a function that reads them at the first use."""
        self._rows = rows
        self._read: dict[str, dict[str, Size]] = {}

    @property
    def _by_key(self) -> dict[str, Size]:
        try:
            return self._read["sizes"]
        except KeyError:
            rows = self._rows() if callable(self._rows) else self._rows
            # Of two threads that read at once, both answer with the sizes of one.
            return self._read.setdefault("sizes", {_key(size.name): size for size in rows})

    def __iter__(self) -> Iterator[Size]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def find(self, name: str) -> Size | None:
        """The size of this name, in any spelling; None if unknown."""
        return self._by_key.get(_key(name))

    def nearest(self, name: str, most: int = 3) -> tuple[str, ...]:
        """Names that a misspelt one may have meant, nearest first.

        They begin with the same letter, so that a size without a GPU isn't taken for one with a GPU.
        """
        given = _key(name).removeprefix(_KEY_PREFIX)
        names = [key.removeprefix(_KEY_PREFIX) for key in self._by_key]
        close = spelling.nearest(given, [other for other in names if other[:1] == given[:1]], most, 0.7)
        return tuple(self._by_key[_KEY_PREFIX + other].name for other in close)

    def unknown(self, name: str, path: str) -> Problem:
        """The problem of a size that isn't known: an error if it is a misspelling, else a warning, because the size
        may be newer than the catalog."""
        meant = self._meant(name)
        if meant:
            return refused("size.misspelt", path, name, instead=(meant,), meant=meant)
        if re.fullmatch(_PREVIEW, _key(name)):
            later = tuple(size.name for size in self if size.series.name == _AFTER_PREVIEW)
            return refused("size.of_preview", path, name, instead=later, later=", ".join(later))
        if re.fullmatch(_WITHOUT_GPU, _key(name)):
            return refused("size.without_gpu", path, name)
        close = self.nearest(name)
        return refused("size.unknown", path, name, close=close)

    def _meant(self, name: str) -> str:
        """The known size whose name was written with letters that changed places, with a separator too many or too few, or with
        `Standard` misspelt; empty without one. Another letter or digit isn't a misspelling: Azure's names differ by one."""
        key = _key(name)
        bare = key.removeprefix(_KEY_PREFIX)
        head, _, rest = bare.partition("_")
        if _KEY_PREFIX + rest in self._by_key and spelling.is_misspelling(head, _KEY_PREFIX[:-1]):
            return self._by_key[_KEY_PREFIX + rest].name
        return next((size.name for other, size in self._by_key.items() if _is_misspelling(key, other)), "")


_SEPARATORS = r"[_-]"
_LETTERS = r"[a-z]+"


def _is_misspelling(key: str, other: str) -> bool:
    if re.sub(_SEPARATORS, "", key) == re.sub(_SEPARATORS, "", other):
        return True
    moved = sorted(key) == sorted(other) and re.sub(_LETTERS, "", key) == re.sub(_LETTERS, "", other)
    return moved and spelling.is_misspelling(key, other)


@lru_cache(maxsize=1024)  # searches for successors and prices use the same names repeatedly
def normalise(name: str) -> str:
    """With `Standard_` in front: `NC6`, `nc6 Standard` and `standard_NC6` begin alike afterwards. The rest keeps its spelling.

    What the portal adds in parentheses, as in `Standard NC6s v3 (6 vcpus, 112 GiB memory)`, is left out.
    """
    bare = " ".join(name.partition("(")[0].split())
    if bare.lower().endswith(" standard"):
        bare = bare[: -len(" standard")]
    if bare.lower().startswith((_KEY_PREFIX, "standard ")):
        bare = bare[len(PREFIX) :]
    return PREFIX + bare.strip().replace(" ", "_")


def _key(name: str) -> str:
    return normalise(name).lower()
