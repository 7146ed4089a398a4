"""The command line of `adopt`.

    adopt ID…                                what runs already, as the part of a stack file that declares the same
    adopt ID… --stack S                      the same for the stack S, so that its next update changes nothing of it
    adopt ID… --stack S --write --out FILE   put it into Pulumi.S.yaml, and write FILE for `pulumi import --file`

An ID is the ARM id of an AKS cluster (with its GPU pools), a Batch account (with its pools) or pool, an Azure Machine Learning
workspace (with its clusters of machines), an online endpoint (with its deployments), or of an identity, storage account,
container registry or log workspace. A resource group is used as it is, and so is what these refer to and isn't named.

With --stack, the engine plans the stack with the new part and reads what of it is there; `overrides` set what no key says. Then
the adoption is tried on a copy of the stack's state, and what the next update would change is told. Nothing is written to Azure,
and nothing to the stack's state: `pulumi import --file FILE` does that.

Exit codes: 0 adopted, 1 problems (all at once, and nothing is written), 2 the command line is wrong.
"""

import argparse
from pathlib import Path

from azure_gpu_operations import stack_options
from azure_gpu_operations.command_line import day


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.set_defaults(run=_run)
    command.add_argument("ids", nargs="+", metavar="ID", help="ARM id of what runs already")
    command.add_argument("--stack", help="the stack that takes it over")
    stack_options.add_config_folder(command)
    command.add_argument(
        "--expires-after", type=day, metavar="DAY", help="the last day of what has GPUs, YYYY-MM-DD (default: in a week)"
    )
    command.add_argument("--write", action="store_true", help="put it into Pulumi.<stack>.yaml; needs --stack")
    command.add_argument("--out", type=Path, metavar="FILE", help="write what `pulumi import --file` takes; needs --stack")


def _run(options: argparse.Namespace) -> int:
    from azure_gpu_operations.adopting.adopter import run  # here, because every other command would wait for what it loads

    return run(options)
