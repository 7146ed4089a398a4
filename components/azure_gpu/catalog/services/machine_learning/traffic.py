"""Rules for the traffic of an online endpoint: live traffic by percentage, and mirrored traffic to one deployment."""

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
DEPLOYMENT_HEADER = (
    "azureml-model-deployment"  # of a request: chooses a deployment, independent of the shares; of an answer: the deployment
)


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
    """All problems of these shares."""
    return [*_deployments(request), *_names(request), *_live(request), *_mirrored(request)]


def _deployments(request: TrafficRequest) -> Iterator[Problem]:
    if len(request.deployments) > MOST_DEPLOYMENTS:
        yield impossible(
            request.deployments_path,
            f"more than {MOST_DEPLOYMENTS} deployments require Microsoft's approval",
            len(request.deployments),
            f"at most {MOST_DEPLOYMENTS}, more on request",
            "remove those without traffic, or request a higher limit",
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
                message="unknown deployment; before you remove one, give its share to others",
                value=name,
                allowed=", ".join(request.deployments) or "none: the endpoint has no deployments",
                fix=f"did you mean {close[0]}?" if close else f"declare the deployment, or remove {name}",
                instead=close,
                source=str(ROLLOUT),
                code=Code.NOT_FOUND,
            )


def _live(request: TrafficRequest) -> Iterator[Problem]:
    out_of_range = {name: share for name, share in request.traffic.items() if not 0 <= share <= WHOLE}
    for name, share in out_of_range.items():
        path = f"{request.traffic_path}.{name}"
        yield impossible(path, "not a valid percentage of traffic", share, f"0 to {WHOLE}", "write a percentage", PROVIDER)
    total = sum(request.traffic.values())
    if not out_of_range and total not in (0, WHOLE):
        yield impossible(
            request.traffic_path,
            f"the shares of traffic add up to {total} percent",
            total,
            f"{WHOLE} percent in total, or 0 for no live traffic",
            f"{'take away' if total > WHOLE else 'give out'} {abs(WHOLE - total)} percent",
            PROVIDER,
        )
    if not out_of_range and request.deployments and total == 0:
        yield Problem(
            path=request.traffic_path,
            message="no deployment gets live traffic; only requests whose header names one are answered",
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
        yield impossible(path, "an endpoint on Kubernetes can't mirror traffic", mirrored, "none", f"remove {path}", ROLLOUT)
    if len(mirrored) > 1:
        names = ", ".join(mirrored)
        yield impossible(
            path, "traffic can be mirrored to one deployment only", names, "one deployment", "keep one of them", ROLLOUT
        )
    for name, share in mirrored.items():
        if not 0 < share <= MOST_MIRRORED:
            yield impossible(
                f"{path}.{name}",
                "not a valid percentage of mirrored traffic",
                share,
                f"1 to {MOST_MIRRORED} percent",
                f"write {MOST_MIRRORED} or less",
                ROLLOUT,
            )
        if request.traffic.get(name, 0) > 0:
            yield impossible(
                f"{path}.{name}",
                "a deployment can't get both live and mirrored traffic",
                name,
                "a deployment without live traffic",
                "give its live traffic to another deployment, or mirror to another",
                ROLLOUT,
            )
    if sum(request.traffic.values()) == 0:
        yield impossible(path, "no live traffic to mirror", mirrored, "none", "give out live traffic first", ROLLOUT)
