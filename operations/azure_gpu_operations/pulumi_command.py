"""Runs a command of `pulumi` for a stack whose file may be in a folder without Pulumi.yaml.

    pulumi config set --secret --path 'jobs.train.secret_environment.TOKEN' --stack dev
    pulumi stack output --stack dev

The arguments after `pulumi` are passed on. It runs in the project's folder, with the stack's file if the command reads one;
`config` creates the stack first. This is how to set secrets in a folder with only stack files.
"""

import argparse

from azure_gpu_operations import local_connection, stack_options
from azure_gpu_operations.project import project
from azure_gpu_operations.stack import run_engine

READ_A_FILE = ("config", "preview", "up", "refresh", "destroy", "import")  # and take --config-file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND", help="such as: config set KEY --stack dev")


def run(options: argparse.Namespace) -> int:
    of_stack = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    of_stack.add_argument("--stack", "-s")
    stack_options.add_config_folder(of_stack)
    named, words = of_stack.parse_known_args(options.words)
    if named.stack:
        local_connection.use(named)
        stack = stack_options.stack_of(named)
        if words[:1] == ["config"] and not stack.exists():
            stack.create()
        words += ["--stack", stack.name]
        if words[0] in READ_A_FILE and stack.config_file is not None:
            words += ["--config-file", str(stack.config_file)]
    run_engine(project().program, *words, stack_file=stack_options.file_of(named) if named.stack else None)
    return 0
