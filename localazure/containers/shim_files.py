"""The files of one run: a fresh copy of the image's, its Python, an empty home that is also the container's `/tmp`, and volumes.

A mount is a link in the container's tree to the volume's folder: there is no mount namespace. What the image has at that path is
hidden, as it is under a mount.
"""

# ruff: noqa: PTH100, PTH103, PTH108, PTH110, PTH112, PTH114, PTH120, S606, PTH211 - pathlib would cost every container its memory

import os

from localazure.containers import shim_python

_TMP = "/tmp"  # noqa: S108 - the path as images know it
_SCRIPT = 'rm -rf root home "$2" && cp -Rp "$1" root && mkdir -m 700 home'


def fresh(image_root, image_python="", pip=None):
    """Whether the container's files lie in `root`, `home` and `python` of the working folder, as the image has them."""
    pid = os.fork()
    if pid == 0:
        os.execve("/bin/sh", ["/bin/sh", "-c", _SCRIPT, "sh", image_root, shim_python.FOLDER], {"PATH": "/usr/bin:/bin"})
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
        return False
    try:
        if image_python:
            shim_python.make(os.path.abspath(shim_python.FOLDER), image_python, pip)
    except OSError:  # the image's Python is no longer there
        return False
    return True


def mount(mounts):
    """Links each volume into `root`. Returns why one can't be, or ""."""
    root, home = os.path.realpath("root"), os.path.realpath("home")
    taken = os.path.lexists("root/tmp") or any(path == _TMP for path, _ in mounts)
    for path, folder in [*([] if taken else [(_TMP, home)]), *mounts]:
        target = root + path
        above = os.path.dirname(target)
        if not _inside(root, above) and not _inside(home, above):
            return f"{path} points outside the image"
        if not os.path.exists(folder):
            return f"the volume at {path} isn't there"
        try:
            os.makedirs(above, exist_ok=True)
            if os.path.isdir(target) and not os.path.islink(target):
                import shutil  # here, because few images have something where a volume is mounted

                shutil.rmtree(target)
            elif os.path.lexists(target):
                os.unlink(target)
            os.symlink(folder, target)
        except OSError as error:
            return f"{path}: {error.strerror}"
    return ""


def _inside(root, path):
    real = os.path.realpath(path)
    return real == root or real.startswith(root + os.sep)
