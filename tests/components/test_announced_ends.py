"""Every end that the catalog has a day of, in every service that has it: it is told where what uses it lasts longer, however far
away the end is, and isn't told for that where it doesn't.

Each is a stack file at a day on which the thing could be had, 200 days before its end where there is so much.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any, NamedTuple

import pytest

from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.lifecycle import WARNING_DAYS, Lifecycle, through
from azure_gpu.catalog.problems import Code, End, Problem, Severity
from azure_gpu.catalog.services import container_instances
from azure_gpu.catalog.services.aks import kubernetes_versions, systems
from azure_gpu.catalog.services.batch import images
from azure_gpu.catalog.services.vm_images import IMAGES
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.stack.settings import read
from tests.components.recording import PROJECT, STACK
from tests.components.settings_of import configuration, encrypted, pure_problems

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIf5brqnNQHGzLjkqraUF8izv5/PuTQziv4YaiROCxUB"
T4 = "Standard_NC4as_T4_v3"
FOUNDATION = {"identity": "create", "storage": "create", "log_workspace": "create"}
FAR = timedelta(days=WARNING_DAYS + 20)
LAST = "and what uses it lasts until"


class Dated(NamedTuple):
    """Something with an end, and a stack file that uses it until a day."""

    service: str
    name: str
    path: str
    seen: date
    end: date
    says: dict[str, Any]  # `UNTIL` stands for the last day


UNTIL = "until"


def _with_end(service: str, name: str, path: str, lifecycle: Lifecycle, says: dict[str, Any]) -> Iterator[Dated]:
    if lifecycle.end is not None:
        yield Dated(service, name, path, lifecycle.seen.day, lifecycle.end.day, says)


def _sizes() -> Iterator[Dated]:
    for size in SIZES:
        for service, (path, says) in _of_size(size).items():
            yield from _with_end(service, size.name, path, size.lifecycle, says)


def _of_size(size: Size) -> dict[str, tuple[str, dict[str, Any]]]:
    name = size.name
    pool = {"size": name, "dedicated_nodes": 1, "expires_after": UNTIL}
    endpoint = {"deployments": {"blue": {"instance_type": name}}, "expires_after": UNTIL}
    found: dict[str, tuple[str, dict[str, Any]]] = {
        "batch": ("pools.p.size", {"batch_account": "create", "pools": {"p": pool}}),
        "aks": (
            "clusters.c.gpu_pools.p.size",
            {"clusters": {"c": {"gpu_pools": {"p": {"size": name}}, "expires_after": UNTIL}}},
        ),
        "ml-compute": (
            "ml_workspace.computes.c.size",
            {"ml_workspace": {"computes": {"c": {"size": name, "expires_after": UNTIL}}}},
        ),
        "ml-endpoint": (
            "ml_endpoints.e.deployments.blue.instance_type",
            {"ml_workspace": "create", "ml_endpoints": {"e": endpoint}},
        ),
    }
    if size.gpu is not None:
        found["vm"] = ("vms.m.size", {"vms": {"m": machine(name)}})
    return found


def machine(size: str, **more: Any) -> dict[str, Any]:
    return {"size": size, "admin": {"ssh_public_key": KEY}, "expires_after": UNTIL, **more}


def _images() -> Iterator[Dated]:
    for image in IMAGES:
        name = ":".join((image.reference.publisher, image.reference.offer, image.reference.sku))
        pool = {"size": T4, "image": name, "dedicated_nodes": 1, "expires_after": UNTIL}
        in_batch = {"batch_account": "create", "pools": {"p": pool}}
        if image.reference.sku:
            if not image.batch_only:
                yield from _with_end("vm", name, "vms.m.image", image.lifecycle, {"vms": {"m": machine(T4, image=name)}})
            yield from _with_end("batch", name, "pools.p.image", image.lifecycle, in_batch)
            agent = images.agent_for(image.distribution)
            if agent is not None and agent.lifecycle.end is not None:
                seen = max(agent.lifecycle.seen.day, image.lifecycle.seen.day)
                if image.lifecycle.end is None or image.lifecycle.end.day >= agent.lifecycle.end.day > seen:
                    end = agent.lifecycle.end.day
                    yield Dated("batch", f"{agent.sku} of {name}", "pools.p.node_agent", seen, end, in_batch)


def _rest() -> Iterator[Dated]:
    classic = {"size": T4, "communication": "Classic", "dedicated_nodes": 1, "expires_after": UNTIL}
    yield from _with_end(
        "batch",
        "classic communication",
        "pools.p.communication",
        lifecycle.PARTS["batch.classic_communication"].lifecycle,
        {"batch_account": "create", "pools": {"p": classic}},
    )
    region = "westindia"
    service = lifecycle.PARTS["batch.service"].lifecycle
    end = service.end_in(region)
    assert end is not None
    pool = {"size": "Standard_NC6", "dedicated_nodes": 1, "expires_after": UNTIL}
    in_region = {"location": region, "batch_account": "create", "pools": {"p": pool}}
    yield Dated("batch", f"Batch in {region}", "location", service.seen.day, end.day, in_region)
    for version in kubernetes_versions.VERSIONS:
        if version.planned is None:
            cluster = {"gpu_pools": {"p": {"size": T4}}, "kubernetes_version": version.name, "expires_after": UNTIL}
            says = {"clusters": {"c": cluster}}
            yield Dated("aks", version.name, "clusters.c.kubernetes_version", version.general.day, version.end.day, says)
            if version.lts_end is not None:
                lasting = {"clusters": {"c": {**cluster, "long_term_support": True, "tier": "premium"}}}
                path = "clusters.c.kubernetes_version"
                yield Dated("aks", f"LTS of {version.name}", path, version.general.day, version.lts_end.day, lasting)
    for sku in systems.OS_SKUS.values():
        if sku.operating_system == "Linux":
            cluster = {"gpu_pools": {"p": {"size": T4, "os_sku": sku.name}}, "expires_after": UNTIL}
            yield from _with_end("aks", sku.name, "clusters.c.gpu_pools.p.os_sku", sku.lifecycle, {"clusters": {"c": cluster}})
    for name, gpu in container_instances.GPU_SKUS.items():
        group = {"image": "nginx", "gpu": {"count": 1, "sku": name}, "expires_after": UNTIL}
        says = {"location": "eastus", "container_groups": {"g": group}}
        yield from _with_end("container group", name, "container_groups.g.gpu.sku", gpu.lifecycle, says)


EVERY = [*_sizes(), *_images(), *_rest()]


def told(thing: Dated, as_of: date, until: date) -> list[Problem]:
    """What is said of the thing's end at its place."""
    says = {"location": "eastus", "foundation": FOUNDATION, "as_of": as_of.isoformat(), **_filled(thing.says, until)}
    settings = read(configuration(says), as_of.isoformat(), encrypted(says))
    problems = pure_problems(settings, PROJECT, STACK)
    return [each for each in problems if each.end is not None and each.end.day == thing.end and each.path == thing.path]


def _filled(says: Any, until: date) -> Any:
    if isinstance(says, dict):
        return {key: _filled(value, until) for key, value in says.items()}
    return until.isoformat() if says == UNTIL else says


def test_ends_of_every_service_are_among_them() -> None:
    assert {thing.service for thing in EVERY} == {"vm", "batch", "aks", "ml-compute", "ml-endpoint", "container group"}
    assert len(EVERY) > 200


@pytest.mark.parametrize("service", sorted({thing.service for thing in EVERY}))
def test_an_end_is_told_where_what_uses_it_lasts_longer(service: str) -> None:
    for thing in EVERY:
        as_of = max(thing.end - FAR, thing.seen)
        if thing.service != service or as_of >= thing.end:
            continue
        beyond = told(thing, as_of, thing.end + timedelta(days=1))
        assert [(each.code, each.severity) for each in beyond] == [(Code.RETIRING, Severity.WARNING)], thing.name
        assert thing.end.isoformat() in beyond[0].message
        assert not any(LAST in each.message for each in told(thing, as_of, thing.end)), thing.name


@pytest.mark.parametrize("service", sorted({thing.service for thing in EVERY} - {"vm"}))
def test_a_far_end_is_not_told_where_what_uses_it_ends_with_it(service: str) -> None:
    """Of a plain virtual machine an announced end is told at once: a new subscription doesn't get the size any more."""
    for thing in EVERY:
        as_of = thing.end - FAR
        if thing.service == service and as_of >= thing.seen:
            assert told(thing, as_of, thing.end) == [], thing.name


# What has no stack file's key, or no end today, is judged by the same rule.
def ending(day: date) -> list[Problem]:
    end = date(2027, 9, 30)
    if day <= end:
        return [Problem("size", "it is a preview", code=Code.UNKNOWN, severity=Severity.WARNING)]
    return [
        Problem("size", "it retired", code=Code.RETIRED, source="s", fix="choose another", end=End("it", end)),
        Problem("other", "refused since", code=Code.NOT_OFFERED),
    ]


def test_what_ends_before_the_last_day_becomes_a_warning_and_nothing_else_of_that_day_does() -> None:
    [preview, retiring] = through(ending, date(2026, 11, 20), date(2027, 10, 1))
    assert preview.message == "it is a preview"
    assert retiring.message == "it retires on 2027-09-30, 314 days from 2026-11-20, and what uses it lasts until 2027-10-01"
    assert (retiring.code, retiring.severity, retiring.fix) == (Code.RETIRING, Severity.WARNING, "choose another")


@pytest.mark.parametrize("last", [None, date(2020, 1, 1), date(2026, 11, 20), date(2027, 9, 30)])
def test_what_lasts_no_longer_is_judged_by_its_day_alone(last: date | None) -> None:
    assert through(ending, date(2026, 11, 20), last) == ending(date(2026, 11, 20))


def test_an_end_that_was_before_the_day_stays_an_error() -> None:
    assert through(ending, date(2027, 10, 1), date(2028, 1, 1)) == ending(date(2027, 10, 1))
