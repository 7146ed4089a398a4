"""Regions and sizes that the catalog has never heard of, for every path that takes one: those of `calls/newer.yaml`."""

from pathlib import Path

import yaml

_ROWS = yaml.safe_load((Path(__file__).parents[1] / "operations" / "calls" / "newer.yaml").read_text(encoding="utf-8"))["rows"]
REGIONS, SIZES = ([word for line in row["newer"] for word in line] for row in [*_ROWS.values()][:2])
