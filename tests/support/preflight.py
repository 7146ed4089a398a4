"""`preflight` as its command line has it."""

import argparse

from azure_gpu_operations.preflight import command


def main(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    options = parser.parse_args(arguments)
    return options.run(options)
