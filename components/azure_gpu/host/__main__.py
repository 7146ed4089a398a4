"""The provider; with `--schema`, it prints the package schema of the components as they are now."""

import sys

if __name__ == "__main__":
    if sys.argv[1:] == ["--schema"]:
        from azure_gpu.host.schema import text

        print(text(), end="")
    else:
        from azure_gpu.host.provider import main

        main()
