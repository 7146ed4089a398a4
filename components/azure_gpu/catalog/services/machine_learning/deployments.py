"""Rules for online endpoints of Azure Machine Learning and their deployments, managed or on Kubernetes.

`traffic` has the rules for traffic shares, `autoscale` those for autoscaling.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.problems import Problem, impossible
from azure_gpu.catalog.services.machine_learning.compute import KUBERNETES, LEGACY_AKS, PROVIDER
from azure_gpu.catalog.services.machine_learning.endpoints import LEAST_INSTANCES, LEAST_SOURCE, LIST, QUOTAS
from azure_gpu.catalog.sources import Dated, Source

AUTH_MODES = ("Key", "AMLToken", "AADToken")
OF_MANAGED = "AADToken"  # the one of them that Kubernetes endpoints don't take
MANAGED = "Managed"
KINDS = (MANAGED, KUBERNETES)

_KUBERNETES = Source("Azure/azureml-examples, kubernetes-endpoint.yml", Dated.OBSERVED, date(2026, 7, 31))
_SIGN_ON = Source("Microsoft Learn, machine-learning/how-to-authenticate-online-endpoint", Dated.OBSERVED, date(2026, 11, 20))

ONLINE_ENDPOINTS = Lifecycle(seen=LIST)
MOST_INSTANCES = 50
MOST_TIMEOUT_S = {MANAGED: 180, KUBERNETES: 300}  # of a request
_NAME = r"(?=.{3,32}\Z)[A-Za-z](?:-?[A-Za-z0-9])*"


class EndpointRequest(NamedTuple):
    """An online endpoint, and where each value was written."""

    name: str
    auth_mode: str
    kind: str  # of its deployments: Managed or Kubernetes
    name_path: str
    auth_path: str
    kind_path: str
    compute_path: str
    compute_kind: str = ""  # of the compute it names; empty with managed deployments


class DeploymentRequest(NamedTuple):
    """A deployment, and where each value was written. A managed one's size is checked by `machine_learning.size_problems`."""

    kind: str
    name: str
    endpoint_name: str
    name_path: str
    instances_path: str
    timeout_path: str
    instances: int = LEAST_INSTANCES
    request_timeout_s: float | None = None


def endpoint_problems(request: EndpointRequest, as_of: date) -> list[Problem]:
    """All problems of the endpoint on that day."""
    problems = lifecycle.check(ONLINE_ENDPOINTS, "an online endpoint", as_of, path=request.kind_path, value=request.kind)
    problems += _name("an endpoint", request.name, request.name_path)
    if request.auth_mode not in AUTH_MODES:
        problems.append(
            _refused(
                request.auth_path,
                "unknown authentication mode",
                request.auth_mode or None,
                ", ".join(AUTH_MODES),
                "write AADToken, which needs no secret",
            )
        )
    if request.kind == KUBERNETES and request.auth_mode == OF_MANAGED:
        problems.append(
            _refused(
                request.auth_path,
                "an endpoint on Kubernetes doesn't support Entra tokens",
                request.auth_mode,
                ", ".join(mode for mode in AUTH_MODES if mode != OF_MANAGED),
                "write AMLToken, whose tokens expire after some hours",
                _SIGN_ON,
            )
        )
    if request.kind not in KINDS:
        allowed = ", ".join(KINDS)
        problems.append(_refused(request.kind_path, "unknown kind of online endpoint", request.kind, allowed, f"write {MANAGED}"))
    problems += _compute(request)
    return problems


def deployment_problems(request: DeploymentRequest, as_of: date) -> list[Problem]:
    """All problems of the deployment on that day."""
    problems = lifecycle.check(ONLINE_ENDPOINTS, "an online deployment", as_of, path=request.name_path, value=request.kind)
    problems += _name("a deployment", request.name, request.name_path)
    both = len(request.name) + len(request.endpoint_name)
    if request.kind == KUBERNETES and not 6 <= both <= 62:
        problems.append(
            _refused(
                request.name_path,
                "invalid total length of the names of a Kubernetes endpoint and its deployment",
                both,
                "6 to 62 characters in total",
                "shorten one of them",
                QUOTAS,
            )
        )
    if request.instances > MOST_INSTANCES:
        problems.append(
            _refused(
                request.instances_path,
                f"more than {MOST_INSTANCES} instances require Microsoft's approval",
                request.instances,
                f"at most {MOST_INSTANCES}, more on request",
                "use fewer, or request a higher limit",
                QUOTAS,
            )
        )
    if request.instances < LEAST_INSTANCES:
        problems.append(
            _refused(
                request.instances_path,
                "a deployment needs at least one instance",
                request.instances,
                f"{LEAST_INSTANCES} or more",
                "write 1, and delete the deployment while it isn't used",
                LEAST_SOURCE,
            )
        )
    most = MOST_TIMEOUT_S.get(request.kind)
    if most is not None and request.request_timeout_s is not None and not 0 < request.request_timeout_s <= most:
        problems.append(
            _refused(
                request.timeout_path,
                f"the request timeout of a {request.kind} endpoint is at most {most} s",
                request.request_timeout_s,
                f"above 0, at most {most} s",
                f"write {most} s or less, or answer at once and do the work elsewhere",
                QUOTAS,
            )
        )
    return problems


def _name(what: str, name: str, path: str) -> Iterator[Problem]:
    if re.fullmatch(_NAME, name) is None:
        yield _refused(
            path,
            f"not a valid name of {what}",
            name,
            "3 to 32 letters, digits and single dashes, a letter first",
            "use only the allowed characters",
            QUOTAS,
        )


def _compute(request: EndpointRequest) -> Iterator[Problem]:
    if request.kind == KUBERNETES and request.compute_kind != KUBERNETES:
        legacy = "; the kind AKS is of version 1" if request.compute_kind == LEGACY_AKS else ""
        yield _refused(
            request.compute_path,
            f"a Kubernetes endpoint requires a compute of the kind Kubernetes{legacy}",
            request.compute_kind or None,
            KUBERNETES,
            "attach the cluster as Kubernetes compute",
            _KUBERNETES,
        )
    if request.kind == MANAGED and request.compute_kind:
        yield _refused(
            request.compute_path,
            "a managed endpoint can't have a compute",
            request.compute_kind,
            "no compute",
            f"leave the compute out, or write {KUBERNETES}",
        )


def _refused(path: str, message: str, value: object, allowed: str, fix: str, source: Source = PROVIDER) -> Problem:
    return impossible(path, message, value, allowed, fix, source)
