"""Where in git the sources of this installation are: the registry builds workloads from there where a stack file sets no
`image_source`.

In: the checkout, or what pip has recorded of the package. Out: `https://….git#<commit>`; "" where nobody else could fetch it. Of
a checkout it is the last commit that changed the workloads, so that other commits change nothing that is declared; `origin` has
to have it, and the workloads have to be as it has them. A package names the commit that it was installed from in direct_url.json
(Python Packaging User Guide, specification "Recording the Direct URL Origin of installed distributions"). Whether the repository
is public isn't known: where it isn't, the registry's build fails and says so.
"""

import json
import re
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import pulumi

from azure_gpu.shared.installation import CHECKOUT, WORKLOADS

_DISTRIBUTION = "azure-gpu"
_RECORD = "direct_url.json"
_GIT_SECONDS = 10
# Without anything before the host: what stands there may be a token, and would be in the state.
_HTTPS = re.compile(r"https://[^\s@#?]+")
# The two addresses of one repository of GitHub (docs.github.com, "About remote repositories").
_SSH = re.compile(r"(?:ssh://)?git@github\.com[:/]([^\s:#?]+)")


class OwnSource(NamedTuple):
    """The address that was taken for `image_source`, and what uses it."""

    address: str
    workloads: tuple[str, ...]


def find() -> str:
    """Of this installation."""
    if CHECKOUT is not None:
        return of_checkout(CHECKOUT, WORKLOADS)
    try:
        return of_package(metadata.distribution(_DISTRIBUTION).read_text(_RECORD) or "")
    except metadata.PackageNotFoundError:
        return ""


def nowhere() -> str:
    """For whoever reads a stack file without an installation behind it."""
    return ""


def announce(source: OwnSource | None) -> None:
    """One line in a preview that names the address."""
    if source is not None and pulumi.runtime.is_dry_run():
        pulumi.log.info(f"image_source isn't set: {', '.join(source.workloads)} is built from {source.address}")


def of_checkout(checkout: Path, workloads: Path) -> str:
    """ "" where there is no git, the workloads have changes that aren't committed, or `origin` hasn't their last commit."""
    address = public(_git(checkout, "remote", "get-url", "origin"))
    commit = _git(checkout, "log", "-1", "--format=%H", "--", str(workloads))
    if not address or not commit or _git(checkout, "status", "--porcelain", "--", str(workloads)) != "":
        return ""
    on_origin = _git(checkout, "branch", "--remotes", "--contains", commit, "--list", "origin/*")
    return f"{address}#{commit}" if on_origin else ""


def of_package(record: str) -> str:
    """`record`: the content of the package's direct_url.json; "" where it has none, as one from an index."""
    try:
        told: Mapping[str, Any] = json.loads(record)
        address, commit = public(str(told["url"])), str(told["vcs_info"]["commit_id"])
    except (ValueError, KeyError, TypeError):
        return ""
    return f"{address}#{commit}" if address else ""


def public(address: str | None) -> str:
    """An address of git as somebody without a key fetches from it; "" where there is none."""
    if address is None:
        return ""
    if found := _SSH.fullmatch(address):
        address = f"https://github.com/{found[1]}"
    if not _HTTPS.fullmatch(address):
        return ""
    return f"{address.rstrip('/').removesuffix('.git')}.git"


def _git(checkout: Path, *words: str) -> str | None:
    """What git says; None where it refuses, or isn't there."""
    try:
        done = subprocess.run(
            ["git", "-C", str(checkout), *words], capture_output=True, text=True, check=False, timeout=_GIT_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
