"""The command line of `import`.

    import FILE [--parameters FILE] [--parameter name=value]   a container-group file, or an ARM template, as stack configuration
    import FILE --subscription ID --resource-group NAME        a template whose expressions ask where it is deployed
    import FILE                                                Batch accounts and pools, AKS clusters and agent pools as ARM or
                                                               `az … show -o json` prints them
    import FILE|FOLDER                                         Azure ML's YAML: endpoints, deployments, computes, command jobs
    import FILE|FOLDER                                         the files of examples/documents, on Azure ML's retired clients
    import deployment.yaml [--for edges|clusters] [--name N]   Kubernetes Jobs and Deployments, and ConfigMaps of NVIDIA's device
                                                               plugin, as parts of a cluster; Jobs of an edge
    import FILE --stack S --write                              the same, put into Pulumi.<stack>.yaml
    import ID…                                                 the part of a stack file that declares existing resources of Azure
    import ID… --stack S --write --out FILE                    adopt them: add the part to Pulumi.S.yaml, and write FILE for
                                                               `pulumi import --file`; the next update leaves them unchanged

The kind of a file is read from `$schema`, `kind`, `type`, or its keys. Standard output is YAML for `config:` of a stack file. A
setting that the stack file doesn't have, a placeholder and a part that can't be read are comments with their lines; problems go
to standard error. Secrets are never copied: the commands that set them ask for their values.

An ID is the ARM id of an AKS cluster (with its GPU pools), a Batch account (with its pools) or pool, an Azure Machine Learning
workspace (with its compute clusters), an online endpoint (with its deployments), or of an identity, storage account, container
registry or log workspace. The resource group, and other resources that these refer to, become `existing`. With --stack, the
engine plans the stack with the new part and reads the existing resources; `overrides` hold settings without a key. Then the
adoption is tried on a copy of the stack's state, and the changes of the next update are listed. Nothing is written to Azure or to
the stack's state; `pulumi import --file FILE` writes the state.

Exit codes: 0 taken, 1 problems (all at once; what is refused is printed as comments, and no stack file is written), 2 the command
line is wrong.
"""

import argparse
from pathlib import Path

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations import stack_options
from azure_gpu_operations.command_line import day, refuse

_FOR_FILES = ("parameters", "parameter", "subscription", "resource_group", "name", "location", "as_of", "part", "json")
_FOR_IDS = ("expires_after", "out")


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.set_defaults(run=_run)
    command.add_argument(
        "sources",
        nargs="+",
        metavar="FILE|ID",
        help="YAML of `az container create --file` or `az container export`, an ARM template or what `az … show -o json` prints "
        "of Batch and AKS, YAML of Azure Machine Learning (endpoint, deployment, compute, command job), a Kubernetes manifest, "
        "or a folder of them; or ARM ids of existing resources",
    )
    command.add_argument("--parameters", metavar="FILE", help="the template's parameter file")
    command.add_argument(
        "--parameter",
        action="append",
        default=[],
        type=_pair,
        metavar="NAME=VALUE",
        help="one parameter of the template; secure ones need no value here",
    )
    command.add_argument(
        "--subscription", metavar="ID", help="the subscription that the template is deployed to, for its expressions"
    )
    command.add_argument("--resource-group", metavar="NAME", help="the resource group that it is deployed to, likewise")
    command.add_argument("--name", help="name of the entry in the stack file (default: the name in the file)")
    command.add_argument("--location", default="", help="the region, if the file has none (default: the stack's)")
    stack_options.add_stack(command, "the stack that it is for", required=False)
    command.add_argument("--as-of", type=day, help="the day to judge at, YYYY-MM-DD (default: the stack's, else today)")
    command.add_argument(
        "--for",
        dest="part",
        choices=("edges", "clusters"),
        help="what a Kubernetes manifest is for (default: clusters for services and for GPUs that are requested as resources, "
        "else edges)",
    )
    command.add_argument("--json", action="store_true", help="for programs")
    command.add_argument("--write", action="store_true", help="put it into Pulumi.<stack>.yaml; needs --stack")
    command.add_argument(
        "--expires-after", type=day, metavar="DAY", help="of ids: last day of those with GPUs, YYYY-MM-DD (default: in a week)"
    )
    command.add_argument("--out", type=Path, metavar="FILE", help="of ids: write the input of `pulumi import --file` too")


def _run(options: argparse.Namespace) -> int:
    are_ids = options.sources[0].lower().startswith("/subscriptions/")
    given = [name for name in (_FOR_FILES if are_ids else _FOR_IDS) if getattr(options, name)]
    if given:
        option = "for" if given[0] == "part" else given[0].replace("_", "-")
        return refuse(Problem(f"--{option}", f"only used with {'a file' if are_ids else 'ids of Azure'}", fix="remove it"))
    if are_ids:
        from azure_gpu_operations.adopting import adopter  # here, because every other command would wait for what it loads

        return adopter.run(options)
    if len(options.sources) > 1:
        fix = "import one file at a time, or a folder with all of them"
        return refuse(Problem("FILE", "more than one file is given", value=options.sources[1], fix=fix))
    from azure_gpu_operations.importing import importer

    options.file = options.sources[0]
    return importer.run(options)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError("write name=value")
    return name.strip(), value
