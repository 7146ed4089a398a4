"""What services do by themselves some time after a change: upgrades of clusters and of their nodes' images, the least number
of instances that an autoscale setting requests, and the alert rule of a new component of Application Insights.

What was to come when a server ends isn't done by the next one. Channels: MicrosoftDocs/azure-aks-docs,
articles/aks/auto-upgrade-cluster.md and auto-upgrade-node-os-image.md.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import date, timedelta
from typing import Any

from azure_gpu.formats import azure_types
from localazure import shapes
from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError
from localazure.arm.store import Resource
from localazure.kinds.stored import type_of
from localazure.services import Services

_ACTION_GROUP = type_of("microsoft.insights/actionGroups")
_ALERT_RULE = type_of("microsoft.alertsManagement/smartDetectorAlertRules")
_UPGRADING = ("patch", "stable", "rapid")  # of `upgradeChannel`
_NEWER_BY = timedelta(days=7)  # node images come weekly
_TRIES = 10
log = logging.getLogger(__name__)


def after_cluster(cluster: str, as_of: date, image: Callable[[Resource, date], str], services: Services) -> None:
    """A cluster was changed. `image`: the node image of a pool on a day."""

    async def act() -> None:
        found = services.store.get(cluster)
        if found is not None and services.store.operation_in_progress(cluster) is None:
            _upgrade(found, as_of, image, services)

    _later(act, services)


def after_autoscale(setting: str, services: Services) -> None:
    """An autoscale setting was changed: its target gets at least the instances that it requests, and not more than it allows."""

    async def act() -> None:
        for _ in range(_TRIES):
            try:
                return await _scale(setting, services)
            except ArmError as error:
                log.info("autoscale %s: %s", setting, error)
                await services.clock.sleep(services.weather.seconds("own-acts"))
        return None

    _later(act, services)


def after_component(component: str, services: Services) -> None:
    """A component of Application Insights was made: it gets a rule of its own, and its group the action group of all of them."""

    async def act() -> None:
        found = services.store.get(component)
        if found is not None:
            await _alert(found, services)

    _later(act, services)


def _later(act: Callable[[], Awaitable[None]], services: Services) -> None:
    if not services.weather.holds("own-acts"):
        return

    async def wait() -> None:
        await services.clock.sleep(services.weather.seconds("own-acts"))
        await act()

    task = asyncio.create_task(wait())
    services.weather.tasks.add(task)
    task.add_done_callback(services.weather.tasks.discard)


def _upgrade(cluster: Resource, as_of: date, image: Callable[[Resource, date], str], services: Services) -> None:
    profile = cluster.properties.get("autoUpgradeProfile") or {}
    version = ""
    if profile.get("upgradeChannel") in _UPGRADING and cluster.private.get("version"):
        version = cluster.private["version"] = _next_patch(str(cluster.private["version"]))
        if str(cluster.properties.get("kubernetesVersion") or "").count(".") == 2:
            cluster.body["properties"]["kubernetesVersion"] = version
        cluster.changed_at = services.clock.stamp()
        services.store.put(cluster)
    for pool in services.store.of_type(azure_types.AGENT_POOL.arm_type, cluster.key):
        if services.store.operation_in_progress(pool.key) is not None:
            continue
        if version:
            pool.private["version"] = version
            if str(pool.properties.get("orchestratorVersion") or "").count(".") == 2:
                pool.body["properties"]["orchestratorVersion"] = version
        if profile.get("nodeOSUpgradeChannel", "NodeImage") == "NodeImage":
            pool.private["nodeImage"] = image(pool, as_of + _NEWER_BY)
        services.store.put(pool)


def _next_patch(version: str) -> str:
    major, minor, patch = version.split(".")
    return f"{major}.{minor}.{int(patch) + 1}"


async def _alert(component: Resource, services: Services) -> None:
    """Names: hashicorp/terraform-provider-azurerm pull requests 18357 and 22163. The rest of the bodies: CompositionalIT/farmer
    issue 637, and assumed."""
    group = component.id.text.split("/providers/")[0]
    actions = f"{group}/providers/{_ACTION_GROUP.arm_type}/Application Insights Smart Detection"
    rule = f"{group}/providers/{_ALERT_RULE.arm_type}/Failure Anomalies - {component.id.name}"
    detected = {
        "description": "Tells of an unusual rise in the rate of failed requests.",
        "state": "Enabled",
        "severity": "Sev3",
        "frequency": "PT1M",
        "detector": {"id": "FailureAnomaliesDetector"},
        "scope": [component.id.text],
        "actionGroups": {"groupIds": [actions]},
    }
    kept: dict[str, Any] = {"groupShortName": "SmartDetect", "enabled": True}
    for each, azure_type, properties in ((actions, _ACTION_GROUP, kept), (rule, _ALERT_RULE, detected)):
        body = {"location": "global", "properties": properties}
        await services.arm.put(each, shapes.default_api_version(azure_type), body, Caller("", ""))


async def _scale(setting: str, services: Services) -> None:
    found = services.store.get(setting)
    target = services.store.get(str(found.properties.get("targetResourceUri") or "")) if found is not None else None
    if found is None or target is None or not found.properties.get("enabled"):
        return
    capacity = found.properties["profiles"][0]["capacity"]
    has = int(target.body["sku"]["capacity"])
    shall = max(int(capacity["minimum"]), min(has, int(capacity["maximum"])))
    if shall == has:
        return
    body = {**target.body, "sku": {**target.body["sku"], "capacity": shall}}
    version = shapes.default_api_version(azure_types.ML_ONLINE_DEPLOYMENT)
    await services.arm.put(target.id.text, version, body, Caller("", ""))
