"""What `kubectl attach` and `kubectl run -i` see of a container: what it prints from now on, until it ends.

Run as `python -I -S attach_entry.py FOLDER` beside the container. Standard input isn't handed on: containers have none here.
"""

# ruff: noqa: PTH118, PTH110, PTH123 - a process for each client takes little

import json
import os
import sys
import time

_POLL_SECONDS = 0.05
_STAMP = 28  # of a line's time with the space behind it; see localazure/containers/shim_log.py


def command(folder):
    """How this file is run, in the form that node-streams reads."""
    argv = [sys.executable, "-I", "-S", os.path.realpath(__file__), str(folder)]
    return {"argv": argv, "env": ["PATH=" + os.defpath, "LANG=C.UTF-8"], "dir": str(folder)}


def main(folder):
    log = os.path.join(folder, "log")
    with open(log, "rb") as file:
        file.seek(0, os.SEEK_END)
        while True:
            over = _ended(folder)
            for line in file:
                os.write(1, line[_STAMP:] if line[4:5] == b"-" and line[_STAMP - 2 : _STAMP - 1] == b"Z" else line)
            if over:
                return 0
            time.sleep(_POLL_SECONDS)


def _ended(folder):
    if not os.path.exists(folder):
        return True
    for name in ("state.json", "run.json"):
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                state = json.load(file)
        except (FileNotFoundError, ValueError):
            continue
        if state.get("ended") or state.get("terminated"):
            return True
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
