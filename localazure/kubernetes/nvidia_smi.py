"""`nvidia-smi` of a GPU that is emulated, as a container of the node sees it: lists, queries and the usual table.

Run as `python -I -S nvidia_smi.py GPUS_JSON POD/CONTAINER ARGUMENTS…`, with only the standard library; the first two are in the
script that the container finds. Formats are those of nvidia-smi 580. It answers `-L`, `--query-gpu`, `-i` and the table; the rest
it refuses. Of processes a container sees its own, and all on its GPUs where its pod has
`hostPID`, as under a driver that tells processes in containers.

A GPU that is emulated has no counters of its own. So the time of a container's processes, out of one processor's, is its GPUs'
utilisation, and their resident memory is the GPUs' memory; what runs nothing uses nothing. Shells count for nothing, as they use
no GPU. Read from `/proc`; without one everything is idle.
"""

# ruff: noqa: PTH123, PTH208 - pathlib would cost each call its time

import json
import os
import re
import sys
import time

SAMPLE_SECONDS = 0.1
_WITHOUT_GPU = frozenset(("sh", "bash", "dash", "busybox", "sleep", "tee", "cat", "nvidia-smi"))
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_MIB = 1024 * 1024


class Process:
    """A process of a container that sees GPUs."""

    def __init__(self, pid, name, container, memory_mib, ticks):
        self.pid = pid
        self.name = name  # its program
        self.container = container  # "<pod's uid>/<container's name>"
        self.memory_mib = memory_mib
        self.ticks = ticks  # of processor time since it began
        self.share = 0.0  # of a processor's time, lately


def processes_of(folder):
    """Those that run now in containers that `folder` (`…/programs`) knows, told by the PATH that they have."""
    marker = re.compile(re.escape(os.fsencode(folder)) + rb"/([^/:]+)/([^/:]+)")
    found = []
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    for pid in pids:
        one = _look(pid, marker)
        if one is not None:
            found.append(one)
    return found


def _look(pid, marker):
    if pid == os.getpid():
        return None
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            match = marker.search(file.read())
        if match is None:
            return None
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            name, _, rest = file.read().partition("(")[2].rpartition(")")
        fields = rest.split()
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            program = os.fsdecode(file.read().split(b"\0")[0])
    except OSError:
        return None  # it has ended, or is another user's
    if name in _WITHOUT_GPU or fields[0] == "Z":
        return None
    container = f"{os.fsdecode(match[1])}/{os.fsdecode(match[2])}"
    return Process(pid, program or name, container, int(fields[21]) * _PAGE // _MIB, int(fields[11]) + int(fields[12]))


def sampled(folder, seconds=SAMPLE_SECONDS, wait=time.sleep):
    """The processes with the share of a processor's time that each had within the next `seconds`."""
    before = {one.pid: one.ticks for one in processes_of(folder)}
    if not before:
        return []
    wait(seconds)
    now = processes_of(folder)
    for one in now:
        one.share = max(0.0, (one.ticks - before.get(one.pid, one.ticks)) / _TICKS / seconds)
    return now


def of_gpu(gpu, containers, found):
    """(utilisation in per cent, MiB in use) of one GPU. `containers`: by their key the ids of the GPUs and instances they see."""
    share, memory = 0.0, 0
    ids = {gpu["uuid"], *(one["uuid"] for one in gpu["instances"])}
    for one in found:
        seen = containers.get(one.container, {"ids": []})["ids"]
        if seen and ids & set(seen):
            share += one.share / len(seen)
            memory += one.memory_mib // len(seen)
    return min(100, round(100 * share)), min(gpu["memory_mib"], memory)


NOT_AVAILABLE = "[N/A]"
NO_DEVICES = "No devices were found"
IDLE_CELSIUS, WARM_CELSIUS = 30, 45  # and as much warmer as the GPU is busy


class WrongUseError(Exception):
    """The program ends with exit code 1 and this on its output."""


def main(state_file, key, arguments):
    with open(state_file, encoding="utf-8") as file:
        state = json.load(file)
    try:
        told = answer(state, key, arguments)
    except WrongUseError as error:
        print(error)
        return 1
    if told:
        print(told)
    return 0


def answer(state, key, arguments, look=sampled):
    """What the program prints. `look`: finds the processes of the node's containers."""
    options = _options(arguments)
    own = state["containers"].get(key, {"gpus": [], "ids": [], "host_pid": False})
    gpus = _chosen([gpu for gpu in state["gpus"] if gpu["uuid"] in own["gpus"]], options.get("id"))
    if not gpus:
        raise WrongUseError(NO_DEVICES)
    if "list" in options:
        return "\n".join(_listed(gpu, own) for gpu in gpus)
    found = look(state["programs"])
    if "query-gpu" in options:
        return _csv(options, [_facts(gpu, gpus, state, found) for gpu in gpus])
    return _table(state, gpus, _apps(state, key, own, gpus, found), found)


_FLAGS = {"-L": "list", "--list-gpus": "list", "-i": "id", "--id": "id"}
_WITH_VALUE = ("id", "query-gpu", "format")


def _options(arguments):
    options = {}
    words = list(arguments)
    while words:
        word = words.pop(0)
        name, joined, value = word.partition("=")
        name = _FLAGS.get(name, name.removeprefix("--"))
        if name in _WITH_VALUE:
            if not joined:
                if not words:
                    raise WrongUseError(f"Option {word} is missing its value.\n")
                value = words.pop(0)
            options[name] = value
        elif word in _FLAGS:
            options[name] = ""
        else:
            raise WrongUseError(f'Invalid combination of input arguments. Please run "nvidia-smi -h" for help.\n({word})')
    return options


def _chosen(gpus, request):
    """Those of the container's GPUs that `-i` names; indices count from the container's first."""
    numbered = [{**gpu, "index": number} for number, gpu in enumerate(gpus)]
    if request is None:
        return numbered
    requested = [one.strip() for one in request.split(",")]
    return [gpu for gpu in numbered if {str(gpu["index"]), gpu["uuid"], _bus(gpu)} & set(requested)]


def _listed(gpu, own):
    lines = [f"GPU {gpu['index']}: {gpu['name']} (UUID: {gpu['uuid']})"]
    instances = [one for one in gpu["instances"] if one["uuid"] in own["ids"] or gpu["uuid"] in own["ids"]]
    lines += [f"  MIG {one['profile']:<12}Device  {number}: (UUID: {one['uuid']})" for number, one in enumerate(instances)]
    return "\n".join(lines)


def _bus(gpu):
    return f"{gpu['index'] + 1:08X}:00:00.0"


def _facts(gpu, gpus, state, found):
    """What the fields of a GPU and its lines of the table show. `busy` in per cent; power and temperature are of show."""
    busy, used = of_gpu(gpu, state["containers"], found)
    cut, total = bool(gpu["instances"]), gpu["memory_mib"]
    return {
        "gpu": gpu,
        "state": state,
        "count": len(gpus),
        "now": time.strftime("%Y/%m/%d %H:%M:%S.000"),
        "bus": _bus(gpu),
        "mig": ("Enabled" if cut else "Disabled") if gpu["mig_capable"] else NOT_AVAILABLE,
        "compute_capability": gpu["compute_capability"] or NOT_AVAILABLE,
        "memory_mhz": gpu.get("memory_mhz") or NOT_AVAILABLE,
        "used": used,
        "free": total - used,
        "busy": NOT_AVAILABLE if cut else busy,
        "memory_busy": NOT_AVAILABLE if cut else min(busy, 100 * used // total if total else 0),
        "state_of_power": "P0" if busy else "P8",
        "celsius": IDLE_CELSIUS + (WARM_CELSIUS - IDLE_CELSIUS) * busy // 100,
        "watts": gpu["watts"] / 8 + gpu["watts"] * 7 / 8 * busy / 100,  # an eighth of the limit when idle
    }


def _apps(state, key, own, gpus, found):
    """A row for each process on one of these GPUs that the container may see."""
    rows = []
    for gpu in gpus:
        ids = {gpu["uuid"], *(one["uuid"] for one in gpu["instances"])}
        for one in sorted(found, key=lambda process: process.pid):
            seen = state["containers"].get(one.container, {"ids": []})["ids"]
            if not ids & set(seen) or not (one.container == key or own["host_pid"]):
                continue
            memory = str(min(one.memory_mib // len(seen), gpu["memory_mib"]))
            rows.append({"index": gpu["index"], "pid": one.pid, "process_name": one.name, "used_memory": memory})
    return rows


def _csv(options, rows):
    with open(__file__.removesuffix("py") + "tsv", encoding="utf-8") as file:
        known = {field: told for field, *told in (line.rstrip("\n").split("\t") for line in file if line[0] != "#")}
    fields = [one.strip() for one in options["query-gpu"].split(",")]
    for field in fields:
        if field not in known:
            raise WrongUseError(f'Field "{field}" is not a valid field to query.\n')
    form = [one.strip() for one in options.get("format", "").split(",")]
    if "csv" not in form:
        raise WrongUseError('"--format=" switch is missing. Please run "nvidia-smi -h" for help.\n')
    lines = [] if "noheader" in form else [", ".join(known[field][0] for field in fields)]
    lines += [", ".join(_cell(known[field], facts, "nounits" in form) for field in fields) for facts in rows]
    return "\n".join(lines)


def _cell(field, facts, bare):
    head, text = field
    value, unit = text.format(**facts), head.partition(" [")[2].removesuffix("]")
    return value if bare or not unit or value == NOT_AVAILABLE else f"{value} {unit}"


def _table(state, gpus, apps, found):
    line = "+" + "-" * 89 + "+"
    rows = [
        time.strftime("%a %b %e %H:%M:%S %Y"),
        line,
        f"| {_heading(state):<87} |",
        "|" + "-" * 41 + "+" + "-" * 24 + "+" + "-" * 22 + "+",
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",
        "|                                         |                        |               MIG M. |",
        "|" + "=" * 41 + "+" + "=" * 24 + "+" + "=" * 22 + "|",
    ]
    for gpu in gpus:
        rows += _table_of(gpu, _facts(gpu, gpus, state, found))
    rows += ["", line, f"| {'Processes:':<87} |"]
    rows.append(f"| {' GPU   GI   CI              PID   Type   Process name                        GPU Memory':<87} |")
    rows.append(f"| {'        ID   ID                                                               Usage':<87} |")
    rows.append("|" + "=" * 89 + "|")
    for app in apps:
        left = f" {app['index']:>3}   N/A  N/A {app['pid']:>16} {'C':>6}   {app['process_name'][-34:]:<35}"
        rows.append(f"| {left + app['used_memory'].rjust(7) + 'MiB':<87} |")
    if not apps:
        rows.append(f"| {' No running processes found':<87} |")
    return "\n".join([*rows, line])


def _heading(state):
    driver, cuda = state["driver_version"], state["cuda_version"]
    return f"NVIDIA-SMI {driver:<22} Driver Version: {driver:<14} CUDA Version: {cuda}"


def _table_of(gpu, facts):
    busy = "N/A" if facts["busy"] == NOT_AVAILABLE else f"{facts['busy']}%"
    power = f"{round(facts['watts'], 2):.0f}W / {gpu['watts']:>4}W"
    left = f"N/A  {facts['celsius']:>3}C    {facts['state_of_power']:<4}"
    memory = f"{facts['used']}MiB / {gpu['memory_mib']:>6}MiB"
    mode = f"{busy:>8} {'Default':>11}"
    return [
        _cells(f"{gpu['index']:>3}  {gpu['name'][:24]:<24}{'On':>9}", f"{_bus(gpu):>18} Off", f"{'0':>20}"),
        _cells(left + power.rjust(39 - len(left)), f"{memory:>22}", mode),
        _cells("", "", f"{facts['mig'].strip('[]'):>20}"),
        "+" + "-" * 41 + "+" + "-" * 24 + "+" + "-" * 22 + "+",
    ]


def _cells(left, middle, right):
    return f"| {left[:39]:<39} | {middle[:22]:<22} | {right[:20]:<20} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
