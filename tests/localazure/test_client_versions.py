"""The api-versions that the pinned clients send, read out of the clients themselves: each is served for its type.

A client's module that builds a request holds the request's path and version side by side. What a client of another version sends
shows here when its pin is renewed.
"""

import functools
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from azure_gpu_operations.shell import cli
from localazure import shapes, wiring
from tests.support import azure_ai_ml

pytestmark = pytest.mark.slow  # installs two clients where they aren't there yet

COMMAND = re.compile(r'\["mgmt-plane", "([^"]+)", "([^"]+)"')  # in `_aaz_info` of a command
REQUEST = re.compile(r"\ndef build_")  # begins a function that builds one request
VERSION = re.compile(r'"api-version", "([\w-]+)"|"api_version", "([\w-]+)"')
TEMPLATE = re.compile(r'_url = (?:kwargs\.pop\(\s*"template_url",\s*)?\(?\s*((?:"[^"]*"\s*)+)')

Sent = Iterator[tuple[str, str]]  # type in lower case, and version


@functools.cache
def served() -> dict[str, frozenset[str]]:
    kinds = wiring.without_backends()
    return {kind.arm_type.lower(): shapes.api_versions(kind.azure_type) | kind.extra_api_versions for kind in kinds}


def type_of(path: str) -> str:
    """The ARM type of the last resource that a path names; "" of a path without a provider."""
    namespace, *rest = path.rpartition("/providers/")[2].split("/")
    return "/".join([namespace, *rest[::2]]).lower() if "/providers/" in path else ""


def of_commands(folder: Path) -> Sent:
    """Of the commands of `az` that are generated from descriptions."""
    for file in folder.rglob("aaz/latest/**/*.py"):
        for path, version in COMMAND.findall(file.read_text(encoding="utf-8")):
            yield type_of(path), version.lower()


def of_packages(folder: Path) -> Sent:
    """Of packages that are generated from descriptions, in their blocking form."""
    for file in folder.rglob("*operations*/**/*.py"):
        if "aio" in file.parts:
            continue
        for chunk in REQUEST.split(file.read_text(encoding="utf-8"))[1:]:
            version, url = VERSION.search(chunk), TEMPLATE.search(chunk)
            if version and url:
                yield type_of("".join(re.findall(r'"([^"]*)"', url[1]))), (version[1] or version[2]).lower()


def site_packages(python: str) -> Path:
    (found,) = Path(python).parents[1].glob("lib/python3*/site-packages")
    return found


def azure_cli() -> Path:
    folder = cli.folder_of_az(dict(os.environ), print)
    assert folder is not None, "az is installed where it isn't there"
    return site_packages(str(folder / "python"))


def test_the_commands_of_az_send_versions_that_are_served() -> None:
    expect(of_commands(azure_cli() / "azure" / "cli" / "command_modules"), {"microsoft.network/networksecuritygroups"})


def test_the_packages_of_az_send_versions_that_are_served() -> None:
    expect(of_packages(azure_cli() / "azure" / "mgmt"), {"microsoft.batch/batchaccounts", "microsoft.storage/storageaccounts"})


def test_the_management_packages_send_versions_that_are_served() -> None:
    expect(of_packages(site_packages(sys.executable) / "azure" / "mgmt"), {"microsoft.containerservice/managedclusters"})


def test_azure_ai_ml_sends_versions_that_are_served() -> None:
    packages = site_packages(azure_ai_ml.python()) / "azure" / "ai" / "ml" / "_restclient"
    expect(of_packages(packages), {"microsoft.machinelearningservices/workspaces/onlineendpoints"})


def expect(sent: Sent, among: set[str]) -> None:
    """`among`: types that the client is known to ask for, so that a form that can't be read any more shows."""
    found = {(type_name, version) for type_name, version in sent if type_name in served()}
    assert among <= {type_name for type_name, _ in found}
    assert sorted((one, version) for one, version in found if version not in served()[one]) == []
