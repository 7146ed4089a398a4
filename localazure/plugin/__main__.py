"""`python -m localazure.plugin [engine address]`: the provider plugin `azure-native`, started by Pulumi's engine."""

import sys

from localazure.plugin.server import serve
from localazure.plugin.servicer import Provider

if __name__ == "__main__":
    serve(sys.stdout, Provider())
