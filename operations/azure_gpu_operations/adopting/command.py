"""Writes existing Azure resources as parts of a stack file, and as input of `pulumi import`.

    adopt ID…                                print the part of a stack file that declares these resources
    adopt ID… --stack S                      the same for the stack S, so that its next update leaves them unchanged
    adopt ID… --stack S --write --out FILE   add it to Pulumi.S.yaml, and write FILE for `pulumi import --file`

An ID is the ARM id of an AKS cluster (with its GPU pools), a Batch account (with its pools) or pool, an Azure Machine Learning
workspace (with its compute clusters), an online endpoint (with its deployments), or of an identity, storage account, container
registry or log workspace. The resource group, and other resources that these refer to, become `existing`.

With --stack, the engine plans the stack with the new part and reads the existing resources; `overrides` hold settings without a
key. Then the adoption is tried on a copy of the stack's state, and the changes of the next update are listed. Nothing is written
to Azure or to the stack's state; `pulumi import --file FILE` writes the state.

Exit codes: 0 adopted, 1 problems (all are listed, nothing is written), 2 the command line is invalid.
"""

import argparse
from pathlib import Path

from azure_gpu_operations import stack_options
from azure_gpu_operations.command_line import day


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.set_defaults(run=_run)
    command.add_argument("ids", nargs="+", metavar="ID", help="ARM id of an existing resource")
    command.add_argument("--stack", help="the stack that adopts it")
    stack_options.add_config_folder(command)
    command.add_argument(
        "--expires-after", type=day, metavar="DAY", help="last day of the resources with GPUs, YYYY-MM-DD (default: in a week)"
    )
    command.add_argument("--write", action="store_true", help="add it to Pulumi.<stack>.yaml; requires --stack")
    command.add_argument("--out", type=Path, metavar="FILE", help="write the input of `pulumi import --file`; requires --stack")


def _run(options: argparse.Namespace) -> int:
    from azure_gpu_operations.adopting.adopter import run  # here, because every other command would wait for what it loads

    return run(options)
