"""`python -m operations upload`: upload what parts of a stack take from its storage.

    upload model runs/saved_model --name digits --version 2 --stack S            a SavedModel, for registration in its workspace

`upload model --help` has the options. It signs in as the stack does, without account keys, and needs the role Storage Blob Data
Contributor: `access --grant` gives it.

Exit codes: 0 uploaded, or already there; 1 something failed; 2 wrong command line.
"""

import argparse

from azure_gpu_operations.machine_learning import upload_command as model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="what", required=True, metavar="model")
    line = "upload a SavedModel, and print the lines for the stack file or write them"
    kind = kinds.add_parser("model", help=line, description=model.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    model.add_arguments(kind)
