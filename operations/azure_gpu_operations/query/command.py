"""`python -m operations query`: send images or arrays to an endpoint, and show its answers and their latency.

    query ENDPOINT cat.jpg dog.png --stack S           an endpoint of the stack, by its name in the stack file
    query ENDPOINT cat.jpg --deployment green --stack S  one deployment, independent of the traffic split
    query ENDPOINT cat.jpg --count 1000 --clients 8 --stack S    many requests: percentiles of latency
    query --url https://…/score batch.json --key-from SCORING_KEY   any URL, with the key in an environment variable

Images are sent as they are, .json and .npy files as arrays. Requests are authorized by the endpoint's method: its key, which is
fetched and never shown, or an Entra token. Requests aren't retried. Server time is what the scoring server reports, network time
is the rest.

Exit codes: 0 every request was answered, 1 one wasn't, 2 wrong command line.
"""

import argparse
import contextlib
import json
import logging
import os
import re
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from azure_gpu_operations import stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.console import console
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import view

MOST_REQUESTS = 1_000_000
MOST_CLIENTS = 256
SECONDS = 200.0  # longer than any endpoint lets a request take
_KEY = re.compile(r"[!-~]+")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    parser.add_argument(
        "words", nargs="+", metavar="ENDPOINT FILE", help="the endpoint's name, then files; with --url only files"
    )
    parser.add_argument("--stack", help="the stack that has the endpoint")
    stack_options.add_config_folder(parser)
    parser.add_argument("--url", default="", help="a URL instead of an endpoint of the stack")
    parser.add_argument("--key-from", metavar="VARIABLE", default="", help="environment variable that contains the key for --url")
    parser.add_argument("--plain-http", action="store_true", help="send the key even without encryption")
    parser.add_argument("--deployment", default="", help="the deployment to query (default: by the endpoint's traffic split)")
    parser.add_argument("--count", type=int, default=1, help="requests per file (default: 1)")
    parser.add_argument("--clients", type=int, default=1, help="concurrent requests (default: 1)")
    parser.add_argument(
        "--timeout", type=float, default=SECONDS, metavar="SECONDS", help=f"timeout of a request (default: {SECONDS:g})"
    )
    parser.add_argument("--labels", type=Path, metavar="FILE", help="names of the classes: one per line, or a JSON list")
    parser.add_argument("--top", type=int, default=3, help="number of scores to show per image (default: 3)")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def run(options: argparse.Namespace) -> int:
    from azure_gpu_operations.query import inputs  # here, and further below, because they load slowly

    name, files = ("", options.words) if options.url else (options.words[0], options.words[1:])
    wrong = _wrong_options(options, name, files)
    if wrong:
        return refuse(wrong)
    try:
        labels = _labels(options.labels)
        bodies = inputs.read(map(Path, files))
    except ValueError as error:
        return refuse(error)
    if options.url:
        return _send(options, "", _url_target(options), bodies, labels)
    return _to_endpoint(options, name, bodies, labels)


def _to_endpoint(options: argparse.Namespace, name: str, bodies: Any, labels: list[str]) -> int:
    try:
        found = view(stack_options.stack_of(options))
    except EngineError as error:
        return refuse(error)
    endpoint_id = found.endpoints.get(name)
    if not endpoint_id:
        from azure_gpu_operations import planned  # here, because the library takes seconds to load

        known = ", ".join(sorted(found.endpoints)) or "none"
        off = planned.switched_off(stack_options.file_of(options), name)
        return refuse(off or f"stack {options.stack} has no endpoint {name!r}; its endpoints: {known}")

    from azure_gpu_operations.azure import Arm
    from azure_gpu_operations.machine_learning import endpoints
    from azure_gpu_operations.query.sending import ScoringTarget, signature_of_endpoint

    logging.getLogger("azure.identity").setLevel(logging.ERROR)
    with closing(Arm(found.connection)) as arm:
        endpoint = endpoints.get(arm, endpoint_id)
        if endpoint is None:
            return _failed(f"the endpoint {name} is in the stack's state but not in Azure; run `pulumi refresh`")
        uri = endpoint.scoring_uri or found.scoring_uris.get(name, "")
        if not uri:
            return _failed(f"the endpoint {name} has no address yet: it is {endpoint.state or 'not ready'}")
        if options.deployment and options.deployment not in (
            known := [each.name for each in endpoints.deployments(arm, endpoint_id)]
        ):
            return refuse(f"{name} has no deployment {options.deployment!r}; it has {', '.join(known) or 'none'}")
        signature = signature_of_endpoint(arm, endpoint)
        return _send(options, name, ScoringTarget(uri, signature, options.deployment), bodies, labels)


def _url_target(options: argparse.Namespace) -> Any:
    from azure_gpu_operations.query.sending import ScoringTarget, signature_of_key

    if not options.key_from:
        return ScoringTarget(options.url, None, options.deployment)
    key = os.environ[options.key_from]
    return ScoringTarget(options.url, signature_of_key(key, f"the key in {options.key_from}"), options.deployment)


def _send(options: argparse.Namespace, name: str, target: Any, bodies: Any, labels: list[str]) -> int:
    from azure_gpu_operations.query import showing
    from azure_gpu_operations.query.sending import send

    stop, sent, began = threading.Event(), [], time.perf_counter()
    stopped = False
    try:
        with contextlib.closing(send(target, bodies, options.count, options.clients, options.timeout, stop)) as answers:
            for one in answers:
                sent.append(one)
    except KeyboardInterrupt:  # what came until then is shown
        stopped = True
    report = showing.Report(
        name,
        target.uri,
        target.signature.what if target.signature else "",
        options.stack or "",
        bodies,
        sent,
        time.perf_counter() - began,
        options.clients,
        labels,
        options.top,
    )
    if options.json:
        print(json.dumps(showing.as_json(report), indent=2))
    else:
        showing.show(report, console())
    if stopped:
        print(f"interrupted after {len(sent)} of {options.count * len(bodies)} requests", file=sys.stderr)
    return 0 if len(sent) == options.count * len(bodies) and all(one.is_good for one in sent) else 1


def _wrong_options(options: argparse.Namespace, name: str, files: list[str]) -> str:
    """What is wrong with the command line; "" where nothing is."""
    if not files:
        return f"no file is given: query {name} FILE…" if name else "no file is given"
    if not options.url and not options.stack:
        return f"--stack is required for the endpoint {name!r}; use --url for a URL"
    if options.key_from and not options.url:
        return "--key-from requires --url; the key of a stack's endpoint is fetched automatically"
    for option, least, most in (("count", 1, MOST_REQUESTS), ("clients", 1, MOST_CLIENTS), ("top", 1, 1000)):
        if not least <= getattr(options, option) <= most:
            return f"--{option}: {getattr(options, option)} is out of range; allowed: {least} to {most}"
    if options.count * len(files) > MOST_REQUESTS:
        return f"--count: {options.count} times {len(files)} files are more than {MOST_REQUESTS} requests"
    if not 0 < options.timeout <= 3600:
        return f"--timeout: {options.timeout:g} is out of range; allowed: seconds above 0, at most 3600"
    return _wrong_url(options) if options.url else ""


def _wrong_url(options: argparse.Namespace) -> str:
    try:
        parts = urlsplit(options.url)
    except ValueError:  # brackets that aren't those of an address
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return f"--url: {options.url!r} is not a URL such as https://HOST/score"
    if parts.username or parts.password:
        return "--url: must not contain a user or a password; give the key with --key-from"
    if options.key_from and options.key_from not in os.environ:
        return f"--key-from: {options.key_from} is not set"
    if options.key_from and not _KEY.fullmatch(os.environ[options.key_from]):
        return f"--key-from: {options.key_from} contains no valid key: it is empty, or has spaces or line breaks"
    if options.key_from and parts.scheme == "http" and parts.hostname not in _LOOPBACK and not options.plain_http:
        return f"--url: the key would be sent to {parts.hostname} without encryption; use https, or add --plain-http to allow it"
    return ""


def _labels(file: Path | None) -> list[str]:
    """Of a list in JSON, else one a line."""
    if file is None:
        return []
    text = file.read_text(encoding="utf-8")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return [line.strip() for line in text.splitlines() if line.strip()]
    if not isinstance(found, list):
        raise ValueError(f"{file}: expected a JSON list of class names, in the order of the scores")
    return [str(each) for each in found]


def _failed(text: str) -> int:
    print(f"error: {text}", file=sys.stderr)
    return 1
