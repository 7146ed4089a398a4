"""The plugin's process: serves the provider on a loopback port, says which on its first line, and ends with its engine.

The engine starts the process, reads the port, and ends it by a signal. An engine that was killed can't: so the process
watches its parent.
"""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TextIO

import grpc
from pulumi.runtime.proto import provider_pb2_grpc

# More than an engine has operations under way, four for each core by default: where all wait for Azure, the engine's cancel has
# to be answered beside them. A thread is started when it is needed.
WORKERS = 1024
_MESSAGE_BYTES = 400 * 1024 * 1024  # the engine's own limit
_LOOK_S = 0.5  # between two looks at the parent
_GRACE_S = 5.0  # for requests under way to answer after a stop


def start(provider: Any) -> tuple[grpc.Server, int]:
    """A server that answers for `provider`, and its port on loopback."""
    limits = [("grpc.max_receive_message_length", _MESSAGE_BYTES), ("grpc.max_send_message_length", _MESSAGE_BYTES)]
    server = grpc.server(ThreadPoolExecutor(WORKERS, thread_name_prefix="provider"), options=limits)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(provider, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


def serve(output: TextIO, provider: Any) -> None:
    """Serves until the engine sends SIGTERM or SIGINT, or is gone."""
    parent = os.getppid()
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    server, port = start(provider)
    print(port, file=output, flush=True)
    while not stopped.wait(_LOOK_S):
        if os.getppid() != parent:
            # Nobody is left to answer to. What was accepted, the next run finds.
            os._exit(0)
    provider.abandon()
    server.stop(_GRACE_S).wait()
    # Not by way of the interpreter's end, which takes its time on a busy machine: the engine gives all providers together five
    # seconds to be told of its end and to end one after another, and reports those that it couldn't tell as ended prematurely.
    output.flush()
    os._exit(0)
