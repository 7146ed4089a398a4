"""The happy cases of tests/components/cases on an embedded Azure: each with what it finds there, up at the first try.

A case is taken as it stands, but for what only a machine of its own could have: the subscription, the repository that images are
built from, images that the embedded Azure doesn't have, and devices. It is judged by what Azure had on the day of the cases.
"""

import io
import json
import re
import subprocess
import uuid
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.formats import image_reference
from localazure.kinds import public_images
from localazure.kinds.registry_runs import LOGIN_SUFFIX
from tests.components.recorded_bodies import CASES, has_most
from tests.components.settings_of import TODAY
from tests.support.embedded import SUBSCRIPTION, ServedAzure, until
from tests.support.kubernetes import needed
from tests.support.ml_resources import upload
from tests.support.rows import failure
from tests.support.stack import ProgramStack
from tests.support.surroundings import there

_CONTAINERS = ("container_groups", "jobs", "edges")  # sections whose images are of containers
_OF_AZURE = ".azurecr.io"
_BATCH = "2024-07-01"
_RUNS = "2019-06-01-preview"
_CLUSTER, _KUBERNETES = "azure-native:containerservice:ManagedCluster", "pulumi:providers:kubernetes"
_STOPPED = {  # by whoever saves money: api-version and action
    _CLUSTER: ("2025-09-01", "stop"),
    "azure-native:compute:VirtualMachine": ("2024-11-01", "deallocate"),
    "azure-native:containerinstance:ContainerGroup": ("2023-05-01", "stop"),
}
_ANY_IMAGE = "docker.io/library/python:3.11"


# Each in a file of its own, tests/stack/test_happy_cases_of_<family>.py, so that workers share them.
FAMILIES = {
    "clusters": ("cluster",),
    "containers_and_machines": ("budget", "container_group", "foundation", "job", "pool", "vm"),
    "edges": ("edge",),
    "machine_learning": ("ml_endpoint", "ml_workspace"),
}


def names(family: str) -> list[str]:
    return sorted(path.stem for path in CASES.glob("*.happy.*.yaml") if path.name.split(".")[0] in FAMILIES[family])


# By night alone: each takes half a minute or more, and its like comes up each time in tests/stack: the endpoint in
# test_nothing_runs.py, its servers with their traffic in test_endpoints_traffic.py, and a workspace with even more attached in
# test_stacks_with_attached_computes.py.
TAKES_LONG = ("ml_endpoint.happy.blue_and_green", "ml_workspace.happy.attached")


def cases(family: str) -> list[Any]:
    """The cases of a family as parameters of a test: the longest of each component alone, the others together once a night."""
    alone = [name for name in names(family) if has_most(name) and name not in TAKES_LONG]
    others = [name for name in names(family) if name not in alone]
    at_night = (pytest.mark.nightly, pytest.mark.timeout(1800))
    alone = [pytest.param([name], id=name) for name in alone]
    return [*alone, *([pytest.param(others, marks=at_night, id="all others")] if others else [])]


def come_up_and_stay(names: Iterable[str], azure: ServedAzure, engine_bin: Path, folder: Path, **options: Any) -> None:
    """Each comes up at the first try, and then nothing is left to change. `options`: of `up`."""

    def comes_up_and_stays(name: str) -> None:
        (folder / name).mkdir()
        with up(name, azure, engine_bin, folder / name, **options) as stack:
            stays(stack, drift=has_most(name))

    wrong = [failed for name in names if (failed := failure(comes_up_and_stays, [name], name))]
    assert not wrong, "\n".join(wrong)


@contextmanager
def up(
    name: str, azure: ServedAzure, engine_bin: Path, folder: Path, *, device: str = "", saved_model: Path | None = None
) -> Iterator[ProgramStack]:
    """The stack of a case, after one `up` that went well: two where something is uploaded to what the first has made.

    `folder`: an empty one. `device`: the kubeconfig of the cluster that edges are. `saved_model`: the folder of every model.
    """
    case = yaml.load((CASES / f"{name}.yaml").read_text(), yaml.CSafeLoader)
    with there(azure, on(azure, case["says"]), case.get("azure_answers", {})) as says:
        _build(azure, says)
        if device:
            _connect(says, name, device, folder)
        first = without_uploads(says)
        stack = ProgramStack(azure, f"t{uuid.uuid4().hex[:8]}", first, engine_bin=engine_bin)
        try:
            stack.create()
            stack.update()
            if first != says:
                _push_packages(stack, says)
                _upload_models(stack, says, saved_model)
                stack.configure(says)
                stack.update()
            yield stack
        finally:
            stack.end()


@contextmanager
def declared(name: str, azure: ServedAzure, engine_bin: Path) -> Iterator[ProgramStack]:
    """The stack of a case after one `up` on an embedded Azure on which nothing runs: nothing was built or uploaded before."""
    case = yaml.load((CASES / f"{name}.yaml").read_text(), yaml.CSafeLoader)
    with there(azure, on(azure, case["says"]), case.get("azure_answers", {})) as says:
        stack = ProgramStack(azure, f"t{uuid.uuid4().hex[:8]}", says, engine_bin=engine_bin)
        try:
            stack.create()
            stack.update()
            yield stack
        finally:
            stack.end()


def stays(stack: ProgramStack, *, drift: bool = True) -> None:
    """Nothing is left to change, also after services did what they do by themselves, and a refresh that saw it.

    `drift`: `operations preview --drift` and a preview before the refresh see nothing either.
    """
    if drift:
        assert stack.steps() == []
    types = {str(each["type"]) for each in stack.exported()["resources"]}
    for each in stack.exported()["resources"]:
        token = str(each["type"])
        # What is on a cluster can't be read while it is stopped.
        if token in _STOPPED and not (token == _CLUSTER and _KUBERNETES in types):
            version, action = _STOPPED[token]
            stack.azure.post(f"{each['id']}/{action}", version)
            until(lambda each=each, version=version: _is_settled(stack.azure, each["id"], version), f"{each['id']} is stopped")
    if drift:
        told = stack.operations("preview", "--drift")
        assert told.returncode == 0, told.stdout + told.stderr
    refreshed = stack.pulumi("refresh", "--yes", "--skip-preview")
    assert refreshed.returncode == 0, refreshed.stdout + refreshed.stderr
    assert stack.steps() == []


def _is_settled(azure: ServedAzure, id_: str, version: str) -> bool:
    return azure.get(id_, version).json()["properties"]["provisioningState"] in ("Succeeded", "Failed")


def on(azure: ServedAzure, says: Mapping[str, Any]) -> dict[str, Any]:
    """What a case says, with what is named by an address of the embedded Azure's."""
    text = re.sub(r"/subscriptions/[^/]+/", f"/subscriptions/{SUBSCRIPTION}/", json.dumps(says))
    found = {"team": "vision", "location": "westeurope", "as_of": TODAY, **json.loads(text)}
    if "image_source" in found:
        found["image_source"] = f"{azure.url}/checkout.git#HEAD"
    checkout = {"repository": f"{azure.url}/checkout.git", "revision": "HEAD"}
    return {
        key: _of_containers(value, checkout) if key in _CONTAINERS else value for key, value in found.items() if ":" not in key
    }


def _of_containers(value: Any, checkout: dict[str, str]) -> Any:
    """With images and a repository that the embedded Azure has."""
    if not isinstance(value, dict):
        return value
    found = {key: _pulled(each) if key == "image" else _of_containers(each, checkout) for key, each in value.items()}
    return {**found, **checkout} if "repository" in found else found


def _pulled(image: str) -> str:
    """Another image in place of one of the internet that the embedded Azure doesn't have."""
    reference = image_reference.parse(image)
    assert reference is not None
    if reference.registry.endswith(_OF_AZURE):
        return image.replace(_OF_AZURE, LOGIN_SUFFIX)
    return image if public_images.is_public(reference) else _ANY_IMAGE


def without_uploads(says: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a stack that is up before packages and models can be uploaded to it: Azure refuses what isn't there yet."""
    first = deepcopy(dict(says))
    if any("packages" in pool for pool in first.get("pools", {}).values()):
        del first["pools"]
        for application in first["batch_account"]["applications"].values():
            application.pop("default_version", None)
    if "models" in first.get("ml_workspace", {}):
        del first["ml_workspace"]["models"], first["ml_endpoints"]
    return first


def _connect(says: dict[str, Any], name: str, device: str, folder: Path) -> None:
    """Connects every edge to the device, each in a namespace of its own there: its administrator makes it, or the stack does."""
    kubeconfig = yaml.safe_load(device)
    [context] = kubeconfig["contexts"]
    kubeconfig["contexts"] = [{**context, "name": each} for each in ("first", "second")]
    kubeconfig["current-context"] = "first"
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(kubeconfig))
    for edge, said in says["edges"].items():
        said |= {"namespace": f"{name.rsplit('.', 1)[1]}-{edge}".replace("_", "-")}
        said |= {"kubeconfig": file.read_text()} if "kubeconfig" in said else {"kubeconfig_file": str(file)}
        if not said.get("create_namespace"):
            made = ["kubectl", "--kubeconfig", str(file), "create", "namespace", said["namespace"]]
            subprocess.run([str(needed() / made[0]), *made[1:]], check=True, capture_output=True)


def _build(azure: ServedAzure, says: Mapping[str, Any]) -> None:
    """The images of a registry that is there."""
    registry = says.get("foundation", {}).get("registry")
    for group in says.get("container_groups", {}).values() if isinstance(registry, dict) else ():
        server, _, image = group["image"].partition("/")
        if server.endswith(LOGIN_SUFFIX):
            _build_image(azure, registry["existing"], image)


def _build_image(azure: ServedAzure, registry: str, image: str) -> None:
    request = {
        "type": "DockerBuildRequest",
        "dockerFilePath": "Dockerfile",
        "imageNames": [image],
        "isPushEnabled": True,
        "platform": {"os": "Linux", "architecture": "amd64"},
        "arguments": [],
        "sourceLocation": f"{azure.url}/checkout.git#HEAD:workloads/vector_add",
    }
    run = azure.post(f"{registry}/scheduleRun", _RUNS, request).json()["properties"]["runId"]
    shown = f"{registry}/runs/{run}"
    until(lambda: azure.get(shown, _RUNS).json()["properties"]["status"] == "Succeeded", f"{image} is built")


def _push_packages(stack: ProgramStack, says: Mapping[str, Any]) -> None:
    azure, packed = stack.azure, io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("file", "of a package")
    for application, version in sorted(
        {pair for pool in says.get("pools", {}).values() for pair in pool.get("packages", {}).items()}
    ):
        applications = f"{stack.outputs()['batch_account']}/applications"
        if azure.get(f"{applications}/{application}", _BATCH).status_code == 404:
            assert azure.put(f"{applications}/{application}", {}, _BATCH).is_success
        path = f"{applications}/{application}/versions/{version}"
        until(lambda path=path: azure.put(path, {}, _BATCH).is_success, "the identity of the account may write its blobs")
        with azure.http() as client:  # the address has a signature
            address = azure.get(path, _BATCH).json()["properties"]["storageUrl"]
            sent = client.put(address, content=packed.getvalue(), headers={"x-ms-blob-type": "BlockBlob"})
            assert sent.status_code == 201, sent.text
        assert azure.post(f"{path}/activate", _BATCH, {"format": "zip"}).is_success


def _upload_models(stack: ProgramStack, says: Mapping[str, Any], saved_model: Path | None) -> None:
    for model in says.get("ml_workspace", {}).get("models", {}).values():
        assert saved_model is not None
        account = stack.outputs()["storage"].rsplit("/", 1)[-1]
        for file in (each for each in saved_model.rglob("*") if each.is_file()):
            blob = f"{model['path']}/{file.relative_to(saved_model).as_posix()}"
            upload(stack.azure, account, "models", blob, file.read_bytes())
