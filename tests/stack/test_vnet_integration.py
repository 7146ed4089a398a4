"""A private cluster gets API server VNet Integration in place, with a warning to start it again; to take it away replaces it."""

from pathlib import Path

import pytest
import yaml

from tests.components.recorded_bodies import CASES
from tests.support import happy_cases
from tests.support.embedded import ServedAzure

pytestmark = pytest.mark.slow
CASE = "foundation.happy.vnet_integration"
CLUSTER = "azure-native:containerservice:ManagedCluster"


def test_what_exists_gets_it_in_place_and_loses_it_only_with_the_cluster(
    azure: ServedAzure, engine_bin: Path, tmp_path: Path
) -> None:
    integrated = happy_cases.on(azure, yaml.safe_load((CASES / f"{CASE}.yaml").read_text())["says"])
    with happy_cases.up(CASE, azure, engine_bin, tmp_path) as stack:
        happy_cases.stays(stack)
        stack.configure({**integrated, "foundation": {**integrated["foundation"], "network": "private"}})
        assert [each.operation for each in stack.steps() if each.type == CLUSTER] == ["replace"]
        stack.update()
        stack.configure(integrated)
        assert [each.operation for each in stack.steps() if each.type == CLUSTER] == ["update"]
        assert "gets API server VNet Integration" in stack.update()
        happy_cases.stays(stack)
