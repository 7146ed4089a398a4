"""`python -m operations upload`: upload what parts of a stack take from its storage.

    upload model runs/saved_model --name digits --version 2 --stack S            a SavedModel, for registration in its workspace
    upload package ./driver --application GPUDriver --version 411.82 --stack S   an application package, for nodes of its pools

`upload model --help` and `upload package --help` have the options. Both sign in as the stack does, without account keys, and need
the role Storage Blob Data Contributor: `access --grant` gives it.

Exit codes: 0 uploaded, or already there; 1 something failed; 2 wrong command line.
"""

import argparse

from azure_gpu_operations.batch import command as package
from azure_gpu_operations.machine_learning import upload_command as model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="what", required=True, metavar="model | package")
    for name, module, line in (
        ("model", model, "upload a SavedModel, and print the lines for the stack file or write them"),
        ("package", package, "zip, upload and activate an application package"),
    ):
        kind = kinds.add_parser(name, help=line, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        module.add_arguments(kind)
