"""Determines the default of `image_source`: the git address of this installation, from which the registry builds workloads.

The result is `https://….git#<commit>`; "" where it isn't available remotely. For a checkout, the commit is the last one that
changed the workloads, so that other commits don't change what is declared; it must be on `origin`, and the workloads must have no
other changes. For a package, it is the commit that it was installed from, in direct_url.json (Python Packaging User Guide,
specification "Recording the Direct URL Origin of installed distributions"). Whether the repository is public isn't known: if it
isn't, the registry's build fails with a message.
"""

import json
import re
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import pulumi

from azure_gpu.formats import git
from azure_gpu.shared.installation import CHECKOUT, WORKLOADS

_DISTRIBUTION = "azure-gpu"
_RECORD = "direct_url.json"
_GIT_SECONDS = 10
# Without user info before the host, which may be a token and would be in the state.
_HTTPS = re.compile(r"https://[^\s@#?]+")
# The SSH address of a repository on GitHub, which has an HTTPS one too (docs.github.com, "About remote repositories").
_SSH = re.compile(r"(?:ssh://)?git@github\.com[:/]([^\s:#?]+)")


class OwnSource(NamedTuple):
    """The address used for `image_source`, and the workloads built from it."""

    address: str
    workloads: tuple[str, ...]


def find() -> str:
    """Returns the address of this installation."""
    if CHECKOUT is not None:
        return of_checkout(CHECKOUT, WORKLOADS)
    try:
        return of_package(metadata.distribution(_DISTRIBUTION).read_text(_RECORD) or "")
    except metadata.PackageNotFoundError:
        return ""


def no_source() -> str:
    """For reading a stack file without the default of `image_source`."""
    return ""


def announce(source: OwnSource | None) -> None:
    """Logs the address in a preview."""
    if source is not None and pulumi.runtime.is_dry_run():
        pulumi.log.info(f"image_source isn't set: {', '.join(source.workloads)} is built from {source.address}")


def of_checkout(checkout: Path, workloads: Path) -> str:
    """Returns the address of a checkout; "" without git, with uncommitted changes of the workloads, or where `origin` doesn't
    have their last commit."""
    address = public(_git(checkout, "remote", "get-url", "origin"))
    commit = _git(checkout, "log", "-1", "--format=%H", "--", str(workloads))
    if not address or not commit or _git(checkout, "status", "--porcelain", "--", str(workloads)) != "":
        return ""
    on_origin = _git(checkout, "branch", "--remotes", "--contains", commit, "--list", "origin/*")
    return f"{address}#{commit}" if on_origin else ""


def of_package(record: str) -> str:
    """Returns the address of a package. `record`: its direct_url.json; "" where it has none, such as from an index."""
    try:
        recorded: Mapping[str, Any] = json.loads(record)
        address, commit = public(str(recorded["url"])), str(recorded["vcs_info"]["commit_id"])
    except (ValueError, KeyError, TypeError):
        return ""
    return f"{address}#{commit}" if address else ""


def public(address: str | None) -> str:
    """Converts a git address to the HTTPS one for access without a key; "" where there is none."""
    if address is None:
        return ""
    if found := _SSH.fullmatch(address):
        address = f"https://github.com/{found[1]}"
    if not _HTTPS.fullmatch(address):
        return ""
    return f"{address.rstrip('/').removesuffix('.git')}.git"


def _git(checkout: Path, *words: str) -> str | None:
    """Returns the output of git; None where it fails or isn't installed."""
    try:
        done = subprocess.run(
            ["git", "-C", str(checkout), *words],
            env=git.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=_GIT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
