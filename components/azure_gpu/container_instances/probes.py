"""Liveness and readiness probes of a container: a command or an HTTP request."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NotRequired, TypedDict

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services import container_instances_parts
from azure_gpu.shared.validation import Choice

Scheme = Annotated[
    Literal[
        "http",
        "https",  # the certificate isn't checked
    ],
    Choice("ContainerGroupScheme", "The scheme of a request."),
]


class HttpProbeArgs(TypedDict):
    """An HTTP request to the container; a status from 200 to 399 succeeds. All of it is plain."""

    port: int
    """Port that the container listens on."""
    path: NotRequired[str]
    """Path of the request. Default: /."""
    scheme: NotRequired[Scheme]
    """The scheme of the request; certificates of https aren't checked. Default: http."""


class ProbeArgs(TypedDict):
    """A probe of a container. Exactly one of `command` and `http`. All of it is plain."""

    command: NotRequired[Sequence[str]]
    """Program and arguments, run inside the container; exit code 0 succeeds."""
    http: NotRequired[HttpProbeArgs]
    """An HTTP request to the container; a status from 200 to 399 succeeds."""
    initial_delay_seconds: NotRequired[int]
    """Seconds from the container's start to the first probe. Default: Azure's."""
    period_seconds: NotRequired[int]
    """Seconds between probes. Default: Azure's."""
    failure_threshold: NotRequired[int]
    """Number of consecutive failures. Default: Azure's."""
    success_threshold: NotRequired[int]
    """Number of consecutive successes after a failure. Default: Azure's."""
    timeout_seconds: NotRequired[int]
    """Seconds after which a probe times out. Default: Azure's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpProbe:
    """Resolved `HttpProbeArgs`."""

    port: int
    path: str
    scheme: Scheme


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSpec:
    """Resolved `ProbeArgs`, with either a command or a request; None: Azure's default."""

    command: tuple[str, ...]
    http: HttpProbe | None
    initial_delay_seconds: int | None
    period_seconds: int | None
    failure_threshold: int | None
    success_threshold: int | None
    timeout_seconds: int | None


def resolve(args: ProbeArgs, path: str) -> tuple[ProbeSpec, list[Problem]]:
    """Resolves and validates a probe. Pure."""
    http = args.get("http")
    spec = ProbeSpec(
        command=tuple(args.get("command", [])),
        http=HttpProbe(port=http["port"], path=http.get("path", "/"), scheme=http.get("scheme", "http")) if http else None,
        initial_delay_seconds=args.get("initial_delay_seconds"),
        period_seconds=args.get("period_seconds"),
        failure_threshold=args.get("failure_threshold"),
        success_threshold=args.get("success_threshold"),
        timeout_seconds=args.get("timeout_seconds"),
    )
    return spec, [*_kind_problems(args, spec, path), *_number_problems(spec, path)]


def _kind_problems(args: ProbeArgs, spec: ProbeSpec, path: str) -> list[Problem]:
    problems: list[Problem] = []
    if ("command" in args) == ("http" in args):
        problems.append(
            Problem(
                path=path,
                message="set exactly one of `command` and `http`",
                value="command and http" if "http" in args else None,
                allowed="command: [program, …], or http: {port: …}",
                fix="remove one of the two" if "http" in args else "add one of the two",
            )
        )
    if "command" in args and not spec.command:
        problems.append(Problem(path=f"{path}.command", message="must not be empty", value=[], fix="write [program, …]"))
    if spec.http:
        problems += container_instances_parts.check_port(spec.http.port, f"{path}.http.port")
    if spec.http and not spec.http.path.startswith("/"):
        problems.append(
            Problem(
                path=f"{path}.http.path",
                message="must start with a slash",
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
            message="too small",
            value=number,
            allowed=f"{least} or more",
            fix=f"write {least} or more, or remove it for Azure's default",
        )
        for key, number, least in numbers
        if number is not None and number < least
    ]
