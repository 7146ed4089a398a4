"""Measures the memory of a container: that of its processes without files, shared memory counted once.

Read from `/proc`, so that nothing is limited where there is none.
"""

# ruff: noqa: PTH123 - pathlib would cost every container its memory

LOOK_SECONDS = 0.5
_KIB = 1024


def used_bytes(pid):
    """The memory of a process and of all that it started."""
    private, shared = 0, 0
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        try:
            mine, common = _of(one)
            waiting += _children(one)
        except OSError:
            continue  # it has ended
        private += mine
        shared = max(shared, common)
    return private + shared


def _of(pid):
    found = {"RssAnon": 0, "RssShmem": 0}
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        for line in file:
            name, _, rest = line.partition(":")
            if name in found:
                found[name] = int(rest.split()[0]) * _KIB
    return found["RssAnon"], found["RssShmem"]


def _children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]
