"""Checks a requirements file for references that are missing in the image, before a build of minutes fails on them. Pure."""

import re

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations.run.context import BASE_IMAGE, BASE_IMAGE_WITH_GIT

WHERE = "--requirements"
_FOLDER = "move script and requirements to a folder with a Dockerfile, and name the folder"
_OTHER_FILE = re.compile(r"(?:-r|-c|--requirement|--constraint)[\s=]*(?!https?://)\S")
_LOCAL = re.compile(r"(?:(?:-e|--editable)[\s=]*)?(?:\.{0,2}/|\.{1,2}(?:\[|\s|$)|file:)|[\w.\[\],-]+\s*@\s*file:")
_GIT = re.compile(r"(?:^|\s)git\+|@\s*git\+")


def check(text: str, base: str) -> list[Problem]:
    """At most one problem: the first line that can't be installed."""
    for number, written in enumerate(text.splitlines(), start=1):
        line = re.sub(r"(^|\s)#.*", "", written).strip()
        where = f"line {number}"
        if _OTHER_FILE.match(line):
            message = f"{where} refers to another file, which isn't copied to the image"
            return [Problem(WHERE, message, value=line, fix=f"copy that file's content to this one, or {_FOLDER}")]
        if _LOCAL.match(line):
            message = f"{where} refers to local files, which aren't copied to the image"
            return [Problem(WHERE, message, value=line, fix=_FOLDER)]
        if _GIT.search(line) and base == BASE_IMAGE:
            message = f"{where} requires git, which the image {BASE_IMAGE} doesn't have"
            fix = f"add --base {BASE_IMAGE_WITH_GIT}, which has git, or use an https archive of that commit"
            # Not the line: an address may hold a password.
            return [Problem(WHERE, message, fix=fix)]
    return []
