"""What a foundation registers with the engine, beyond the inputs that the cases show."""

import asyncio
import base64
import io
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pulumi
import pytest

from azure_gpu.formats import azure_types
from azure_gpu.foundation import builds
from azure_gpu.foundation.args import FoundationWiring
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.shared import arm_reads, workloads
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.wired import Wired
from tests.components.recording import declare
from tests.components.settings_of import STACK_ARGS

EVERYTHING: FoundationWiring = {
    "stack": STACK_ARGS,
    "resource_group": {"create": True},
    "identity": {"create": True},
    "registry": {"create": True},
    "log_workspace": {"create": True},
    "storage": {"create": True},
    "workloads": ["mnist", "scoring", "vector_add"],
    "image_source": "https://github.com/someone/fork.git#0123abc",
}
UPLOADED: FoundationWiring = {**EVERYTHING, "workloads": ["digits"], "image_source": "upload"}


def test_outputs_are_what_the_class_says() -> None:
    args: FoundationWiring = {**EVERYTHING, "serving_identity": {"create": True}}
    recorded = declare(lambda: Foundation("one", Wired(args)))
    [outputs] = [outputs for urn, outputs in recorded.outputs.items() if "Foundation" in urn]
    assert outputs.keys() == Foundation.__annotations__.keys() - {"dependencies", "around"}


def test_components_on_a_foundation_learn_whether_the_program_assigns_roles() -> None:
    made: list[Foundation] = []
    declare(lambda: made.append(Foundation("one", Wired(EVERYTHING))))
    declare(lambda: made.append(Foundation("two", Wired({**EVERYTHING, "assign_roles": False}))))
    assert [each.dependencies.get("assign_roles") for each in made] == [True, False]


def test_old_builds_are_purged_but_those_in_use_and_what_others_have_pushed() -> None:
    [task] = declare(lambda: Foundation("one", Wired(EVERYTHING))).of_type(azure_types.TASK.token)
    step = task.inputs["step"]
    used = step["values"][0]["value"]
    content = base64.b64decode(step["encodedTaskContent"]).decode().replace("{{.Values.used}}", used)
    # As `acr purge` reads it: the repository's expression is for the whole name, the tag's for a part of it.
    [(repositories, tags)] = re.findall("--filter '([^:]+):([^']+)'", content)
    build = "0123456789abcdef"
    old = [f"mnist:{build}", f"run/a:{build}", f"mnist:{used[:16]}", "digits:latest", f"mnist:{build * 2}", f"my/mnist:{build}"]
    assert [each for each in old if re.fullmatch(f"({repositories}):.*", each) and re.search(tags, each.split(":")[1])] == old[:2]


def test_before_a_deployment_its_workload_is_built_from_files_that_are_still_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    answer = {"uploadUrl": "https://up", "relativePath": "a", "properties": {"runId": "one", "status": "Succeeded"}}
    requests = SimpleNamespace(
        errors=(OSError,),
        get=lambda *_: answer,
        values=lambda *_: [],
        post=lambda *given: sent.append(given[-1]) or answer,
        upload=lambda *given: sent.append(given[1]),
    )

    async def with_login(_: object, work: Callable[[Any], None]) -> None:
        work(requests)

    monkeypatch.setattr(arm_reads, "with_login", with_login)
    recorded = declare(lambda: Foundation("one", Wired(UPLOADED)))
    build: Any = recorded.hooks["Foundation-one-builds-digits"].callback
    asyncio.run(build(None))
    _, packed, request = sent
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        assert request["dockerFilePath"] in tar.getnames()
    assert request["imageNames"] == [f"digits:{request['arguments'][0]['value']}"]
    requests.upload = Mock(side_effect=arm_reads.UnreadableError("TasksOperationsNotAllowed: no", 400))
    with pytest.raises(pulumi.RunError, match="can't be built: TasksOperationsNotAllowed: no\nfix: this registry isn't allowed"):
        asyncio.run(build(None))
    monkeypatch.setattr(builds, "contents", lambda _: ({}, frozenset()))
    with pytest.raises(pulumi.RunError, match="workloads has changed since the update began"):
        asyncio.run(build(None))


def test_sources_that_are_not_installed_can_not_be_uploaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tags.json").write_text('{"digits": "0123456789abcdef"}')
    for name, value in {"CHECKOUT": None, "WORKLOADS": tmp_path / "none", "WORKLOAD_TAGS": tmp_path / "tags.json"}.items():
        monkeypatch.setattr(workloads, name, value)
    with pytest.raises(Refused) as refused:
        declare(lambda: Foundation("one", Wired(UPLOADED)))
    assert [(each.path, each.fix) for each in refused.value.problems] == [
        ("image_source", "install azure-gpu-operations beside azure-gpu, of the same version")
    ]
