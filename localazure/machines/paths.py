"""Maps absolute paths of a virtual machine, which is a folder of this machine without its own file system.

In a text such as a script, paths below a few top folders, and those that cloud-init has written, are replaced by paths in the
folder. A program that makes up such a path by itself means this machine's.
"""

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path

from localazure.containers import volumes

LED = ("/data", "/home", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var")  # noqa: S108 - paths as machines know them
_ABSOLUTE = re.compile(r"(?<![\w./-])/[\w.-]+(?:/[\w.-]+)*")
_OWN = "\0own"  # the folder's own path isn't one of the machine's


def led(text: str, root: Path, written: Iterable[str] = ()) -> str:
    """`written`: files outside of these folders that cloud-init has made."""
    own = text.replace(str(root), _OWN)
    paths = {path: Path(f"{_OWN}{path}") for path in (*LED, *written)}
    return volumes.led(own, paths).replace(_OWN, str(root))


def in_image(line: str, root: Path, workdir: str) -> str:
    """A shell's line with the paths led into an image's folder that the image has, or that lie in its working folder.

    In the middle of a line a container's command isn't led: only words that are paths are.
    """

    def found(path: re.Match[str]) -> str:
        own = workdir != "/" and (path[0] == workdir or path[0].startswith(f"{workdir}/"))
        return f"{root}{path[0]}" if own or (root / path[0].lstrip("/")).exists() else path[0]

    return _ABSOLUTE.sub(found, line)


def inside(path: str, root: Path) -> Path:
    """Where an absolute path of the machine lies, `..` ending at its root; one that is led already stays."""
    if path == str(root) or path.startswith(f"{root}/"):
        path = path[len(str(root)) :] or "/"
    return root / posixpath.normpath(f"/{path}").lstrip("/")
