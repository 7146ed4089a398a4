"""Writes the checksums of the publishers' archives, from the publishers' own files, into `official.tsv`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine import download, official
from engine.progress import Progress


def pin(tools: Mapping[str, Any], pins: Path, progress: Progress) -> int:
    """Writes the file anew, with whatever the publishers say today. Exit code 1 where one of them said nothing of use: each is a
    line, and that archive keeps the row that it had."""
    before = {address: (address, sha256, source) for address, sha256, source in official.rows(pins)}
    rows: set[tuple[str, str, str]] = set()
    missing = 0
    for archive in {each for tool in tools.values() for each in getattr(tool, "ARCHIVES", ())}:
        for name, theirs in archive.platforms.items():
            address, source = archive.on(name), archive.checksums.format(platform=theirs)
            assert address is not None
            try:
                found = official.published_sum(download.text_of(source), address.rpartition("/")[2])
            except download.NotThereError as error:
                progress.say(str(error))
                found = None
            else:
                if found is None:
                    progress.say(f"{source} has no SHA-256 of {address.rpartition('/')[2]}")
            if found is not None:
                rows.add((address, found, source))
            else:
                missing += 1
                rows.update([before[address]] if address in before else [])
    pins.write_text(official.written(rows), encoding="utf-8")
    progress.say(f"{len(rows)} checksums in {pins.name}, {missing} missing")
    return 1 if missing else 0
