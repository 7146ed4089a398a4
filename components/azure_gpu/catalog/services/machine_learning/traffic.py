"""How an online endpoint shares its requests out: live traffic by weight, and copies of it that are mirrored to one deployment.

In: a `TrafficRequest`: the deployments that there are, the shares, and where each was written. Out: every problem.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import spelling
from azure_gpu.catalog.problems import Code, Problem, Severity, impossible
from azure_gpu.catalog.services.machine_learning.compute import KUBERNETES, PROVIDER
from azure_gpu.catalog.services.machine_learning.endpoints import QUOTAS
from azure_gpu.catalog.sources import Dated, Source

ROLLOUT = Source("Microsoft Learn, machine-learning/how-to-safely-rollout-online-endpoints", Dated.OBSERVED, date(2023, 10, 24))
WHOLE = 100  # percent
MOST_MIRRORED = 50  # percent
MOST_DEPLOYMENTS = 20  # an endpoint, more on request
DEPLOYMENT_HEADER = "azureml-model-deployment"  # chooses one in a request, whatever the shares; in an answer, who gave it


class TrafficRequest(NamedTuple):
    """The shares of an endpoint, in percent by deployment, and where they were written."""

    deployments: tuple[str, ...]
    traffic: Mapping[str, int]
    mirror: Mapping[str, int]
    kind: str  # of the endpoint: Managed or Kubernetes
    deployments_path: str
    traffic_path: str
    mirror_path: str


def problems(request: TrafficRequest) -> list[Problem]:
    """Every reason for which the service refuses these shares."""
    return [*_deployments(request), *_names(request), *_live(request), *_mirrored(request)]


def _deployments(request: TrafficRequest) -> Iterator[Problem]:
    if len(request.deployments) > MOST_DEPLOYMENTS:
        yield impossible(
            request.deployments_path,
            "an endpoint has so many deployments only where Microsoft has allowed it",
            len(request.deployments),
            f"at most {MOST_DEPLOYMENTS}, more on request",
            "remove those without traffic, or ask for a higher limit",
            QUOTAS,
        )


def _names(request: TrafficRequest) -> Iterator[Problem]:
    for path, shares in ((request.traffic_path, request.traffic), (request.mirror_path, request.mirror)):
        for name in shares:
            if name in request.deployments:
                continue
            close = spelling.nearest(name, request.deployments, 1)
            yield Problem(
                path=f"{path}.{name}",
                message="there is no such deployment; one that is removed has its share given to others first",
                value=name,
                allowed=", ".join(request.deployments) or "none, as there is no deployment",
                fix=f"did you mean {close[0]}?" if close else f"declare the deployment, or take {name} out",
                instead=close,
                source=str(ROLLOUT),
                code=Code.NOT_FOUND,
            )


def _live(request: TrafficRequest) -> Iterator[Problem]:
    out_of_range = {name: share for name, share in request.traffic.items() if not 0 <= share <= WHOLE}
    for name, share in out_of_range.items():
        path = f"{request.traffic_path}.{name}"
        yield impossible(path, "a share of traffic is a percentage", share, f"0 to {WHOLE}", "write a percentage", PROVIDER)
    total = sum(request.traffic.values())
    if not out_of_range and total not in (0, WHOLE):
        yield impossible(
            request.traffic_path,
            f"the traffic of an endpoint's deployments adds up to {total} percent",
            total,
            f"{WHOLE} percent together, or 0 where nobody is to be answered",
            f"{'take away' if total > WHOLE else 'give out'} {abs(WHOLE - total)} percent",
            PROVIDER,
        )
    if not out_of_range and request.deployments and total == 0:
        yield Problem(
            path=request.traffic_path,
            message="no deployment gets requests, so that only those are answered which name one in their header",
            value=total,
            fix=f"give out {WHOLE} percent",
            source=str(ROLLOUT),
            severity=Severity.WARNING,
        )


def _mirrored(request: TrafficRequest) -> Iterator[Problem]:
    path, mirrored = request.mirror_path, {name: share for name, share in request.mirror.items() if share != 0}
    if not mirrored:
        return
    if request.kind == KUBERNETES:
        yield impossible(path, "an endpoint on Kubernetes mirrors nothing", mirrored, "none", f"take {path} out", ROLLOUT)
    if len(mirrored) > 1:
        names = ", ".join(mirrored)
        yield impossible(path, "traffic is mirrored to one deployment", names, "one deployment", "keep one of them", ROLLOUT)
    for name, share in mirrored.items():
        if not 0 < share <= MOST_MIRRORED:
            yield impossible(
                f"{path}.{name}",
                "so much of the traffic can't be mirrored",
                share,
                f"1 to {MOST_MIRRORED} percent",
                f"write {MOST_MIRRORED} or less",
                ROLLOUT,
            )
        if request.traffic.get(name, 0) > 0:
            yield impossible(
                f"{path}.{name}",
                "a deployment gets live traffic or mirrored traffic, never both",
                name,
                "a deployment without live traffic",
                "give its live traffic to another deployment, or mirror to another",
                ROLLOUT,
            )
    if sum(request.traffic.values()) == 0:
        yield impossible(path, "there is no live traffic to mirror", mirrored, "none", "give out live traffic first", ROLLOUT)
