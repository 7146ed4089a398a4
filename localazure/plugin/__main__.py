"""`python -m localazure.plugin [engine address]`: the provider plugin `azure-native`, started by Pulumi's engine."""

import sys

from localazure.plugin.server import serve

if __name__ == "__main__":
    serve(sys.stdout)
