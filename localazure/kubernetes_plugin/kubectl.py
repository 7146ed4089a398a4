"""`kubectl proxy` as the way to one API server: it reads the kubeconfig, signs in, and checks certificates, as for anybody.

It listens on a socket in a folder that only this user may enter. A shell waits for the end of this process, however it ends, then
ends kubectl and removes the folder: the pipe between the two closes.
"""

import re
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import urllib3
from urllib3.connection import HTTPConnection

from localazure.kubernetes_plugin.kubeconfig import Access, file_of

CONNECTIONS = 32  # as many as the plugin has workers
_AFTERWARDS = 'read -r _; kill "$1"; rm -rf "$2"'
_LOG = re.compile(r"[EIW]\d{4} ")  # how lines of its log begin
_SHOWN = 500  # of what it and programs that it runs say
# A token that the server refuses is made anew by the next request; a server that is too busy says when to come again.
_AGAIN = urllib3.Retry(
    total=2,
    connect=False,
    read=False,
    redirect=False,
    other=False,
    allowed_methods=None,
    status_forcelist=(401,),
    raise_on_status=False,
    retry_after_max=5,
)


class NoProxyError(Exception):
    """kubectl isn't there, or can't work with the kubeconfig."""


class Proxy(urllib3.HTTPConnectionPool):
    """A pool of connections to the server. NoProxyError."""

    def __init__(self, access: Access) -> None:
        super().__init__("localhost", maxsize=CONNECTIONS, retries=_AGAIN)
        self._folder = Path(tempfile.mkdtemp(prefix="kubectl-"))
        try:
            self._process = self._started(access)
        except BaseException:
            shutil.rmtree(self._folder)
            raise
        command = ["sh", "-c", _AFTERWARDS, "sh", str(self._process.pid), str(self._folder)]
        self._follower = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)

    def said(self) -> str:
        """What was written beside its log: by itself before it served, by login programs since."""
        lines = (self._folder / "said").read_text(encoding="utf-8", errors="replace").splitlines()
        return " ".join(line for line in lines if not _LOG.match(line))[-_SHOWN:]

    def _started(self, access: Access) -> "subprocess.Popen[str]":
        command = ["kubectl", "proxy", f"--unix-socket={self._folder / 'socket'}", "--append-server-path"]
        command += [f"--{key}={value}" for key, value in (("context", access.context), ("cluster", access.cluster)) if value]
        written = self._folder / "config"  # while it starts
        if access.kubeconfig:
            command.append(f"--kubeconfig={file_of(access.kubeconfig) or written}")
            written.touch(mode=0o600)
            written.write_text(access.kubeconfig, encoding="utf-8")
        try:
            with (self._folder / "said").open("w", encoding="utf-8") as said:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    text=True,
                    start_new_session=True,  # an interrupt at the terminal is the engine's
                )
        except FileNotFoundError:
            raise NoProxyError("kubectl isn't on PATH, by which this plugin reaches clusters") from None
        assert process.stdout is not None
        serves = process.stdout.readline()
        written.unlink(missing_ok=True)
        if not serves:
            process.wait()
            raise NoProxyError(f"kubectl: {self.said()}")
        return process

    def _new_conn(self) -> HTTPConnection:  # type: ignore[override]
        return _Connection(self._folder / "socket")


class _Connection(HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost")
        self._path = path

    def _new_conn(self) -> socket.socket:
        made = socket.socket(socket.AF_UNIX)
        made.connect(str(self._path))
        return made
