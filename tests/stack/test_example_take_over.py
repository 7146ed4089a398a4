"""The commands of examples/take-over/README.md, read out of it and run as they stand, in a copy of the checkout."""

from pathlib import Path

import pytest
import yaml

from tests.support import by_hand
from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.readme_commands import commands_in, copied, login, walked

FOLDER = CHECKOUT / "examples" / "take-over"
README = FOLDER / "README.md"


def test_the_stack_has_nothing_of_its_own() -> None:
    config = yaml.safe_load((FOLDER / "stack.yaml").read_text(encoding="utf-8"))["config"]
    assert {key.partition(":")[2] for key in config} == {"subscriptionId", "tenantId", "team", "location"}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_commands_run_as_they_stand_and_change_nothing_of_the_cluster(
    still_azure: ServedAzure, engine_bin: Path, tmp_path: Path
) -> None:
    azure = still_azure
    group = by_hand.group(azure, "taken")
    cluster = by_hand.cluster(azure, group, "byhand", cpu_pool=False)
    before = by_hand.stays(azure.get(cluster, by_hand.CLUSTERS).json())
    folder = copied(tmp_path / "clone", installed=True)
    commands = commands_in(README)
    outputs = dict(zip(commands, walked(commands, folder, {**login(azure, engine_bin), "CLUSTER": cluster}), strict=True))
    told = next(said for command, said in outputs.items() if " import " in command)
    assert "an update leaves 2 of 2 adopted resources as they are" in told
    assert by_hand.stays(azure.get(cluster, by_hand.CLUSTERS).json()) == before
    said = yaml.safe_load((folder / "Pulumi.taken.yaml").read_text(encoding="utf-8"))["config"]["azure-gpu:clusters"]["byhand"]
    assert (said["cluster_name"], said["on_cluster"], said["opts"]) == ("byhand", False, {"protect": True})
    assert azure.delete(group, by_hand.GROUPS).status_code in (202, 204)
