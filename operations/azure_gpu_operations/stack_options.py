"""The options `--stack NAME` and `--config-folder DIR`, and the stack and configuration file that they mean."""

import argparse
from pathlib import Path
from typing import Any

from azure_gpu.shared.installation import CHECKOUT
from azure_gpu_operations import local_connection
from azure_gpu_operations.project import project
from azure_gpu_operations.stack import Stack

_OF_MAKE_UP = f"; for a stack that `make up` has brought up {local_connection.STATE}, with the connection that is there"
WHERE = f"where Pulumi.<stack>.yaml lies (default: the project's own folder{_OF_MAKE_UP if CHECKOUT else ''})"


def add_stack(parser: Any, text: str = "the stack's name", *, required: bool = True) -> None:
    parser.add_argument("--stack", required=required, help=text)
    add_config_folder(parser)


def add_config_folder(parser: Any) -> None:
    parser.add_argument("--config-folder", type=Path, help=WHERE)


def file_of(options: argparse.Namespace, name: str = "") -> Path:
    """The configuration file of the stack `name`, else of the stack of the options."""
    folder: Path = options.config_folder or project().files
    return folder.resolve() / f"Pulumi.{name or options.stack}.yaml"


def stack_of(options: argparse.Namespace, name: str = "") -> Stack:
    """The stack `name`, else the one that the options name."""
    program, file = project().program, file_of(options, name)
    return Stack(program, name or options.stack, file if file.parent != program else None)
