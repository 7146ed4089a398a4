"""Container groups in files that people have, as configuration of a stack: `python -m operations import FILE`."""
