"""Starts the provider; with `--schema`, prints the current package schema of the components."""

import sys

if __name__ == "__main__":
    if sys.argv[1:] == ["--schema"]:
        from azure_gpu.host.schema import text

        print(text(), end="")
    else:
        from azure_gpu.host.provider import main

        main()
