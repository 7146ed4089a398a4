"""Connects commands to the embedded Azure of a checkout, for a stack deployed by `make up`.

Sets the connection's variables in this process and its children, uses the stack's copy as its file, and prints one line on
standard error. Does nothing if PULUMI_BACKEND_URL or --config-folder is set, or if `.local` has no such stack.
"""

import argparse
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from azure_gpu.shared.installation import CHECKOUT

STATE = ".local"  # where `make up` keeps it
FILE = "env"
BACKEND = "PULUMI_BACKEND_URL"


def use(options: argparse.Namespace) -> None:
    """For commands that name a stack by --stack."""
    stack, folder = getattr(options, "stack", None), getattr(options, "config_folder", None)
    if not stack or folder is not None or CHECKOUT is None or not hasattr(options, "config_folder"):
        return
    found = variables(CHECKOUT / STATE, stack, os.environ)
    if found is None:
        return
    os.environ.update(found)
    options.config_folder = CHECKOUT / STATE
    print(f"stack {stack}: using the embedded Azure ({STATE}/{FILE}); set {BACKEND} to use another backend", file=sys.stderr)


def variables(state: Path, stack: str, environment: Mapping[str, str]) -> dict[str, str] | None:
    """What a command needs for a stack of the state folder; None where it isn't meant, or isn't there."""
    file = state / FILE
    if environment.get(BACKEND) or not (state / f"Pulumi.{stack}.yaml").is_file() or not file.is_file():
        return None
    return exported(file, environment)


def exported(file: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of a state folder's file, on top of this environment's PATH."""
    found: dict[str, str] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        for word in shlex.split(line)[1:]:  # behind `export`
            name, _, value = word.partition("=")
            found[name] = value.replace("$PATH", environment.get("PATH", os.defpath))
    return found
