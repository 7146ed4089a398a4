"""Rules for the retiring parts of Batch that a pool uses. Their dates are in `sizes`."""

from collections.abc import Iterator
from datetime import date, timedelta

from azure_gpu.catalog.lifecycle import WARNING_DAYS
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.batch import sizes as batch, sources
from azure_gpu.catalog.services.batch.request import AllocationMode, PoolRequest
from azure_gpu.catalog.services.batch.sizes import Feature

COMMUNICATION_MODES = ("Default", "Simplified", "Classic")


def pool_problems(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    """Cloud Services, classic communication, certificates, default outbound access and low-priority nodes."""
    if request.cloud_services:
        yield from batch.feature_problems(batch.CLOUD_SERVICES, as_of, request.at("cloud_services"), True)
    if request.certificates:
        yield from batch.feature_problems(batch.POOL_CERTIFICATES, as_of, request.at("certificates"), True)
    if not request.public_addresses and not request.explicit_outbound:
        yield from batch.feature_problems(batch.DEFAULT_OUTBOUND, as_of, request.at("public_addresses"), False)
    yield from _communication(request, as_of)
    if request.spot_nodes and request.allocation_mode is AllocationMode.BATCH_SERVICE:
        yield from _low_priority(batch.LOW_PRIORITY, request, as_of)


def _communication(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    mode = request.communication
    if not mode:
        return
    if mode not in COMMUNICATION_MODES:
        yield Problem(
            path=request.at("communication"),
            message="unknown mode of communication between Batch and its nodes",
            value=mode,
            allowed=", ".join(COMMUNICATION_MODES),
            fix="write Simplified",
            source=str(sources.PROVIDER),
            code=Code.IMPOSSIBLE,
        )
    elif mode == "Classic":
        yield from batch.feature_problems(batch.CLASSIC_COMMUNICATION, as_of, request.at("communication"), mode)


def _low_priority(feature: Feature, request: PoolRequest, as_of: date) -> Iterator[Problem]:
    """A warning near their end; not an error, because Batch converts them to Spot nodes."""
    end = feature.lifecycle.end
    if end is None or not end.day - timedelta(days=WARNING_DAYS) <= as_of < batch.CONVERTED.day:
        return
    retired = as_of > end.day
    yield Problem(
        path=request.at("spot_nodes"),
        message=f"low-priority nodes of Batch {'retired' if retired else 'retire'} on {end.day.isoformat()}; "
        f"Batch converts them to Spot nodes from {batch.CONVERTED.day.isoformat()} on",
        value=request.spot_nodes,
        fix="use dedicated nodes until then, or an account in UserSubscription mode, which already has Spot nodes",
        source=f"{end}; {batch.CONVERTED}",
        code=Code.RETIRED if retired else Code.RETIRING,
        severity=Severity.WARNING,
    )
