"""`preflight` as its command line has it."""

import argparse

from azure_gpu_operations.preflight import command


def main(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command.register(parser.add_subparsers())
    options = parser.parse_args(["preflight", *arguments])
    return options.run(options)
