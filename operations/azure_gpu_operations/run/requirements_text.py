"""A requirements file that goes into an image alone: what it points to beside itself isn't there when pip reads it.

In: the file's text and whether the base image is the default one. Out: problems, before a build of minutes ends with them. Pure.
"""

import re

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations.run.context import BASE_IMAGE, BASE_IMAGE_WITH_GIT

WHERE = "--requirements"
_FOLDER = "put script and requirements into a folder with a Dockerfile, and name the folder"
_OTHER_FILE = re.compile(r"(?:-r|-c|--requirement|--constraint)[\s=]*(?!https?://)\S")
_LOCAL = re.compile(r"(?:(?:-e|--editable)[\s=]*)?(?:\.{0,2}/|\.{1,2}(?:\[|\s|$)|file:)|[\w.\[\],-]+\s*@\s*file:")
_GIT = re.compile(r"(?:^|\s)git\+|@\s*git\+")


def check(text: str, base: str) -> list[Problem]:
    """At most one problem: the first line that can't be installed."""
    for number, written in enumerate(text.splitlines(), start=1):
        line = re.sub(r"(^|\s)#.*", "", written).strip()
        where = f"line {number}"
        if _OTHER_FILE.match(line):
            message = f"{where} names another file, and this one alone goes into the image"
            return [Problem(WHERE, message, value=line, fix=f"write what that file says into this one, or {_FOLDER}")]
        if _LOCAL.match(line):
            message = f"{where} names files here, and this one alone goes into the image"
            return [Problem(WHERE, message, value=line, fix=_FOLDER)]
        if _GIT.search(line) and base == BASE_IMAGE:
            message = f"{where} is fetched by git, which the image {BASE_IMAGE} hasn't"
            fix = f"add --base {BASE_IMAGE_WITH_GIT}, which has git, or name an archive of that commit by https"
            # Not the line: an address may hold a password.
            return [Problem(WHERE, message, fix=fix)]
    return []
