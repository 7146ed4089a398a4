"""`python -m localazure.kubernetes_plugin [engine address]`: the provider plugin `kubernetes`, started by Pulumi's engine."""

import sys

from localazure.kubernetes_plugin.engine_log import EngineLog
from localazure.kubernetes_plugin.servicer import Provider
from localazure.plugin.server import serve

if __name__ == "__main__":
    log = EngineLog(sys.argv[1] if len(sys.argv) > 1 else "")
    serve(sys.stdout, Provider(log=log))
