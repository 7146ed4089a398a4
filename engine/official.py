"""The publishers' own archives: where each lies, and the checksum without which it isn't downloaded.

`official.tsv` has the checksums: an archive's address, its SHA-256, and the publisher's file that says so. `python3
engine/build.py --pin` writes it anew from the publishers' files, and is the only thing here that believes the network.
"""

import fnmatch
import platform
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

PINS = Path(__file__).with_name("official.tsv")
_HEADER = "address\tsha256\tsource"
_NOTE = "official"  # the file with the archives' checksums, beside what was unpacked

# What this project calls a platform: `<sys.platform>-<machine>`, as `platform_name` gives it.
LINUX, LINUX_ARM, MACOS_ARM = "linux-x86_64", "linux-arm64", "darwin-arm64"
GO_NAMES = {LINUX: "linux-amd64", LINUX_ARM: "linux-arm64", MACOS_ARM: "darwin-arm64"}
GO_PATHS = {name: found.replace("-", "/") for name, found in GO_NAMES.items()}
PLATFORMS = tuple(GO_NAMES)


@dataclass(frozen=True, slots=True, eq=False)
class Archive:
    """One archive, or one program by itself, of a publisher; `address` and `checksums` are formatted with {platform}."""

    address: str
    checksums: str  # of the publisher: lines of `<sha256>  <file>`, or the sum alone
    programs: tuple[str, ...]  # patterns of the names of the files that are taken out of it; what is no archive gets the first
    platforms: Mapping[str, str]  # this project's name of a platform: the publisher's

    def on(self, name: str) -> str | None:
        """Its address on a platform; None where the publisher has none."""
        return self.address.format(platform=self.platforms[name]) if name in self.platforms else None

    def takes(self, member: str) -> bool:
        """Whether a file of the archive is one of its programs."""
        return any(fnmatch.fnmatch(member.rpartition("/")[2], pattern) for pattern in self.programs)


@dataclass(frozen=True, slots=True)
class Pinned:
    """An archive of this platform with its checksum."""

    archive: Archive
    address: str
    sha256: str

    @property
    def file(self) -> str:
        return urlsplit(self.address).path.rpartition("/")[2]

    @property
    def host(self) -> str:
        return urlsplit(self.address).netloc


def platform_name() -> str:
    machine = platform.machine()
    return f"{sys.platform}-{ {'aarch64': 'arm64', 'amd64': 'x86_64'}.get(machine, machine) }"


def pinned(archives: Sequence[Archive], name: str, pins: Path = PINS) -> tuple[Pinned, ...] | str:
    """All archives with their checksums; or why they can't be had: one that isn't published or pinned leaves the others without
    use."""
    sums = {address: sha256 for address, sha256, _ in rows(pins)}
    found: list[Pinned] = []
    for archive in archives:
        address = archive.on(name)
        if address is None:
            return f"{archive.programs[0]} isn't published for {name}"
        if address not in sums:
            return f"no checksum is pinned for {address}"
        found.append(Pinned(archive, address, sums[address]))
    return tuple(found) or "nothing of it is published"


def note(folder: Path, archives: Iterable[Pinned], own: str) -> None:
    """Writes into `folder` what it was unpacked from; `own` says what this project has added."""
    (folder / _NOTE).write_text(_noted(archives, own), encoding="utf-8")


def made_of(folder: Path, archives: Iterable[Pinned], own: str) -> bool:
    """Whether `folder` was unpacked from these archives, and nothing else of it is old."""
    noted = folder / _NOTE
    return noted.exists() and noted.read_text(encoding="utf-8") == _noted(archives, own)


def _noted(archives: Iterable[Pinned], own: str) -> str:
    return "".join(f"{each.address}\t{each.sha256}\n" for each in archives) + f"{own}\n"


def published_sum(text: str, file: str) -> str | None:
    """The SHA-256 of a file in a publisher's list of sums, or in a file of the sum alone; None where there is none."""
    for line in text.splitlines():
        found = re.match(r"([0-9a-f]{64})(?:\s+\*?(?:\./)?(\S+))?\s*$", line)
        if found and found[2] in (None, file):
            return found[1]
    return None


def written(found: Iterable[tuple[str, str, str]]) -> str:
    """The text of `official.tsv`."""
    return "\n".join([_HEADER, *("\t".join(row) for row in sorted(found))]) + "\n"


def rows(pins: Path) -> list[tuple[str, str, str]]:
    """Address, sum and source of each archive in `official.tsv`."""
    lines = pins.read_text(encoding="utf-8").splitlines()[1:]
    return [(address, sha256, source) for address, sha256, source in (line.split("\t") for line in lines)]
