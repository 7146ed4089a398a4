"""The Python of one container: a virtual environment of its own over the image's, which all containers of an image share.

What `pip install` brings in the container lies in it, and goes with the run. The image's packages are seen through it, and its
programs start with the container's Python. pip never changes the image's, which it takes for packages outside of its environment.
"""

# ruff: noqa: PTH101, PTH103, PTH118, PTH123, PTH208, PTH211 - pathlib would cost every container its memory

import os

FOLDER = "python"  # in the container's folder
_PATHS = "image.pth"
# A shell that starts the interpreter, for which these lines are a text: a path may be too long for the first line of a script.
_HEAD = """#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''
"""
_IN_A_SHELL = b"'''exec' "


def make(folder, image, pip):
    """Makes it in `folder`, which doesn't exist yet, over the environment `image`. `pip`: pip's settings, such as an index."""
    programs = os.path.join(folder, "bin")
    os.makedirs(programs)
    for name in os.listdir(os.path.join(image, "lib")):
        packages = os.path.join(folder, "lib", name, "site-packages")
        os.makedirs(packages)
        below = os.path.join(image, "lib", name, "site-packages")
        _write(os.path.join(packages, _PATHS), f"import site; site.addsitedir({below!r})\n")
    with open(os.path.join(image, "pyvenv.cfg"), encoding="utf-8") as file:
        _write(os.path.join(folder, "pyvenv.cfg"), file.read())
    if pip:
        _write(os.path.join(folder, "pip.conf"), "[global]\n" + "".join(f"{name} = {value}\n" for name, value in pip.items()))
    for name in os.listdir(os.path.join(image, "bin")):
        source, target = os.path.join(image, "bin", name), os.path.join(programs, name)
        if name.startswith("python"):
            os.symlink(source, target)
        else:
            _copy_script(source, target, image, os.path.join(programs, "python"))


def _copy_script(source, target, image, python):
    """A script that the image's Python runs, for the container's. Anything else is found where the image has it."""
    interpreter = os.path.join(image, "bin", "python").encode()
    with open(source, "rb") as file:
        first = file.readline()
        second = file.readline()
        if first.startswith(b"#!" + interpreter):
            rest = second + file.read()
        elif first.startswith(b"#!/bin/sh") and second.startswith(_IN_A_SHELL) and interpreter in second:
            file.readline()
            rest = file.read()
        else:
            return
    with open(target, "wb") as file:
        file.write(_HEAD.format(python=python).encode() + rest)
    os.chmod(target, 0o700)


def _write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
