"""`python -m localazure.kubernetes_plugin [engine address]`: the provider plugin `kubernetes`, started by Pulumi's engine.

In an environment that says that nothing runs it records what is declared, and asks no API server.
"""

import os
import sys

from localazure.kubernetes_plugin.engine_log import EngineLog
from localazure.kubernetes_plugin.recording import Recorder
from localazure.kubernetes_plugin.servicer import Provider
from localazure.nothing_runs import choice
from localazure.plugin.server import serve

if __name__ == "__main__":
    log = EngineLog(sys.argv[1] if len(sys.argv) > 1 else "")
    serve(sys.stdout, (Recorder if choice.told(os.environ) else Provider)(log=log))
