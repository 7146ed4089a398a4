"""Every type lives by the provider as the engine has it: what Azure answers is never taken for a change, and may be put again."""

import json
import re
import uuid
from typing import Any

import pytest

from azure_gpu.formats.azure_types import ALL, AzureType
from localazure import shapes
from localazure.arm.kind import merged
from localazure.kubernetes import control_plane
from localazure.plugin.projection import inputs_of, path_inputs
from localazure.plugin.wire import from_struct
from tests.localazure.plugin.conftest import AzureEngine
from tests.recorded.requests import CLUSTER_LIVES, FURTHER_LIVES, LIVES, Life
from tests.support.in_process import InProcessAzure
from tests.support.rows import failure

DECLARED = {each.arm_type: each for each in ALL}
# What a GET doesn't show of what was sent: of an extension of AKS, which has the cluster's identity.
NOT_SHOWN = {"Microsoft.KubernetesConfiguration/extensions": "identity"}
# Whose GET shows what a PUT doesn't take, whose GET hides a password that a PUT needs, and what is never deleted.
NOT_PUT_BACK = {"Microsoft.Network/privateEndpoints"}
HIDES = {"Microsoft.Batch/batchAccounts/pools", "Microsoft.MachineLearningServices/workspaces/computes"}
STAYS = {"Microsoft.Storage/storageAccounts/blobServices"}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:")
Json = dict[str, Any]


def missing(whole: Any, part: Any, path: str = "") -> list[str]:
    """Where `part` isn't so in `whole`, which may say more, and may spell a region otherwise."""
    match part:
        case dict():
            found = whole if isinstance(whole, dict) else {}
            return [told for name, each in part.items() for told in missing(found.get(name), each, f"{path}.{name}")]
        case list():
            found = whole if isinstance(whole, list) else []
            return [f"{path}: {each}" for each in part if all(missing(other, each) for other in found)]
        case str() if path == ".location":
            return [] if str(whole).replace(" ", "").lower() == part else [path]
        case _:
            return [] if whole == part else [f"{path}: {whole!r} in place of {part!r}"]


def lasting(value: Any) -> Any:
    """Without times and etags, which tell of each change."""
    match value:
        case dict():
            return {name: lasting(each) for name, each in value.items() if name.lower() != "etag"}
        case list():
            return [lasting(each) for each in value]
        case str() if TIME.match(value):
            return "a time"
        case _:
            return value


class Lived:
    """One resource as a program declares it."""

    def __init__(self, engine: AzureEngine, azure: InProcessAzure, azure_type: AzureType, path: str, body: Json) -> None:
        self._engine, self._azure, self._type = engine, azure, azure_type
        self._inputs = {**path_inputs(azure_type, path), **inputs_of(azure_type, shapes.from_arm(azure_type, body))}
        self._id = path

    def begin(self) -> None:
        """It is created, refreshed, imported, and differs from nothing."""
        token = self._type.token
        checked, failures = self._engine.check(token, self._inputs)
        assert failures == []
        outputs = from_struct(self._engine.create(token, checked).properties)
        read = self._engine.read(token, self._id, checked, outputs)
        assert from_struct(read.inputs) == checked, "a refresh finds no change"
        assert from_struct(read.properties) == outputs
        declared = shapes.without_secrets(shapes.arm_shape(self._type), shapes.to_arm(self._type, checked))
        declared.pop(NOT_SHOWN.get(self._type.arm_type, ""), None)
        imported = shapes.to_arm(self._type, from_struct(self._engine.read(token, self._id).inputs))
        assert missing(imported, declared) == [], "an import finds what was declared"
        for olds in (outputs, checked):
            assert not self._engine.diff(token, checked, checked, olds).diffs
        self._change(checked, outputs)
        self._put_back(checked)

    def _change(self, checked: Json, outputs: Json) -> None:
        if "tags" not in shapes.sdk_inputs(self._type):
            return
        token, tags = self._type.token, {"team": "another"}
        edited, _ = self._engine.check(token, {**self._inputs, "tags": tags}, olds=checked)
        found = self._engine.diff(token, checked, edited, outputs)
        assert (list(found.diffs), list(found.replaces)) == (["tags"], [])
        updated = from_struct(self._engine.update(token, self._id, outputs, edited).properties)
        assert updated["tags"] == tags
        assert from_struct(self._engine.read(token, self._id, edited, updated).inputs) == edited

    def _put_back(self, checked: Json) -> None:
        if self._type.arm_type in NOT_PUT_BACK:
            return
        version = shapes.default_api_version(self._type)
        shown = self._azure.get(self._id, version).json()
        given = {name: value for name, value in checked.items() if name != "azureApiVersion"}
        hidden = shapes.to_arm(self._type, given) if self._type.arm_type in HIDES else {}
        answer = self._azure.put(self._id, merged(shown, hidden), version)
        assert answer.is_success, answer.text
        if {"azure-asyncoperation", "location"} & set(answer.headers):
            self._azure.finished(answer)
        assert lasting(self._azure.get(self._id, version).json()) == lasting(shown), "what GET answers changes nothing"

    def end(self) -> None:
        if self._type.arm_type in STAYS:
            return
        self._engine.delete(self._type.token, self._id)
        self._engine.delete(self._type.token, self._id)  # what is gone is no error
        assert self._engine.read(self._type.token, self._id, self._inputs).id == ""


def test_each_type_lives_from_check_to_delete_without_false_differences(
    engine: AzureEngine, azure: InProcessAzure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_plane, "is_free", lambda _: True)  # of ports of clusters, which don't run
    words = {"{unique}": f"l{uuid.uuid4().hex[:12]}", "{tenant}": azure.tenant_id, "{principal}": azure.principal_id}

    def worded(value: Any) -> Any:
        text = json.dumps(value)
        for word, meaning in words.items():
            text = text.replace(word, meaning)
        return json.loads(text)

    lives: list[Life] = [each for each in (*LIVES, *FURTHER_LIVES, *CLUSTER_LIVES) if each.arm_type in DECLARED]
    resources = {
        each.arm_type: Lived(engine, azure, DECLARED[each.arm_type], worded(each.path), worded(each.body)) for each in lives
    }
    wrong = [told for name, each in resources.items() if (told := failure(each.begin, (), name))]
    wrong += [told for name, each in reversed(resources.items()) if (told := failure(each.end, (), f"the end of {name}"))]
    assert not wrong, "\n".join(wrong)
