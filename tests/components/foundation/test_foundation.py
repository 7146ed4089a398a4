"""What a foundation registers with the engine, beyond the inputs that the cases show."""

import asyncio
import base64
import io
import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulumi
import pytest

from azure_gpu.formats import azure_types
from azure_gpu.foundation import uploads
from azure_gpu.foundation.args import FoundationWiring
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.shared import arm_reads, workloads
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.wired import Wired
from azure_gpu.shared.workloads import Workload
from tests.components.recording import declare
from tests.components.settings_of import STACK_ARGS

EVERYTHING: FoundationWiring = {
    "stack": STACK_ARGS,
    "resource_group": {"create": True},
    "identity": {"create": True},
    "registry": {"create": True},
    "log_workspace": {"create": True},
    "storage": {"create": True},
    "workloads": [Workload.MNIST, Workload.SCORING, Workload.VECTOR_ADD],
    "image_source": "https://github.com/someone/fork.git#0123abc",
}
UPLOADED: FoundationWiring = {**EVERYTHING, "workloads": [Workload.DIGITS], "image_source": "upload"}


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


class Answers(arm_reads.Requests):
    """A registry that takes a context and builds it."""

    def __init__(self) -> None:
        super().__init__(str)
        self.sent: list[Any] = []

    def get(self, resource_id: str, api_version: str) -> dict[str, Any]:
        return {"properties": {"status": "Succeeded"}}

    def values(self, path: str, api_version: str) -> Iterator[dict[str, Any]]:
        return iter(())

    def post(self, path: str, api_version: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        self.sent.append(body)
        return {"uploadUrl": "https://up", "relativePath": "source/one", "properties": {"runId": "one"}}

    def upload(self, url: str, content: bytes, seconds: float) -> None:
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            self.sent.append(tar.getnames())


def test_before_the_deployment_of_a_workload_its_files_are_built_which_must_not_have_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def with_login(_: object, work: Callable[[Answers], None]) -> None:
        work(answers)

    answers = Answers()
    monkeypatch.setattr(arm_reads, "with_login", with_login)
    recorded = declare(lambda: Foundation("one", Wired(UPLOADED)))
    build: Any = recorded.hooks["Foundation-one-builds-digits"].callback
    asyncio.run(build(None))
    _, files, request = answers.sent
    assert request["dockerFilePath"] in files
    assert request["imageNames"] == [f"digits:{request['arguments'][0]['value']}"]
    monkeypatch.setattr(uploads, "contents", lambda _: ({}, frozenset()))
    with pytest.raises(pulumi.RunError, match="workloads has changed since the update began"):
        asyncio.run(build(None))


def test_sources_that_are_not_installed_can_not_be_uploaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tags.json").write_text('{"digits": "0123456789abcdef"}')
    for name, value in {"CHECKOUT": None, "WORKLOADS": tmp_path / "none", "WORKLOAD_TAGS": tmp_path / "tags.json"}.items():
        monkeypatch.setattr(workloads, name, value)
    with pytest.raises(Refused) as refused:
        declare(lambda: Foundation("one", Wired(UPLOADED)))
    assert [(each.path, each.fix) for each in refused.value.problems] == [
        ("image_source", "run: pip install azure-gpu-operations")
    ]
