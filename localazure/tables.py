"""Tables that lie beside modules: a row a line, its cells apart by tabs."""

from pathlib import Path


def rows(module: str, name: str, *, header: bool = False) -> list[list[str]]:
    """Those of the file `name` beside a module (its `__file__`), without its first line where that is a `header`."""
    lines = Path(module).with_name(name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines[1 if header else 0 :]]
