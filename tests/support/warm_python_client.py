# The client of warm_python_server.py, of which warm_python.py makes a script: hands over a command with its files, and signals.
# It loads next to nothing: it is started twice a run of the engine, and more often.
import _signal  # pyrefly: ignore[missing-import]
import _socket
import marshal
import os
import sys

KNOWN = ("localazure.plugin", "localazure.kubernetes_plugin", "operations", "pip")


def main(path, python, words):
    first = words[0] if words else ""
    known = words[1] in KNOWN or words[1].startswith("tests.") if first == "-m" and len(words) > 1 else first.endswith("-exec")
    if not known:
        os.execv(python, [python, *words])
    parent = os.getppid()
    server = _socket.socket(_socket.AF_UNIX)
    server.connect(path)
    command = marshal.dumps((words, os.getcwd(), dict(os.environ)))  # noqa: PTH109
    files = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
    server.sendmsg([len(command).to_bytes(8, "little")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
    server.sendall(command)
    for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
        _signal.signal(number, lambda number, _: server.send(bytes([number])))
    server.settimeout(0.5)
    while True:
        try:
            said = server.recv(4)
            break
        except TimeoutError:
            if os.getppid() != parent:  # nobody is left who waits for the command, which ends with this process
                os._exit(1)
    status = int.from_bytes(said, "little", signed=True) if len(said) == 4 else 1
    if status < 0:
        _signal.signal(-status, _signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)
