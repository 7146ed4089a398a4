"""The smallest program of a group: worker 0 hears from each of the others at its address in TF_CONFIG, and they hear from it.

Run by tests on the nodes of a service, so that it stands alone. Worker 0 prints what it has heard and ends with $CODE; another
one prints that it was heard, and waits for its node to end it where $WAIT is set. With $LOST it ends at once instead, and
worker 0 waits for it.
"""

import json
import os
import socket
import sys
import time

SECONDS = 60.0


def main() -> int:
    config = json.loads(os.environ["TF_CONFIG"])
    workers, index = config["cluster"]["worker"], config["task"]["index"]
    mine = {"index": index, "gpus": os.environ.get("CUDA_VISIBLE_DEVICES"), "arguments": sys.argv[1:]}
    if index == 0:
        heard = meet(workers[0], len(workers) - 1)
        # pyrefly: ignore[no-matching-overload]
        print(json.dumps([mine, *sorted(heard, key=lambda one: one["index"])]), flush=True)
        return int(os.environ.get("CODE", "0"))
    if os.environ.get("LOST"):
        sys.exit(f"worker {index} is lost")
    with reached(workers[0]) as server:
        server.sendall(json.dumps(mine).encode() + b"\n")
        print("heard:", server.makefile().readline().strip(), flush=True)
    if os.environ.get("WAIT"):
        time.sleep(SECONDS)
    return 0


def meet(address: str, count: int) -> list[dict[str, object]]:
    """Listens at its own address alone, which has to be one of its machine."""
    host, _, port = address.rpartition(":")
    with socket.create_server((host, int(port))) as listening:
        listening.settimeout(SECONDS)
        others = [listening.accept()[0] for _ in range(count)]
        heard = [json.loads(one.makefile().readline()) for one in others]
        for one in others:
            one.sendall(f"all {count + 1} are there\n".encode())
        for one in others:  # worker 0 ends the task: what the others say about this has to be printed before
            one.shutdown(socket.SHUT_WR)
            one.recv(1)
            one.close()
    return heard


def reached(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    end = time.monotonic() + SECONDS
    while True:
        try:
            return socket.create_connection((host, int(port)), timeout=SECONDS)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
