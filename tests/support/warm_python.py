"""A Python for the engine's programs and plugins that starts them out of one process, which has everything loaded.

Most of what a run of the engine costs here is the start of four Pythons: the program, the provider, `operations`, and pip, which
the language host asks what is installed. A stack whose environment is `warmed` has them forked by `warm_python_server.py`. Tests
that end processes of the engine, or are about how they start, leave theirs as it is.
"""

import atexit
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.support.embedded import CHECKOUT, until

VARIABLE = "AZURE_GPU_WARM_PYTHON"
_SERVER = Path(__file__).with_name("warm_python_server.py")
_CLIENT = Path(__file__).with_name("warm_python_client.py")
_ROOMS = (CHECKOUT, CHECKOUT / "operations")


def python(interpreter: str = sys.executable) -> Path:
    """A program to call in place of this interpreter. What it doesn't know it leaves to that."""
    return _started(interpreter)


@cache  # by the interpreter, said or not: one that has everything loaded for each
def _started(interpreter: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    path = folder / "socket"
    rooms = _ROOMS if interpreter == sys.executable else ()
    server = subprocess.Popen([interpreter, "-I", _SERVER, path, *rooms], stdin=subprocess.PIPE, start_new_session=True)
    atexit.register(server.communicate)  # which closes its standard input: it ends, and so does what it has started
    until(lambda: path.exists() or server.poll() is not None, "the warm Python listens")
    assert path.exists(), "the warm Python has ended"
    client = folder / "python"
    client.write_text(f"#!{interpreter} -IS\n{_CLIENT.read_text()}\nmain({str(path)!r}, {interpreter!r}, sys.argv[1:])\n")
    client.chmod(0o755)
    return client


def warmed(environment: Mapping[str, str], interpreter: str = sys.executable) -> dict[str, str]:
    """A connection's environment, with what makes the engine call `python(interpreter)` for programs, `python()` for plugins."""
    return {**with_plugins(environment), "PULUMI_PYTHON_CMD": str(python(interpreter))}


def with_plugins(environment: Mapping[str, str]) -> dict[str, str]:
    """The same for plugins alone, which have to be installed."""
    for script in Path(environment["PULUMI_HOME"]).glob("plugins/resource-*/pulumi-resource-*"):
        text = script.read_text()
        if VARIABLE not in text:
            put = script.with_name(f".{script.name}.{os.getpid()}")
            put.write_text(text.replace(f" exec {shlex.quote(sys.executable)} ", f' exec "${{{VARIABLE}:-{sys.executable}}}" '))
            put.chmod(0o755)
            put.replace(script)
    return {**environment, VARIABLE: str(python())}
