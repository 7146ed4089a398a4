"""Pools and nodes as azure-batch answers them, for tests of what is made of them."""

from typing import Any

from azure.batch import models

FORMULA = "$TargetDedicatedNodes = 1;"


def pool(**said: Any) -> models.BatchPool:
    """In the names of Batch's API."""
    return models.BatchPool(
        {
            "id": "train-1a2b3c4d",
            "state": "active",
            "allocationState": "steady",
            "vmSize": "standard_nc4as_t4_v3",
            "currentDedicatedNodes": 0,
            "currentLowPriorityNodes": 0,
            "targetDedicatedNodes": 0,
            "targetLowPriorityNodes": 0,
            "taskSlotsPerNode": 1,
            "enableInterNodeCommunication": False,
            **said,
        }
    )


def scaled(**said: Any) -> models.BatchPool:
    return pool(**{"enableAutoScale": True, "autoScaleFormula": FORMULA, **said})


def node(state: str = "idle", name: str = "tvmps_1_d", **said: Any) -> models.BatchNode:
    return models.BatchNode({"id": name, "state": state, "isDedicated": True, **said})
