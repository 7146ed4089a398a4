"""The command that `mpirun` runs in place of SSH: it runs a command on another node, through that node's own process.

Run as `python -I -S launch.py HOSTS ADDRESS COMMAND…`. HOSTS is a file: the folder of each node by its address. Standard input,
output and error are handed on; the exit code is the command's, and 255 where the node can't be reached, as SSH has it.
"""

# ruff: noqa: PTH123 - as the node's process itself, one of these takes little memory

import json
import os
import socket
import sys

UNREACHABLE = 255


def main(hosts, address, words):
    with open(hosts, encoding="utf-8") as file:
        nodes = json.load(file)
    node = nodes.get(address)
    if node is None:
        sys.stderr.write(f"{address}: no node of this task has this address\n")
        return UNREACHABLE
    request = {"command": " ".join(words), "env": {**node["env"]}}
    asking = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.chdir(node["folder"])  # a socket's path has about a hundred characters
        asking.connect("launch.sock")
        socket.send_fds(asking, [json.dumps(request).encode()], [0, 1, 2])
        answer = asking.recv(32)
    except OSError as error:
        sys.stderr.write(f"{address}: {error.strerror}\n")
        return UNREACHABLE
    return int(answer) if answer else UNREACHABLE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
