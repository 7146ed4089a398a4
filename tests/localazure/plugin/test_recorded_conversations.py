"""The provider against what Pulumi's own answered its engine: `recorded.yaml` has both sides of eleven conversations.

Check has to fill in the same. Create has to answer the same outputs, which judges the embedded Azure too. What differs is in
`recorded_differences.yaml`, with the reason: a new difference fails, and so does one that is gone.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml

from azure_gpu.formats.azure_types import BY_TOKEN, AzureType
from localazure.kubernetes import control_plane
from localazure.plugin.naming import with_name
from localazure.plugin.wire import from_struct
from tests.localazure.plugin.conftest import SUBSCRIPTION, AzureEngine, connection
from tests.support.in_process import InProcessAzure
from tests.support.provider_calls import details_of

_GROUP = f"/subscriptions/{SUBSCRIPTION}"
_PLACE = re.compile(r"^/resource[Gg]roups/")


def _read(name: str) -> Any:
    return yaml.load(Path(__file__).with_name(name).read_text(encoding="utf-8"), yaml.CSafeLoader)


def test_every_call_is_answered_as_pulumis_own_provider_did(
    engine: AzureEngine, azure: InProcessAzure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_plane, "is_free", lambda _: True)  # of ports of clusters, which don't run
    engine.configure(**connection(azure), location="westus2")
    found: set[str] = set()
    for conversation in _read("recorded.yaml")["conversations"]:
        for call in conversation["calls"]:
            found |= {f"{call['type']} {each}".replace(_GROUP, "") for each in _played(engine, _located(call))}
    known = {each for row in _read("recorded_differences.yaml") for each in row["differs"]}
    assert sorted(found - known) == [], "new differences"
    assert sorted(known - found) == [], "differences that are gone"


def _played(engine: AzureEngine, call: Any) -> Iterator[str]:
    """What is answered otherwise."""
    token = f"azure-native:{call['type']}"
    recorded = {**call["news"], **call["adds"]}
    azure_type = BY_TOKEN.get(token)
    if azure_type is None:  # its name is all that the stand-in could fill in
        other = AzureType(token, "", f"{BY_TOKEN['azure-native:resources:ResourceGroup'].path}/providers/{call['path']}")
        made = with_name(other, call["name"], call["news"], {}, b"seed", None)
        recorded = {name: each for name, each in recorded.items() if name != "location" or name in made}
        yield from (f"name {each}" for each in _differences(_named(recorded, made), made))
        return
    checked, problems = engine.check(token, call["news"], name=call["name"])
    del checked["azureApiVersion"]  # Check fills it in since 3.0 (`applyDefaults` of provider.go)
    yield from (f"check {each}" for each in (*problems, *_differences(_named(recorded, checked), checked)))
    if "outputs" not in call:
        return
    inputs = recorded | {azure_type.name_parameter: call["outputs"]["name"]}
    try:
        answer = engine.create(token, inputs)
    except grpc.RpcError as refused:
        yield f"create {details_of(refused)}"
        return
    made = from_struct(answer.properties)
    assert answer.id == made["id"]
    recorded = {"id": call["id"], **call["outputs"], "azureApiVersion": "~"}  # that of the provider's version, shown since 2.90
    yield from (f"create {each}" for each in _differences(recorded, made))


def _located(value: Any) -> Any:
    """With this subscription in the ids."""
    match value:
        case dict():
            return {name: _located(each) for name, each in value.items()}
        case list():
            return [_located(each) for each in value]
        case str() if _PLACE.match(value):
            return _GROUP + value
        case _:
            return value


def _named(recorded: dict[str, Any], made: dict[str, Any]) -> dict[str, Any]:
    """`recorded` with the digits that were made up this time."""
    forms = {name: re.escape(each).replace(re.escape("#"), "[0-9a-f]") for name, each in recorded.items() if "#" in str(each)}
    return recorded | {name: made[name] for name, each in forms.items() if re.fullmatch(each, str(made.get(name)))}


def _differences(recorded: Any, made: Any, path: str = "") -> Iterator[str]:
    match recorded, made:
        case dict(), dict():
            for name in {**recorded, **made}:
                here = f"{path}.{name}" if path else name
                if name not in recorded:
                    yield f"{here} is ours alone"
                elif name not in made:
                    yield f"{here} is missing"
                else:
                    yield from _differences(recorded[name], made[name], here)
        case list(), list() if len(recorded) == len(made):
            for one, other in zip(recorded, made, strict=True):
                yield from _differences(one, other, f"{path}[]")
        case "~", _:
            return
        case _ if recorded != made:
            yield f"{path} is {made!r} in place of {recorded!r}"
