"""Runs a program beside a container, with its variables and working folder, and the terminal on standard input.

Run as `python -I -S exec_entry.py FOLDER PROGRAM`. The program is one word, without arguments, as the service takes it.
"""

# ruff: noqa: PTH118, PTH110, PTH123, S606 - a process of the container's own takes as little as its shim

import json
import os
import sys


def main(folder, program):
    os.login_tty(0)
    with open(os.path.join(folder, "spec.json"), encoding="utf-8") as file:
        spec = json.load(file)
    own = os.path.join(folder, "root") + program
    found = own if program.startswith("/") and os.path.exists(own) else program
    environment = {**spec["env"], "TERM": "xterm"}
    try:
        os.chdir(spec["workdir"])
        os.execvpe(found, [program], environment)
    except OSError as error:
        os.write(2, f'exec "{program}": {error.strerror}\r\n'.encode("utf-8", errors="replace"))
        return 126
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
