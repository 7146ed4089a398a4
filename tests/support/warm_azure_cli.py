"""The Azure CLI as a process that has its modules loaded and forks for each command: a command costs a fourth of a start of `az`.

What a command has loaded beside them is loaded for the next one, which is often of the same service.

Run by the CLI's own Python. In: a line of JSON for each command on standard input, with its words, the folder that it runs in and
the files that take its output. Out: its exit code, a line for each. The command itself is `python -I -m azure.cli`, as in `az`.
"""

import json
import os
import runpy
import sys
from contextlib import suppress
from importlib import import_module

# What every command loads, and what the commands of the tests do.
_LOADED = (
    "azure.cli.core.aaz",
    "azure.cli.core._help",
    "azure.cli.core.auth.identity",
    "azure.cli.core.commands.arm",
    "azure.cli.core.commands.client_factory",
    "azure.cli.core.parser",
    "azure.cli.core.telemetry",
    "azure.cli.command_modules.resource.commands",
    "azure.cli.command_modules.resource.custom",
    "msal",
    "requests",
)


def main() -> None:
    for name in _LOADED:
        import_module(name)
    while line := sys.stdin.readline():
        asked = json.loads(line)
        known = set(sys.modules)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                _run(**asked)
            finally:
                os.write(writing, "\n".join(name for name in sys.modules if name not in known).encode())
            return
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as loaded:
            names = loaded.read().split()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        for name in names:
            if name.startswith("azure."):
                with suppress(ImportError):  # of what another name has brought
                    import_module(name)


def _run(words: list[str], folder: str, output: str, errors: str) -> None:
    """Becomes the command: what it prints goes to files, and nothing is there to be read. SystemExit ends the process."""
    os.chdir(folder)
    for name, number in ((os.devnull, 0), (output, 1), (errors, 2)):
        opened = os.open(name, os.O_RDWR if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 (it stays)
    sys.argv = ["az", *words]
    runpy.run_module("azure.cli", run_name="__main__")


if __name__ == "__main__":
    main()
