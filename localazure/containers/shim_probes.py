"""Liveness and readiness probes of a container: a command, or an HTTP request to a port of this machine.

Each try is a separate process, so that the shim never waits for one. In: a probe of `spec.json` with its timings in seconds.
Out: what a try found, one message at a time. A try succeeds with exit code 0, or with an answer of 200 to 399, as in Kubernetes,
whose probes the service's are said to behave like.
"""

# ruff: noqa: SIM105 - contextlib would cost every container with a probe its memory

import os
import signal
import time

from localazure.containers import shim_processes as processes

_OUTPUT_BYTES = 1024  # of a failed try, in the event's message


class Probe:
    """One probe over one run of the container."""

    def __init__(self, spec, environment, folder):
        self.failures = 0  # tries in a row
        self._spec = spec
        self._environment = environment
        self._folder = folder
        self._due = time.monotonic() + spec["initial_delay_seconds"]
        self._pid = 0
        self._began = 0.0
        self._reader = -1

    def seconds_left(self):
        """Until `step` has something to do; a try that ends wakes the shim by itself."""
        until = self._began + self._spec["timeout_seconds"] if self._pid else self._due
        return max(0.0, until - time.monotonic())

    def step(self):
        """Begins a try that is due, or ends one. Returns why it failed, "" where it succeeded, None where none has ended."""
        if not self._pid:
            if time.monotonic() >= self._due:
                self._begin()
            return None
        ended, status = os.waitpid(self._pid, os.WNOHANG)
        late = not ended and time.monotonic() - self._began > self._spec["timeout_seconds"]
        if not ended and not late:
            return None
        output = self._output()
        self.end()
        if late:
            return self._failed(f"command timed out after {self._spec['timeout_seconds']:g} s")
        code = processes.exit_code(status)
        if code == 0:
            self.failures = 0
            return ""
        return self._failed(output or f"exit code {code}")

    def end(self):
        """Ends a try that is under way."""
        if not self._pid:
            return
        processes.signal_group(self._pid, signal.SIGKILL)
        try:
            os.waitpid(self._pid, 0)
        except ChildProcessError:
            pass  # `step` has collected it
        os.close(self._reader)
        self._pid = 0
        self._due = max(self._began + self._spec["period_seconds"], time.monotonic())

    def _failed(self, why):
        self.failures += 1
        return why

    def _begin(self):
        self._reader, writer = os.pipe()
        self._began = time.monotonic()
        self._pid = os.fork()
        if self._pid == 0:
            processes.begin(writer)
            if self._spec["argv"]:
                processes.become(self._spec["argv"], self._environment, self._folder)
            os._exit(_ask(self._spec["http"], self._spec["timeout_seconds"]))
        os.close(writer)
        os.set_blocking(self._reader, False)

    def _output(self):
        try:
            return os.read(self._reader, _OUTPUT_BYTES).decode("utf-8", errors="replace").strip()
        except BlockingIOError:
            return ""


def _ask(http, seconds):
    """In the child: one request. The exit code is the result, and what it prints the reason."""
    import http.client as client  # here, because few containers have such a probe
    import ssl

    address = f"{http['scheme']}://127.0.0.1:{http['port']}{http['path']}"
    try:
        if http["scheme"] == "https":
            trust = ssl._create_unverified_context()  # noqa: S323 - the service doesn't check certificates of containers either
            connection = client.HTTPSConnection("127.0.0.1", http["port"], timeout=seconds, context=trust)
        else:
            connection = client.HTTPConnection("127.0.0.1", http["port"], timeout=seconds)
        connection.request("GET", http["path"], headers=http["headers"])
        status = connection.getresponse().status
    except (OSError, ValueError, client.HTTPException) as error:  # ValueError: a path or a header that HTTP can't carry
        os.write(1, f'Get "{address}": {error}'.encode("utf-8", errors="replace"))
        return 1
    if 200 <= status < 400:
        return 0
    os.write(1, f"HTTP probe failed with statuscode: {status}".encode())
    return 1
