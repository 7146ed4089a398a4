"""The embedded Azure's commands: serve, start, stop, status, env, connect, request-quotas, place, fault.

Exit codes: 0 done, 1 refused or failed with one line on standard error, 2 wrong usage, 3 (`status` alone) no server runs.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from azure_gpu.formats import dates
from localazure import endpoint, evidence, fault, lifecycle
from localazure.entra import identity as identities
from localazure.errors import CommandError
from localazure.folder import LocalFolder
from localazure.nothing_runs import choice
from localazure.plugin import installation
from localazure.weather import state

CHECKOUT = Path(__file__).resolve().parents[1]
NOT_RUNNING = 3


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    checkout = options.checkout.resolve()
    folder = LocalFolder((options.state or checkout / ".local").resolve())
    command: Callable[[LocalFolder, Path, argparse.Namespace], int] = options.run
    try:
        return command(folder, checkout, options)
    except CommandError as error:
        sys.stderr.write(f"localazure: {error}\n")
    except OSError as error:
        sys.stderr.write(f"localazure: {error.strerror or error}: {error.filename or folder.root}\n")
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m localazure", description="The embedded Azure on this machine.")
    parser.add_argument("--state", type=Path, help="state folder; default: .local in the checkout")
    parser.add_argument(
        "--checkout", type=Path, default=CHECKOUT, help="folder that images are built from; default: this checkout"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[..., int], what: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=what, description=what)
        added.set_defaults(run=run)
        return added

    serving = command("serve", _serve, "Serve in the foreground until interrupted.")
    starting = command("start", _start, "Start the server in the background and wait until it answers.")
    for each in (serving, starting):
        each.add_argument(
            "--weather", choices=state.KINDS, help="rough (default) imitates Azure's delays and failures; kept for later starts"
        )
        each.add_argument(
            choice.OPTION,
            action="store_true",
            help="start no processes for declared resources, so that a stack to preview against deploys in seconds; fixed by the "
            "first start of a state folder",
        )
        each.add_argument(
            "--as-of", type=_day, help="date at which services validate requests; an `as-of` tag overrides it; default: today"
        )
    starting.add_argument("--engine-bin", type=Path, help="folder of `pulumi`; default: PATH")
    starting.add_argument("--kubernetes-bin", type=Path, help="folder of Kubernetes' programs; kept for later starts")
    starting.add_argument("--stack", help="also write this stack's configuration, as `connect` does")
    command("stop", _stop, "Stop the server, all containers and all clusters.")
    command("status", _status, "Print whether the server runs, and its address.")
    command("env", _env, "Print the connection environment, for `eval`.")
    connecting = command("connect", _connect, "Write the stack's configuration, connected to this server, and print its path.")
    connecting.add_argument("stack")
    command("request-quotas", _request_quotas, "Request the missing GPU quotas of accounts and environments, as in the portal.")
    placing = command(
        "place",
        _place,
        "Create the resources that a stack refers to by id, and print the principals that stand for people, as JSON.",
    )
    placing.add_argument(
        "file", type=Path, help='JSON: {"location": …, "resources": [{"id", "section", "location"}], "people": […]}'
    )
    _add_faults(command("fault", _fault_list, "Inject faults into the server."))
    return parser


def _add_faults(parser: argparse.ArgumentParser) -> None:
    """A command for each kind, with what it takes."""
    faults = parser.add_subparsers(required=True, metavar="FAULT")
    faults.add_parser("list", help="list active faults").set_defaults(run=_fault_list)
    faults.add_parser("clear", help="clear all faults").set_defaults(run=_fault_clear)
    for name, kind in fault.KINDS.items():
        added = faults.add_parser(name, help=kind.help)
        added.set_defaults(run=_fault_add, kind=name)
        for member, taken in kind.takes.items():
            is_option = ("default" in taken or "option" in taken) and "nargs" not in taken
            given = {each: taken[each] for each in ("default", "nargs", "metavar", "help") if each in taken}
            allowed = fault.choices(taken) or None
            added.add_argument(
                f"--{member}" if is_option else member, type=_READ.get(taken.get("is", ""), str), choices=allowed, **given
            )


def _serve(folder: LocalFolder, checkout: Path, options: argparse.Namespace) -> int:
    from localazure.server import serve  # here, because every other command would wait for what a server needs

    try:
        serve(folder, checkout, options.as_of, options.weather, nothing_runs=options.nothing_runs)
    except KeyboardInterrupt:
        sys.stderr.write("localazure: interrupted\n")
    return 0


def _start(folder: LocalFolder, checkout: Path, options: argparse.Namespace) -> int:
    started, fresh = lifecycle.start(
        folder,
        checkout,
        options.as_of,
        options.engine_bin,
        options.kubernetes_bin,
        options.weather,
        nothing_runs=options.nothing_runs,
    )
    print(f"embedded Azure {'started' if fresh else 'already running'} at {started.url}")
    print(_providers(folder))
    if options.stack:
        from localazure import stack_config  # here, because every other command would wait for what images need

        stack_config.connect(folder, identities.load(folder), started.url, checkout, options.stack)
    return 0


def _stop(folder: LocalFolder, checkout: Path, options: argparse.Namespace) -> int:  # noqa: ARG001
    print("embedded Azure stopped" if lifecycle.stop(folder) else "embedded Azure was not running")
    return 0


def _status(folder: LocalFolder, checkout: Path, options: argparse.Namespace) -> int:  # noqa: ARG001
    last = endpoint.read(folder)
    if last is None or not last.alive:
        print("embedded Azure is not running")
        return NOT_RUNNING
    weather, answers = state.kept(folder.weather), endpoint.answers(folder, last)
    how = "answers" if answers else "is starting, not answering yet"
    still = ", with --nothing-runs" if choice.kept(folder) else ""
    as_of = last.as_of or "today"
    print(f"embedded Azure {how} at {last.url}, process {last.process.pid}, as of {as_of}, in {weather} weather{still}")
    print(_providers(folder))
    print(f"not judged: {len(evidence.not_judged())} refusals that are only assumed; docs/coverage.md lists them")
    return 0


def _providers(folder: LocalFolder) -> str:
    """Which provider plugins stacks are run by."""
    return f"providers: {', '.join(str(installation.plugin(folder.pulumi_home, name)) for name in installation.STAND_INS)}"


def _env(folder: LocalFolder, checkout: Path, options: argparse.Namespace) -> int:  # noqa: ARG001
    if not folder.environment.exists():
        raise CommandError(f"{folder.root} has no connection environment; run `python -m localazure start`")
    sys.stdout.write(folder.environment.read_text(encoding="utf-8"))
    return 0


def _connect(folder: LocalFolder, checkout: Path, options: argparse.Namespace) -> int:
    from localazure import stack_config

    url = lifecycle.running(folder).url
    print(stack_config.connect(folder, identities.load(folder), url, checkout, options.stack))
    return 0


def _request_quotas(folder: LocalFolder, checkout: Path, options: argparse.Namespace) -> int:  # noqa: ARG001
    from localazure import quota_requests  # here, because every other command would wait for the catalog and what signs tokens

    for granted in quota_requests.request(_asking(folder)):
        print(f"quota requested and granted: {granted.quota} of {granted.resource}")
    return 0


def _place(folder: LocalFolder, checkout: Path, options: argparse.Namespace) -> int:  # noqa: ARG001
    from azure_gpu.formats.arm_ids import parse
    from localazure import referenced  # here: it knows all types, and takes a while to load

    try:
        told = json.loads(options.file.read_text(encoding="utf-8"))
        named = [(parse(each["id"]), each) for each in told["resources"]]
        expected = [referenced.Expected(id_, each["section"], each["location"]) for id_, each in named if id_ is not None]
        people, location = list(told["people"]), str(told["location"])
    except (ValueError, KeyError, TypeError) as error:
        raise CommandError(f"{options.file}: invalid input of `place`: {error}") from None
    print(json.dumps(referenced.place(_asking(folder), expected, people, location)._asdict()))
    return 0


def _asking(folder: LocalFolder) -> Callable[[str, str, Any], tuple[int, dict[str, Any]]]:
    """Asks the running server as the service principal that stacks sign in with."""
    from localazure.entra.tokens import Tokens  # here, because every other command would wait for what signs tokens

    server = lifecycle.running(folder)
    token = Tokens(identities.load(folder), server.url, lambda: datetime.now(UTC)).issue(server.url)
    return lambda method, path, body: endpoint.ask(folder, server, method, path, body, token)


def _fault_add(folder: LocalFolder, checkout: Path, options: argparse.Namespace) -> int:  # noqa: ARG001
    values: dict[str, Any] = {name: getattr(options, name) for name in fault.KINDS[options.kind].takes}
    given = {name: value.isoformat() if isinstance(value, date) else value for name, value in values.items()}
    given = {name: value for name, value in given.items() if value is not None} | {"kind": options.kind}
    _print_faults([_control(folder, "PUT", given)])
    return 0


def _fault_list(folder: LocalFolder, checkout: Path, options: argparse.Namespace) -> int:  # noqa: ARG001
    _print_faults(_control(folder, "GET")["value"])
    return 0


def _fault_clear(folder: LocalFolder, checkout: Path, options: argparse.Namespace) -> int:  # noqa: ARG001
    _control(folder, "DELETE")
    print("no faults")
    return 0


def _control(folder: LocalFolder, method: str, body: Any = None) -> dict[str, Any]:
    server = lifecycle.running(folder)
    status, answer = endpoint.ask(folder, server, method, fault.PATH, body, identities.load(folder).admin_token)
    if status != 200:
        raise CommandError(answer["error"]["message"])
    return answer


def _print_faults(faults: list[dict[str, Any]]) -> None:
    for each in faults:
        print(", ".join(f"{name} {each[name]}" for name in ("kind", *fault.KINDS[each["kind"]].takes) if each[name] != ""))
    if not faults:
        print("no faults")


def _day(text: str) -> date:
    day = dates.parse_day(text)
    if day is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not {dates.SPELLING}")
    return day


_READ: dict[str, Callable[[str], Any]] = {"int": int, "number": float, "day": _day}

if __name__ == "__main__":
    sys.exit(main())
