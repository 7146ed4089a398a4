"""Levels `cheap`, `gpu` and `change`: a stack is brought up, looked at, proved by work that runs there or changed, and goes.

In: an Azure, where the engine's state lies, a price ceiling. Out: differences, and what work ran on. What it costs at most is
computed by the library's prices before anything is created. Its resource group is made by `switch`, with the tags of `lease`, by
which what a killed run has left is found again.
"""

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from azure_gpu.catalog import prices, regions
from azure_gpu.formats import arm_bodies, arm_ids, azure_types
from azure_gpu.formats.azure_types import BY_TOKEN
from azure_gpu_operations.graph import reading, recorded
from azure_gpu_operations.preflight.template import Sent, template_of
from azure_gpu_operations.prove.proof import Service
from localazure import shapes
from tests.conformance import changes, lease, switch
from tests.conformance.azure import Azure
from tests.conformance.differences import Difference
from tests.recorded.members import comparable, flat, lowered, same
from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.stack import connected_environment, connection_keys

TAG = lease.TAG
GROUPS = "2024-03-01"
HOURS = {
    "cheap": Decimal(1),
    "gpu": Decimal("1.5"),
    "change": Decimal("0.75"),
}  # after which the run's group goes; it takes its stack down before
DOWN_HOURS = Decimal("0.25")  # before that
DOWN_SECONDS = 3600
GRACE_SECONDS = 120  # from an interrupt until what is left of a command is killed
PRICED = "eastus"  # where the catalog has all prices
# USD an hour for what the catalog has no price of: one CPU of a container group, a registry, disks, logs. Assumed, and generous.
RESERVED = Decimal("0.50")
_WITHOUT_PRICE = ("container group",)
GPU = "Standard_NC4as_T4_v3"
_TOLD = 3000  # characters of what a command that failed said
_DAYS = 2  # after which everything is to have gone, by its tags
_PLACEHOLDERS = ("[", "c2VjcmV0", "https://issuer.example/", "https://endpoint.example/")  # of what only Azure tells
_ANSWERS = Path(__file__).parents[1] / "recorded" / "answers.json"
_NOT_SHOWN = (azure_types.DEPLOYMENT.arm_type,)  # GET shows no template


class PriceError(Exception):
    """A stack that would cost more than it may. The text is for the user."""


class CommandFailedError(Exception):
    """A command on the stack failed. The text is what it said."""

    def __init__(self, command: str, text: str) -> None:
        super().__init__(f"{command} {text}")
        self.command, self.text = command, text


class Ran(NamedTuple):
    """What a run found. `proofs` are lines: what work ran on, and how fast."""

    differences: tuple[Difference, ...]
    proofs: tuple[str, ...]


@dataclass(slots=True)
class Stack:
    """One run's stack. `environment` has the engine on PATH, and the login. `server`: the embedded Azure; None: GPUs are real."""

    azure: Azure
    level: str
    folder: Path
    environment: Mapping[str, str]
    keys: Mapping[str, str]
    location: str
    clusters: bool = True
    server: ServedAzure | None = None
    # By its letter no number: `075088` and `12e456`, which PyYAML writes without quotes, are numbers to the engine.
    run: str = field(default_factory=lambda: f"r{secrets.token_hex(3)[1:]}")
    changed: bool = False
    """Whether its file has what `change` changes."""
    # USD an hour of each part, once it was asked for: the program runs for it.
    costs: "dict[str, Decimal | None] | None" = field(default=None, init=False)

    @property
    def name(self) -> str:
        return f"cf{self.run}"

    @property
    def group(self) -> str:
        """ARM id of its resource group."""
        return switch.group_id(self.azure, self.run)

    @property
    def file(self) -> Path:
        return self.folder / f"Pulumi.{self.name}.yaml"

    def write(self, today: date) -> None:
        """The stack's file."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        last = (today + timedelta(days=_DAYS)).isoformat()
        config = {**configuration(self.level, self.location, last, clusters=self.clusters), "tags": {TAG: self.run}}
        config["foundation"] = {**config["foundation"], "resource_group": {"existing": self.group}}
        if self.changed:
            config = changes.configuration(config, (today + timedelta(days=_DAYS + 1)).isoformat())
        keyed = {f"azure-gpu:{key}": value for key, value in config.items()} | dict(self.keys)
        before = yaml.safe_load(self.file.read_text(encoding="utf-8")) if self.file.exists() else {}  # with the salt of secrets
        self.file.write_text(yaml.safe_dump({**before, "config": keyed}, sort_keys=False), encoding="utf-8")

    def operations(self, *arguments: str, seconds: float, codes: tuple[int, ...] = (0,)) -> str:
        """A command of `operations`. CommandFailedError where it ends with another code or takes longer."""
        command = [sys.executable, "-m", "operations", *arguments, "--stack", self.name, "--config-folder", str(self.folder)]
        return _run(f"operations {arguments[0]}", command, self.environment, seconds, codes)

    def pulumi(self, *arguments: str, seconds: float) -> str:
        command = ["pulumi", *arguments, "--non-interactive", "--stack", self.name]
        return _run(f"pulumi {arguments[0]}", command, self.environment, seconds)


def configuration(level: str, location: str, last: str, *, clusters: bool = True) -> dict[str, Any]:
    """A stack with each service. `cheap`: a CPU, or a GPU that nothing starts; `gpu`: one T4 each; `change`: a pool
    with one, and a cluster whose GPUs nothing starts."""
    until = {"expires_after": last}
    small = {"nodes": 1, "size": "Standard_D4s_v5"}
    pool = {"size": GPU, "containers": True, **until}  # from none to one node: a task brings it
    endpoint = {"deployments": {"blue": {"environment": "digits", "instance_type": GPU}}, **until}
    machine = {"size": GPU, "admin": {"ssh_public_key": _KEY}, **until}
    command = ["python", "-c", "print('there')"]  # ends at once: `up` waits for what ends
    group = {"image": switch.IMAGE, "command": command, "restart_policy": "Never", "cpu": 1, "memory_in_gb": 1}
    of_gpus: dict[str, Any] = {"ml_endpoints": {"digits": endpoint}, "vms": {"box": machine}} if level == "gpu" else {}
    cluster = {"system_pool": small, "gpu_pools": {"t4": {"size": GPU, "max_nodes": 1}}, **until}
    environments = {"environments": {"digits": {"workload": "digits"}}} if level == "gpu" else {}
    if level == "change":
        return {
            "team": "conform",
            "location": location,
            "protect_data": False,
            "foundation": dict.fromkeys(("resource_group", "identity", "storage"), "create"),
            "batch_account": "create",
            # From the start: Batch looks at the tasks of a pool once in five minutes.
            "pools": {"nodes": {"size": GPU, "autoscale": {"min_nodes": 1, "max_nodes": 1}, **until}},
            **({"clusters": {"aks": cluster}} if clusters else {}),
        }
    return {
        "team": "conform",
        "location": location,
        "protect_data": False,
        "foundation": dict.fromkeys(("resource_group", "identity", "registry", "log_workspace", "storage"), "create"),
        "container_groups": {"look": group},
        "jobs": {"start": {"image": "mcr.microsoft.com/k8se/quickstart-jobs:latest", **until}},
        "batch_account": "create",
        "pools": {"nodes": pool},
        "ml_workspace": environments or "create",
        **({"clusters": {"aks": cluster}} if clusters else {}),
        **of_gpus,
    }


def price(stack: Stack) -> Decimal:
    """What the run costs at most, in USD, by list prices. What has none in its region counts as in the dearest region that the
    catalog knows. PriceError where nothing is known."""
    total = sum((Decimal(0) if cost is None else cost for cost in _costs(stack).values()), RESERVED)
    if missing := unpriced(stack):
        elsewhere = _costs(replace(stack, location=PRICED, folder=stack.folder / PRICED))
        costs = [elsewhere[part] for part in missing]
        known = [cost for cost in costs if cost is not None]
        if len(known) < len(costs):
            raise PriceError(f"{', '.join(missing)}: no price is known in {stack.location} or {PRICED}: no ceiling can be kept")
        total += sum(known, Decimal(0)) * _dearest()
    return total * HOURS[stack.level]


def unpriced(stack: Stack) -> list[str]:
    """The parts without a price in the region of the run."""
    return [part for part, cost in _costs(stack).items() if cost is None and not part.startswith(_WITHOUT_PRICE)]


def _costs(stack: Stack) -> dict[str, Decimal | None]:
    """USD an hour of each part, with the GPUs of those that work starts there. Writes the stack's file."""
    if stack.costs is None:
        stack.write(datetime.now(UTC).date())
        graph = reading.graph_of(recorded.record(CHECKOUT, stack.file, stack.name), datetime.now(UTC).date())
        costs = {
            f"{each.noun} {each.name}": each.most_cost if _works(stack.level, each.type) else each.idle_cost
            for each in graph.parts
            if each.has_cost
        }
        stack.costs = {part: None if cost is None else Decimal(str(cost)) for part, cost in costs.items()}
    return stack.costs


def _works(level: str, token: str) -> bool:
    """Whether work of this level starts the GPUs of a part."""
    return level == "gpu" or (level == "change" and token.endswith(":BatchPool"))


def _dearest() -> Decimal:
    """By how much a T4 of the dearest region costs more than one of `PRICED`."""
    book = prices.packaged()
    found = {region: price.usd_hour for region in book.regions_of(GPU) if (price := book.on_demand(GPU, region)) is not None}
    return max(found.values()) / found[PRICED]


def check_price(stack: Stack, ceiling: Decimal) -> Decimal:
    """PriceError where the run would cost more than the ceiling. Nothing has been created."""
    usd = price(stack)
    if usd > ceiling:
        raise PriceError(f"{stack.level} costs up to {usd:.2f} USD, more than the ceiling of {ceiling} USD (CEILING=…)")
    return usd


def run(stack: Stack) -> Ran:
    """Up, a look at everything, a preview that has to be empty, proofs or changes, down. It goes down in any case."""
    end = time.monotonic() + float(HOURS[stack.level] - DOWN_HOURS) * 3600
    found: list[Difference] = []
    proofs: list[str] = []
    try:
        stack.operations("up", seconds=end - time.monotonic())
        found += [*looked_at(stack), *_again(stack, end)]
        if stack.level == "change":
            for told in _changed(stack, end):
                (proofs if isinstance(told, str) else found).append(told)  # pyright: ignore[reportArgumentType]
        else:
            rows = _proved(stack, end)
            found += unproved(rows, gpus_are_real=stack.server is None)
            proofs += [_line(row) for row in rows if row["passed"]]
    except CommandFailedError as error:
        found.append(Difference(f"stack {stack.name}", error.command, "failure", "success", error.text))
    finally:
        left = removed(stack)
    return Ran((*found, *left), tuple(proofs))


def _changed(stack: Stack, end: float) -> Iterator[Difference | str]:
    if stack.server is not None:
        _request_quotas(stack.server)
    stack.operations("access", "--grant", seconds=end - time.monotonic())  # for the script of the task
    yield from changes.made(stack, end)
    yield from (*looked_at(stack), *_again(stack, end))


def removed(stack: Stack) -> list[Difference]:
    """Takes the stack down, and then its group with the switch. What was left in between is a difference."""
    down(stack)
    left = list(gone(stack))
    delete(stack.azure, stack.run)
    return left


def down(stack: Stack) -> None:
    """Destroys the stack; where the engine can't, deletes what has the run's tag."""
    try:
        stack.operations("down", "--yes", seconds=DOWN_SECONDS)
    except CommandFailedError as error:
        print(f"{stack.name}: {error}; its resource groups are deleted", file=sys.stderr)
        delete(stack.azure, stack.run)


def clean(azure: Azure, here: str) -> tuple[list[str], list[str]]:
    """Deletes the runs that are over: the names of their groups, and of those that are left alone. `here`: this checkout."""
    groups = _groups(azure)
    now = datetime.now(UTC)
    leases = [found for each in groups if (found := lease.read(each["tags"])) is not None]
    over = [each.run for each in leases if lease.is_over(each, here, now)]
    deleted = [name for each in over for name in delete(azure, each)]
    return deleted, [each["name"] for each in groups if each["tags"][TAG] not in over]


def delete(azure: Azure, run: str) -> list[str]:
    """Deletes one run, and waits until it is gone. The names of its groups. CommandFailedError."""
    left = [each for each in _groups(azure) if each["tags"][TAG] == run]
    until = time.monotonic() + DOWN_SECONDS
    waiting = [each["id"] for each in left]
    while waiting := [each for each in waiting if not _is_gone(azure, each)]:
        if time.monotonic() > until:
            raise CommandFailedError("delete", f"couldn't delete {', '.join(waiting)} within {DOWN_SECONDS} seconds")
        time.sleep(2)
    return [each["name"] for each in left]


def _groups(azure: Azure) -> list[dict[str, Any]]:
    """The groups of all runs."""
    shown = azure.send("GET", f"/subscriptions/{azure.subscription}/resourceGroups", GROUPS).response
    return [each for each in shown["value"] if TAG in (each.get("tags") or {})]


def _is_gone(azure: Azure, group_id: str) -> bool:
    """Asked to go where it isn't going: a deletion ends early at a resource that can't go yet."""
    shown = azure.send("GET", group_id, GROUPS)
    if shown.status == 200 and shown.response["properties"]["provisioningState"] != "Deleting":
        azure.send("DELETE", group_id, GROUPS)
    return shown.status == 404


def looked_at(stack: Stack) -> Iterator[Difference]:
    """Each resource as GET shows it: what was sent, and what Azure is known to fill in."""
    filled: dict[str, Any] = json.loads(_ANSWERS.read_text(encoding="utf-8"))["types"]
    sent = {each.id.lower(): each for each in _sent(stack)}
    for resource in _exported(stack):
        parsed, azure_type = arm_ids.parse(str(resource.get("id", ""))), BY_TOKEN.get(resource["type"])
        if parsed is None or azure_type is None:
            continue
        shown = stack.azure.send("GET", parsed.text, arm_bodies.api_version(azure_type))
        what = f"{azure_type.arm_type} {parsed.name}"
        if shown.status != 200:
            yield Difference(what, "GET", "status", "200", str(shown.status))
            continue
        if parsed.key in sent and azure_type.arm_type not in _NOT_SHOWN:
            yield from _kept(what, sent[parsed.key], shown.response)
        members = filled.get(azure_type.arm_type, {}).get("members", {}).get("read", {})
        there = {path.split("[")[0] for path in lowered(flat(shown.response))}
        for path in members:
            single = path.lower().split("[")[0]
            if path.lower() in _ALWAYS and single not in there:
                yield Difference(what, "GET", "member", path, "missing")


# Members of any resource that the recordings show for all their types.
_ALWAYS = ("properties.provisioningstate", "properties.principalid", "properties.clientid", "properties.loginserver",
           "properties.customerid", "properties.accountendpoint", "properties.vaulturi", "properties.discoveryurl")  # fmt: skip


def _kept(what: str, sent: Sent, response: Any) -> Iterator[Difference]:
    """What was sent is answered, but for secrets and what only Azure knew."""
    azure_type = BY_TOKEN[sent.resource.type]
    body = shapes.without_secrets(shapes.arm_shape(azure_type), sent.body)
    theirs = lowered(flat(response))
    for path, value in lowered(flat(body)).items():
        if not comparable(path, value) or (isinstance(value, str) and value.startswith(_PLACEHOLDERS)) or value in ([], ""):
            continue
        if path not in theirs:
            yield Difference(what, "GET", "member", path, "missing")
        elif comparable(path, theirs[path]) and not same(_spelt(path, value), _spelt(path, theirs[path])):
            yield Difference(what, "GET", "value", f"{path}: {value}", str(theirs[path]))


def _spelt(path: str, value: Any) -> Any:
    """Regions are answered by either of their names, whole numbers also as decimals."""
    if path == "location":
        return regions.normalise(str(value))
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _again(stack: Stack, end: float) -> Iterator[Difference]:
    """A second preview, of what Azure has now, changes nothing."""
    options = ("--json", "--refresh", "--config-file", str(stack.file))
    steps = json.loads(stack.pulumi("preview", *options, seconds=end - time.monotonic()))["steps"]
    for step in steps:
        changed: list[str] = list(step.get("detailedDiff") or step.get("diffReasons") or ())
        if step["op"] not in ("same", "read", "refresh") and not (changed and all(map(_FURTHER_POOL.match, changed))):
            kind, name = step["urn"].split("::")[-2:]
            found = f"{step['op']} of {', '.join(changed)}" if changed else step["op"]
            yield Difference(f"{kind.split('$')[-1]} {name}", "second preview", "change", "same", found)


# A cluster shows its further pools, which are resources of their own, in its own body too (docs/settings.md).
_FURTHER_POOL = re.compile(r"agentPoolProfiles\[[1-9]\d*\]")


def _proved(stack: Stack, end: float) -> list[dict[str, Any]]:
    """The rows of `prove`: at `gpu` of every service, else of the one that takes no GPU."""
    only: tuple[str, ...] = ("--only", Service.CONTAINER_GROUP)
    if stack.level == "gpu":
        only = ()
        if stack.server is not None:
            _request_quotas(stack.server)
        stack.operations("access", "--grant", seconds=end - time.monotonic())
    text = stack.operations("prove", "--json", *only, seconds=end - time.monotonic(), codes=(0, 1))
    try:
        return json.loads(text)["proofs"]
    except ValueError:
        raise CommandFailedError("operations prove", f"ended without a proof: {text[-_TOLD:]}") from None


def _request_quotas(server: ServedAzure) -> None:
    asked = server.command("request-quotas")
    if asked.returncode != 0:
        raise CommandFailedError("request-quotas", asked.stderr)


def unproved(rows: Iterable[Mapping[str, Any]], *, gpus_are_real: bool) -> Iterator[Difference]:
    """The services where work failed; on real GPUs also those where it ran beside the GPU. Container groups have none."""
    for row in rows:
        what = f"{Service(row['service']).title} {row['place']}"
        if not row["passed"]:
            yield Difference(what, "prove", "proof", "passed", "; ".join(row["why"]))
        elif gpus_are_real and row["on_gpu"] is False and row["service"] != Service.CONTAINER_GROUP:
            yield Difference(what, "prove", "proof", "on a GPU", row["device"])


def _line(row: Mapping[str, Any]) -> str:
    # pyrefly: ignore[no-matching-overload]
    told = ", ".join(filter(None, [row["device"], *row["measured"]]))
    return f"proved: {Service(row['service']).title} {row['place']}{f': {told}' if told else ''}"


def gone(stack: Stack) -> Iterator[Difference]:
    """Nothing is left of the run, but its group with the switch."""
    for each in _groups(stack.azure):
        if each["tags"][TAG] == stack.run and each["name"] != switch.name(stack.run):
            yield Difference(f"resource group {each['name']}", "after down", "status", "gone", "there")
    shown = stack.azure.send("GET", f"{stack.group}/resources", GROUPS)
    for each in shown.response["value"] if shown.status == 200 else ():
        if each["name"] != switch.name(stack.run):
            yield Difference(f"{each['type']} {each['name']}", "after down", "status", "gone", "there")


def _sent(stack: Stack) -> tuple[Sent, ...]:
    found = recorded.record(CHECKOUT, stack.file, stack.name)
    return template_of(found, stack.azure.subscription).sent


def _exported(stack: Stack) -> list[dict[str, Any]]:
    return json.loads(stack.pulumi("stack", "export", seconds=120))["deployment"]["resources"]


def on_embedded(azure: Azure, server: ServedAzure, level: str, engine_bin: Path, *, kubernetes_bin: Path | None) -> Stack:
    environment = connected_environment(server, engine_bin)
    if kubernetes_bin is not None:
        environment["PATH"] = f"{kubernetes_bin}:{environment['PATH']}"
    keys = {**connection_keys(server), "azure-gpu:image_source": f"{server.url}/checkout.git#HEAD"}
    folder = server.state / "conformance"
    return Stack(azure, level, folder, environment, keys, "eastus", clusters=kubernetes_bin is not None, server=server)


def on_login(azure: Azure, level: str, state: Path, location: str) -> Stack:
    """With a backend in a folder of its own, whose passphrase stays there."""
    backend, word = state / "backend", state / "passphrase"
    backend.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not word.exists():
        word.touch(mode=0o600)
        word.write_text(secrets.token_urlsafe(24))
    environment = {
        **os.environ,
        "PULUMI_BACKEND_URL": backend.resolve().as_uri(),
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(word.resolve()),
    }
    keys = {"azure-native:subscriptionId": azure.subscription, "azure-native:tenantId": azure.tenant}
    return Stack(azure, level, state / "stacks", environment, keys, location)


def _run(name: str, command: list[str], environment: Mapping[str, str], seconds: float, codes: tuple[int, ...] = (0,)) -> str:
    """In a process group of its own, which ends as a whole: the engine is a child of the command."""
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, cwd=CHECKOUT, env=dict(environment), start_new_session=True, **streams)
    try:
        out, error = process.communicate(timeout=max(seconds, 1))
    except subprocess.TimeoutExpired:
        _end(process)
        raise CommandFailedError(name, f"took longer than {seconds:.0f} seconds") from None
    except BaseException:  # a signal to this process
        _end(process)
        raise
    if process.returncode not in codes:
        raise CommandFailedError(name, f"ended with {process.returncode}: {out[-_TOLD:]}{error[-_TOLD:]}")
    return out


def _end(process: "subprocess.Popen[str]") -> None:
    """Interrupts the group, so that the engine ends what it has begun and writes its state, and kills what doesn't end."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    try:
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=GRACE_SECONDS)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


# A public key that nobody has the other half of: no one is to log in.
_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIf5brqnNQHGzLjkqraUF8izv5/PuTQziv4YaiROCxUB"
