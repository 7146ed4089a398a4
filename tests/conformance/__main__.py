"""`make conformance`: this project's requests sent to a subscription, and where it answers otherwise than the embedded Azure.

    python -m tests.conformance --level validate             the bodies of all cases to validate and what-if: costs nothing
    python -m tests.conformance --level cheap --ceiling 5    a stack on CPUs, brought up, looked at, proved, taken down
    python -m tests.conformance --level gpu --ceiling 5      the same with one T4 of each service
    python -m tests.conformance --level change --ceiling 1   a pool and a cluster changed by a second `up`, while a task runs
    python -m tests.conformance --clean                      deletes what earlier runs have left
    … --embedded                                             against an embedded Azure in rough weather

Without `--embedded` it is the subscription that `az login` names, which `az account show` tells. What a run costs at most is
computed before anything is created; one that would cost more than the ceiling isn't begun. A run begins by deleting runs that
are over: those of this checkout whose process has gone, and any after its time (`lease`). Before its stack it makes a job in
Azure that deletes all of it after its time (`switch`). Answers are kept as recordings in `.local/conformance`, without secrets
and ids of the subscription. Against Azure the report is in docs/conformance.md, else in a file beside the recordings, a section
for each level.

Exit codes: 0 no difference, 1 differences, or the run failed, 2 the command line, the login or the price.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from importlib.metadata import version
from pathlib import Path

import httpx

from azure_gpu_operations.graph.recorded import WrongStackError
from tests.conformance import lease, recordings, stacks, switch, validate
from tests.conformance.azure import Azure, NoLoginError, of_embedded, of_login
from tests.conformance.report import Outcome, counted, with_run
from tests.support.embedded import CHECKOUT, ServedAzure, kubernetes_programs
from tests.support.in_process import InProcessAzure

STATE = CHECKOUT / ".local" / "conformance"
LEVELS = ("validate", "cheap", "gpu", "change")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    try:
        with _target(options.embedded, options.level) as (azure, server):
            if options.clean:
                return clean(azure, STATE)
            return run(azure, server, options.level, options.ceiling, options.location, STATE, _page(options.embedded))
    except (NoLoginError, stacks.PriceError, WrongStackError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (stacks.CommandFailedError, switch.SwitchError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except httpx.HTTPError as error:
        print(f"error: Azure doesn't answer ({error}); what a run has made is deleted by its own job in Azure", file=sys.stderr)
        return 1


def run(azure: Azure, server: ServedAzure | None, level: str, ceiling: Decimal, location: str, state: Path, report: Path) -> int:
    """One level. `server`: the embedded Azure that is asked, None where it is Azure. Writes recordings and the report."""
    day = datetime.now(UTC).date()
    outcome = _validate(azure) if level == "validate" else _stack(azure, server, level, ceiling, location, state)
    kept = recordings.write(state / day.isoformat(), f"conformance_{level}", azure.exchanges, azure, day)
    region = location if server is None else "eastus"
    versions = [(name, version(name)) for name in ("pulumi", "pulumi-azure-native", "azure-gpu")]
    report.parent.mkdir(parents=True, exist_ok=True)
    page = report.read_text(encoding="utf-8") if report.exists() else ""
    report.write_text(with_run(page, outcome, azure.name, day, region, versions), encoding="utf-8")
    count = len(outcome.differences)
    print(f"{level}: {outcome.done} {counted(count)}; report: {report}; recording: {kept}")
    for each in outcome.differences:
        print(f"  {each.what}: {each.request}: {each.kind}: {each.expected} -> {each.found}")
    return 1 if count else 0


def _validate(azure: Azure) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        weather = "rough" if azure.name != "Azure" else "calm"
        reference = InProcessAzure(Path(folder), weather=weather)
        try:
            judged = validate.judge(azure, of_embedded(reference))
        finally:
            reference.stop()
    done = f"{judged.bodies} bodies of {judged.cases} cases to validate and what-if; nothing was created."
    notes = [f"both refuse {name}: {', '.join(codes)}" for name, codes in judged.refused.items()]
    notes += [f"not sent of {name}: {'; '.join(left)}" for name, left in judged.left_out.items()]
    return Outcome("validate", done, judged.differences, tuple(notes))


def _stack(azure: Azure, server: ServedAzure | None, level: str, ceiling: Decimal, location: str, state: Path) -> Outcome:
    if server is None:
        _check_programs()
        stack = stacks.on_login(azure, level, state, location)
    else:
        done = subprocess.run([sys.executable, "engine/build.py"], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
        engine = Path(done.stdout.strip())
        stack = stacks.on_embedded(azure, server, level, engine, kubernetes_bin=kubernetes_programs())
    usd = stacks.check_price(stack, ceiling)
    left, others = stacks.clean(azure, lease.checkout(state))
    until = datetime.now(UTC) + timedelta(hours=float(stacks.HOURS[level]))
    switch.make(azure, lease.of_this_process(stack.run, state, until), stack.location)
    ran = stacks.run(stack)
    notes = [f"up to {usd:.2f} USD by list prices, {stacks.RESERVED} an hour of it for what has none in the catalog"]
    notes += [
        f"{part}: no price in {stack.location}; that of the dearest region that is known" for part in stacks.unpriced(stack)
    ]
    notes += [f"another run works or isn't known to have ended, and was left alone: {name}" for name in others]
    notes += [f"an earlier run had left {name}: deleted" for name in left]
    notes += [] if stack.clusters else ["without a cluster: this machine has no control plane of Kubernetes"]
    notes += ["a virtual machine without a GPU isn't something that this library declares"] if level == "cheap" else []
    notes += ran.proofs
    done = "One stack with all services was brought up, looked at, proved by work that runs there, and taken down."
    if level == "change":
        done = "A pool and a cluster were brought up, looked at, changed while a task ran, looked at again, and taken down."
    return Outcome(level, done, ran.differences, tuple(notes))


def clean(azure: Azure, state: Path) -> int:
    left, others = stacks.clean(azure, lease.checkout(state))
    lines = [f"deleted: {name}" for name in left] + [f"left alone, since it works or isn't over: {name}" for name in others]
    print("\n".join(lines) or "earlier runs have left nothing")
    shutil.rmtree(state / "stacks", ignore_errors=True)
    return 0


@contextmanager
def _target(embedded: bool, level: str) -> Iterator[tuple[Azure, ServedAzure | None]]:
    if not embedded:
        yield of_login(), None
        return
    with tempfile.TemporaryDirectory() as folder:
        # What creates nothing needs nothing that runs, and no image that a machine lacks is then refused.
        served = None if level == "validate" else ServedAzure(Path(folder), weather="rough")
        server = served or InProcessAzure(Path(folder), weather="rough")
        try:
            yield of_embedded(server), served
        finally:
            server.stop()


def _check_programs() -> None:
    """NoLoginError where one is missing that a stack needs after half an hour."""
    missing = [each for each in ("pulumi", "kubelogin") if shutil.which(each, path=os.environ.get("PATH")) is None]
    if missing:
        raise NoLoginError(f"{' and '.join(missing)} isn't on PATH; install it first")


def _page(embedded: bool) -> Path:
    return STATE / "report.md" if embedded else CHECKOUT / "docs" / "conformance.md"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--level", choices=LEVELS, default="validate")
    parser.add_argument("--embedded", action="store_true", help="against an embedded Azure in rough weather")
    parser.add_argument(
        "--ceiling", type=_usd, default=Decimal(5), metavar="USD", help="what a run may cost at most (default: 5)"
    )
    parser.add_argument("--location", default="eastus", help="the region on Azure (default: eastus)")
    parser.add_argument("--clean", action="store_true", help="delete what earlier runs have left, and nothing else")
    return parser.parse_args(arguments)


def _usd(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount of USD") from None


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a stack that is up goes down
    sys.exit(main())
