"""How the service finds out whether a container is alive, and whether it is ready: by a command inside it or by a request.

In: `ProbeArgs`. Out: a `ProbeSpec`, and problems.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NotRequired, TypedDict

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services import container_instances_parts


class Scheme(StrEnum):
    """How a request is made."""

    HTTP = "http"
    HTTPS = "https"  # the certificate isn't checked


SchemeName = Scheme | Literal["http", "https"]


class HttpProbeArgs(TypedDict):
    """A request to the container; an answer from 200 to 399 is good. All of it is plain."""

    port: int
    """Port that the container listens on."""
    path: NotRequired[str]
    """Path of the request. Default: /."""
    scheme: NotRequired[SchemeName]
    """How the request is made; the certificate of https isn't checked. Default: http."""


class ProbeArgs(TypedDict):
    """One check of a container. Exactly one of `command` and `http`. All of it is plain."""

    command: NotRequired[Sequence[str]]
    """Program and arguments, run inside the container; 0 is good."""
    http: NotRequired[HttpProbeArgs]
    """A request to the container; an answer from 200 to 399 is good."""
    initial_delay_seconds: NotRequired[int]
    """How long after the container's start the first check is. Default: Azure's."""
    period_seconds: NotRequired[int]
    """How long after one check the next is. Default: Azure's."""
    failure_threshold: NotRequired[int]
    """How many checks in a row have to fail. Default: Azure's."""
    success_threshold: NotRequired[int]
    """How many checks in a row have to succeed after a failure. Default: Azure's."""
    timeout_seconds: NotRequired[int]
    """After how long a check without an answer has failed. Default: Azure's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpProbe:
    """Resolved `HttpProbeArgs`."""

    port: int
    path: str
    scheme: Scheme


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSpec:
    """Resolved `ProbeArgs`. Of command and request one is there; a number that is None is left to Azure."""

    command: tuple[str, ...]
    http: HttpProbe | None
    initial_delay_seconds: int | None
    period_seconds: int | None
    failure_threshold: int | None
    success_threshold: int | None
    timeout_seconds: int | None


def resolve(args: ProbeArgs, path: str) -> tuple[ProbeSpec, list[Problem]]:
    """The check that is declared, and what is wrong with it. Pure."""
    http = args.get("http")
    spec = ProbeSpec(
        command=tuple(args.get("command", [])),
        http=HttpProbe(port=http["port"], path=http.get("path", "/"), scheme=Scheme(http.get("scheme", Scheme.HTTP)))
        if http
        else None,
        initial_delay_seconds=args.get("initial_delay_seconds"),
        period_seconds=args.get("period_seconds"),
        failure_threshold=args.get("failure_threshold"),
        success_threshold=args.get("success_threshold"),
        timeout_seconds=args.get("timeout_seconds"),
    )
    return spec, [*_way_problems(args, spec, path), *_number_problems(spec, path)]


def _way_problems(args: ProbeArgs, spec: ProbeSpec, path: str) -> list[Problem]:
    problems: list[Problem] = []
    if ("command" in args) == ("http" in args):
        problems.append(
            Problem(
                path=path,
                message="exactly one of command and http has to be said",
                value="command and http" if "http" in args else None,
                allowed="command: [program, …], or http: {port: …}",
                fix="remove one of the two" if "http" in args else "add one of the two",
            )
        )
    if "command" in args and not spec.command:
        problems.append(Problem(path=f"{path}.command", message="this runs nothing", value=[], fix="write [program, …]"))
    if spec.http:
        problems += container_instances_parts.check_port(spec.http.port, f"{path}.http.port")
    if spec.http and not spec.http.path.startswith("/"):
        problems.append(
            Problem(
                path=f"{path}.http.path",
                message="the path of a request starts with a slash",
                value=spec.http.path,
                allowed="a path, such as /healthy",
                fix=f"write /{spec.http.path}",
            )
        )
    return problems


def _number_problems(spec: ProbeSpec, path: str) -> list[Problem]:
    numbers = (
        ("initial_delay_seconds", spec.initial_delay_seconds, 0),
        ("period_seconds", spec.period_seconds, 1),
        ("failure_threshold", spec.failure_threshold, 1),
        ("success_threshold", spec.success_threshold, 1),
        ("timeout_seconds", spec.timeout_seconds, 1),
    )
    return [
        Problem(
            path=f"{path}.{key}",
            message="this number is too small",
            value=number,
            allowed=f"{least} or more",
            fix=f"write {least} or more, or leave it to Azure",
        )
        for key, number, least in numbers
        if number is not None and number < least
    ]
