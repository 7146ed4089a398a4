"""The package schema as a contract: what breaks programs needs a line in the changelog, and nothing of it goes unseen."""

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from azure_gpu.host.provider import SCHEMA
from tests.components.host.contract import breaks, skeleton
from tests.support.rows import each_row

ROOT = Path(__file__).parents[3]
RELEASED = ROOT / "tests" / "data" / "released_schema.json"
TODAY: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
RECORD = skeleton(TODAY)
ENTRY = re.compile(r"^## (\d+\.\d+\.\d+) - ", re.MULTILINE)
RENEW = f"python -m tests.components.host.contract > {RELEASED.relative_to(ROOT)}"


def test_what_breaks_a_program_is_in_the_changelog_by_its_name() -> None:
    _, _, rest = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").partition("\n## ")
    newest = rest.partition("\n## ")[0]
    unsaid = [str(each) for each in breaks(json.loads(RELEASED.read_text()), TODAY) if f"`{each.where}`" not in newest]
    assert unsaid == [], "programs in other languages break: name each in the newest section of CHANGELOG.md"


def test_the_contract_is_the_one_of_the_last_release() -> None:
    """Of the first version that has one until the next one is begun."""
    versions = ENTRY.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    expected = versions[0] if versions[0] == "0.2.0" else versions[1]
    assert json.loads(RELEASED.read_text())["version"] == expected, f"check out version {expected}, and run: {RENEW}"


def inputs(schema: dict[str, Any], name: str) -> dict[str, Any]:
    return schema["resources"][f"azuregpu:index:{name}"]["inputProperties"]


def of_type(schema: dict[str, Any], name: str) -> dict[str, Any]:
    return schema["types"][f"azuregpu:index:{name}"]


BREAKING: dict[str, tuple[Callable[[dict[str, Any]], object], list[str]]] = {
    "a component gone": (
        lambda schema: schema["resources"].pop("azuregpu:index:Budget"),
        ["`Budget`: this component is gone"],
    ),
    "a key gone": (lambda schema: inputs(schema, "BatchPool").pop("size"), ["`BatchPool.size`: this key is gone"]),
    "a key of an object gone": (
        lambda schema: of_type(schema, "BatchStartTask")["properties"].pop("command"),
        ["`BatchStartTask.command`: this key is gone"],
    ),
    "plain made of an input": (
        lambda schema: inputs(schema, "BatchPool")["subnetId"].update(plain=True),
        ["`BatchPool.subnetId`: this key takes plain string and took string"],
    ),
    "plain made of an input in a map": (
        lambda schema: inputs(schema, "BatchPool")["tags"]["additionalProperties"].update(plain=True),
        ["`BatchPool.tags`: this key takes plain object of plain string and took plain object of string"],
    ),
    "a list of another type": (
        lambda schema: inputs(schema, "Foundation")["workloads"]["items"].update({"$ref": "#/types/azuregpu:index:GpuModel"}),
        ["`Foundation.workloads`: this key takes plain array of plain GpuModel and took plain array of plain Workload"],
    ),
    "a type narrowed": (
        lambda schema: inputs(schema, "Budget")["monthlyUsd"].update(type="integer"),
        ["`Budget.monthlyUsd`: this key takes plain integer and took plain number"],
    ),
    "a form gone": (
        lambda schema: inputs(schema, "BatchPool")["batchAccount"]["oneOf"].pop(),
        ["`BatchPool.batchAccount`: this key takes BatchAccount and took BatchAccount or string"],
    ),
    "a choice gone": (lambda schema: of_type(schema, "ClusterTier")["enum"].pop(), ["`ClusterTier`: the choice premium is gone"]),
    "a new key that is needed": (
        lambda schema: (
            inputs(schema, "Budget").update(owner={"type": "string"}),
            schema["resources"]["azuregpu:index:Budget"]["requiredInputs"].append("owner"),
        ),
        ["`Budget.owner`: this new key is needed"],
    ),
    "a key that is needed now": (
        lambda schema: of_type(schema, "BatchStartTask")["required"].append("retries"),
        ["`BatchStartTask.retries`: this key is needed now"],
    ),
    "a type gone": (
        lambda schema: (
            schema["types"].update({"azuregpu:index:Shutoff": schema["types"].pop("azuregpu:index:VmShutdown")}),
            inputs(schema, "GpuVm")["shutdown"]["oneOf"][1].update({"$ref": "#/types/azuregpu:index:Shutoff"}),
        ),
        [
            "`GpuVm.shutdown`: this key takes plain boolean or plain Shutoff and took plain boolean or plain VmShutdown",
            "`VmShutdown`: this type is gone",
        ],
    ),
    "an output gone": (
        lambda schema: schema["resources"]["azuregpu:index:GpuCluster"]["properties"].pop("kubeconfig"),
        ["`GpuCluster.kubeconfig`: this output is gone"],
    ),
    "an output that may be missing": (
        lambda schema: schema["resources"]["azuregpu:index:GpuCluster"]["required"].remove("clusterId"),
        ["`GpuCluster.clusterId`: this output may be missing now"],
    ),
    "an output widened": (
        lambda schema: schema["resources"]["azuregpu:index:GpuCluster"]["properties"]["clusterId"].update(
            {"oneOf": [{"type": "string"}, {"type": "number"}]}
        ),
        ["`GpuCluster.clusterId`: this output is string or number and was string"],
    ),
}


@each_row("name", BREAKING)
def test_what_breaks_is_told_by_its_name(name: str) -> None:
    change, expected = BREAKING[name]
    after = copy.deepcopy(TODAY)
    change(after)
    assert [str(each) for each in breaks(TODAY, after)] == expected
    assert [str(each) for each in breaks(RECORD, skeleton(after))] == expected, "the record holds all that can break"


HARMLESS: dict[str, Callable[[dict[str, Any]], object]] = {
    "other words": lambda schema: inputs(schema, "BatchPool")["size"].update(description="A size."),
    "a new key": lambda schema: inputs(schema, "BatchPool").update(colour={"type": "string", "plain": True}),
    "a new output": lambda schema: schema["resources"]["azuregpu:index:Budget"]["properties"].update(spent={"type": "number"}),
    "a new choice": lambda schema: of_type(schema, "ClusterTier")["enum"].append({"name": "Gold", "value": "gold"}),
    "an input made of plain": lambda schema: inputs(schema, "BatchPool")["size"].pop("plain"),
    "a number of a whole number": lambda schema: inputs(schema, "BatchPool")["taskSlots"].update(type="number"),
    "another form": lambda schema: inputs(schema, "BatchPool")["batchAccount"]["oneOf"].append({"type": "boolean"}),
    "any text for a choice": lambda schema: inputs(schema, "GpuCluster").update(tier={"type": "string", "plain": True}),
    "a key that isn't needed any more": lambda schema: of_type(schema, "BatchStartTask")["required"].clear(),
}


@each_row("name", HARMLESS)
def test_what_breaks_nobody_is_told_to_nobody(name: str) -> None:
    after = copy.deepcopy(TODAY)
    HARMLESS[name](after)
    assert breaks(TODAY, after) == []


def test_the_contract_lacks_nothing_and_adds_nothing() -> None:
    assert breaks(TODAY, RECORD) == breaks(RECORD, TODAY) == []
