"""Checks whether the regional quotas of Azure ML allow the nodes that a job needs at once; otherwise it would wait forever. Pure.

Quota in use by others isn't subtracted, because they may release it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from azure_gpu.catalog import quotas
from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.quotas import Limit
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu_operations.machine_learning import usages
from azure_gpu_operations.run.workers import Group


def check(compute: Mapping[str, Any], group: Group, listed: Iterable[Mapping[str, Any]]) -> list[Problem]:
    settings = (compute.get("properties") or {}).get("properties") or {}
    region, spot = str(compute.get("location") or ""), settings.get("vmPriority") not in (None, "Dedicated")
    rows = [(str(each["type"]), Limit(str(each["name"]["value"]), int(each["limit"]))) for each in listed]
    if not rows:
        return []
    use = SizeUse(Service.ML_COMPUTE, str(settings.get("vmSize") or ""), region, "--nodes", "--compute", group.nodes, spot=spot)
    return errors(quotas.machine_learning_problems([use], [usages.limits_of(region, rows)]))
