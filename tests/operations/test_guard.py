"""What `up` refuses to take away, and what `down` asks about: over states and steps, without an engine."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Severity
from azure_gpu.formats import azure_types
from azure_gpu_operations import __main__ as command, azure, project, stack_verbs
from azure_gpu_operations.guard import ending, fingerprint, held as holding, update_check
from azure_gpu_operations.guard.foreign_resources import delete_beside, foreign_resources
from azure_gpu_operations.guard.held import Held, held
from azure_gpu_operations.guard.losses import NOTHING_ALLOWED, Allowed, gone, losses, problem, renamed
from azure_gpu_operations.stack import EngineError, Planned, Stack

SINCE = "2026-11-20T10:11:12.123456Z"
CLUSTER = "urn:pulumi:s::p::azuregpu:index:GpuCluster::shared"
GROUP = "/subscriptions/0/resourceGroups/g"
HELD_TYPES = {
    azure_types.RESOURCE_GROUP: "foundation-resource-group",
    azure_types.STORAGE_ACCOUNT: "foundation-storage",
    azure_types.REGISTRY: "foundation-registry",
    azure_types.LOG_WORKSPACE: "foundation-logs",
    azure_types.BATCH_ACCOUNT: "batch-account",
    azure_types.KEY_VAULT: "ml-vault",
    azure_types.ML_WORKSPACE: "ml-workspace",
    azure_types.ML_ONLINE_ENDPOINT: "digits-endpoint",
}
KEYS = ["foundation.resource_group", "foundation.storage", "foundation.registry", "foundation.log_workspace", "batch_account"]
KEYS += ["ml_workspace.key_vault", "ml_workspace", "ml_endpoints.digits"]


def resource(token: str, name: str, **said: Any) -> dict[str, Any]:
    urn = f"urn:pulumi:s::p::azuregpu:index:Part${token}::{name}"
    return {"urn": urn, "type": token, "id": f"{GROUP}/{name}", "custom": True, "created": SINCE, "inputs": {}, **said}


def state(*resources: dict[str, Any]) -> dict[str, Any]:
    return {"resources": list(resources), "manifest": {"time": "2026-11-21T00:00:00.651485408Z"}}


def storage(**said: Any) -> dict[str, Any]:
    return resource(azure_types.STORAGE_ACCOUNT.token, "foundation-storage", **said)


def one(**said: Any) -> Held:
    (found,) = held(state(storage(**said)))
    return found


def step(op: str, each: Held, **said: Any) -> dict[str, Any]:
    return {"op": op, "urn": each.urn, **said}


# What holds data or serves traffic


def test_every_type_that_holds_data_or_serves_traffic_has_its_key() -> None:
    found = held(state(*(resource(each.token, name) for each, name in HELD_TYPES.items())))
    assert [each.key for each in found] == KEYS
    assert all(each.what and each.lost for each in found)


def test_what_the_stack_only_reads_is_not_its_own() -> None:
    assert held(state(storage(external=True), storage(id=""))) == []
    assert held({}) == []


@pytest.mark.parametrize(("namespace", "serves"), [("gpu-jobs", True), ("gpu-resources", False), (None, True)])
def test_a_cluster_serves_where_it_has_a_service_of_the_users(namespace: str | None, serves: bool) -> None:
    cluster = resource(azure_types.MANAGED_CLUSTER.token, "shared-cluster", parent=CLUSTER)
    metadata = {} if namespace is None else {"namespace": namespace}
    service = resource("kubernetes:core/v1:Service", "shared-service-x", parent=CLUSTER, inputs={"metadata": metadata})
    assert [each.key for each in held(state(cluster, service))] == (["clusters.shared"] if serves else [])
    assert held(state(cluster)) == []


# What an update takes away


@pytest.mark.parametrize("op", ["replace", "create-replacement", "delete-replaced"])
def test_a_replacement_is_a_loss_once(op: str) -> None:
    each = one()
    (loss,) = losses([each], [step(op, each), step("create-replacement", each)])
    assert loss.is_replaced
    assert loss.is_allowed(Allowed(replace=("foundation-storage",)))
    assert not loss.is_allowed(Allowed(delete=("foundation-storage",)))


def test_a_deletion_is_a_loss_and_an_update_is_none() -> None:
    each = one()
    (loss,) = losses([each], [step("delete", each)])
    assert not loss.is_replaced
    assert loss.is_allowed(Allowed(delete=("foundation-storage",)))
    assert losses([each], [step(op, each) for op in ("same", "update", "read", "create")]) == []


def test_the_message_names_resource_day_key_word_and_milder_way() -> None:
    each = one(inputs={"tags": {"team": "a", "stack": "s", "project": "p"}})
    new = {"tags": {"team": "b", "stack": "s", "project": "p"}, "location": "x"}
    (loss,) = losses([each], [step("replace", each, newState={"inputs": new}, replaceReasons=["accountName"])])
    assert str(problem(loss)) == (
        "team: this up would replace the storage account foundation-storage, which has been there since 2026-11-20T10:11:12Z, "
        "and lose its blobs; given: 'a -> b'; allowed: with --replace foundation-storage; fix: set team back to a; to name "
        "another owner add a tag below `tags`; to move, deploy a second stack and copy the data"
    )


@pytest.mark.parametrize(("tag", "path"), [("project", "project name"), ("stack", "stack name"), ("team", "team")])
def test_each_word_of_a_name_is_named(tag: str, path: str) -> None:
    each = one(inputs={"tags": {"team": "a", "stack": "a", "project": "a"}})
    now = {"project": "a", "stack": "a", "team": "a", tag: "b"}
    (loss,) = renamed([each], now["project"], now["stack"], now["team"])
    assert problem(loss).path == path
    assert problem(loss).value == "a -> b"
    assert renamed([each], "a", "a", "a") == []
    assert renamed([one()], "x", "y", "z") == []  # without tags nobody knows


def test_another_location_is_named_although_the_engine_names_the_group() -> None:
    each = one(inputs={"location": "westeurope"})
    said = {"newState": {"inputs": {"location": "eastus"}}, "replaceReasons": ["resourceGroupName"]}
    (loss,) = losses([each], [step("replace", each, **said)])
    assert (problem(loss).path, problem(loss).value) == ("location", "westeurope -> eastus")
    assert "set `location` back to westeurope" in problem(loss).fix


def test_any_other_input_is_shown_with_its_values_cut() -> None:
    each = one(inputs={"isHnsEnabled": False, "long": "x" * 100})
    said = {"newState": {"inputs": {"isHnsEnabled": True}}, "replaceReasons": ["isHnsEnabled", "long.inner[0]"]}
    (loss,) = losses([each], [step("replace", each, **said)])
    assert problem(loss).path == "foundation.storage"
    assert problem(loss).value == f"isHnsEnabled: False -> True, long: {'x' * 59}… -> not set"


def test_a_deletion_names_the_key_to_put_back() -> None:
    each = one()
    (loss,) = losses([each], [step("delete", each)])
    assert problem(loss).path == "foundation.storage"
    assert problem(loss).value is None
    assert problem(loss).fix == "restore foundation.storage"


def test_what_was_replaced_and_not_deleted_yet_is_lost_by_its_own_id() -> None:
    old, new = held(state(storage(id=f"{GROUP}/old", delete=True), storage(id=f"{GROUP}/new")))
    steps = [step("same", new, oldState={"id": new.id}), step("delete-replaced", old, oldState={"id": old.id})]
    (loss,) = losses([old, new], steps)
    assert loss.held.azure_name == "old"


def test_a_resource_that_an_alias_renames_is_lost_by_its_old_name() -> None:
    each = one()
    renamed_step = {"op": "replace", "urn": each.urn.replace("foundation", "other"), "oldState": {"urn": each.urn, "id": each.id}}
    assert [loss.held.urn for loss in losses([each], [renamed_step])] == [each.urn]
    assert gone([renamed_step, step("same", each)]) == {each.urn}


def test_a_type_of_another_sdk_version_is_the_same() -> None:
    (found,) = held(state(resource("azure-native:storage/v20230101:StorageAccount", "data")))
    assert (found.what, found.key) == ("storage account", "data")


def test_a_name_that_nothing_has_is_told_with_those_there_are() -> None:
    (wrong,) = Allowed(replace=("foundation-storage", "x")).wrong([one()])
    assert (wrong.path, wrong.value, wrong.allowed) == ("--replace", "x", "foundation-storage")
    assert Allowed(replace=(one().urn,)).wrong([one()]) == []
    other = one()._replace(urn=one().urn.replace("::azuregpu", "::other"))
    (wrong,) = Allowed(delete=("foundation-storage",)).wrong([one(), other])
    assert (wrong.message, wrong.allowed) == ("2 resources have this name", f"one of {one().urn}, {other.urn}")
    assert Allowed(delete=(other.urn,)).wrong([one(), other]) == []
    (wrong,) = Allowed(delete=("x",)).wrong([])
    assert wrong.allowed == "none: the stack has no such resource"


@given(st.lists(st.sampled_from(["same", "update", "create", "delete", "replace", "read", "refresh"]), max_size=6))
def test_whatever_is_planned_every_loss_is_refused_or_named(ops: list[str]) -> None:
    each = one()
    found = losses([each], [step(op, each) for op in ops])
    assert bool(found) is bool({"delete", "replace"} & set(ops))
    for loss in found:
        assert problem(loss).severity is Severity.ERROR
        assert not loss.is_allowed(NOTHING_ALLOWED)
        assert loss.is_allowed(Allowed(replace=(each.name,), delete=(each.name,)))


# The check before an update


class Planning:
    """A stack whose engine plans these steps."""

    project, name = "p", "s"

    def __init__(self, file: Path, steps: list[dict[str, Any]], *errors: str) -> None:
        self.file = file
        self.project_folder = file.parent
        self.plan = Planned(list(steps), errors)
        self.last: dict[str, Any] = {}
        self.previews: list[str] = []
        self.free: list[str] = []
        self.after_unprotecting: Planned | None = None
        self.on_a_copy: Callable[[str], Planned] | None = None

    def planned(self, backend: str = "") -> Planned:
        self.previews.append(backend)
        return self.on_a_copy(backend) if backend and self.on_a_copy else self.plan

    def history(self, most: int) -> list[dict[str, Any]]:
        return [self.last][:most]

    def declares(self, section: str) -> bool:
        as_one: Any = self
        return Stack.declares(as_one, section)

    def configuration(self) -> dict[str, str]:
        as_one: Any = self
        return Stack.configuration(as_one)

    def unprotect(self, urns: list[str]) -> None:
        self.free += urns
        self.plan = self.after_unprotecting or self.plan

    def protect(self, urns: list[str]) -> None:
        self.free = [each for each in self.free if each not in urns]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a stack of the shipped program, in a folder that is in no repository."""
    monkeypatch.setattr(project, "CHECKOUT", tmp_path)
    monkeypatch.setattr(subprocess, "run", lambda words, **_: subprocess.CompletedProcess(words, 128, "", "not a git repository"))
    found = tmp_path / "Pulumi.s.yaml"
    found.write_text("config: {'p:team': a, 'p:jobs': {}}")
    return found


WENT_WELL = {
    "kind": "update",
    "result": "succeeded",
    "startTime": "2026-11-20T23:59:50.000Z",
    "endTime": "2026-11-21T00:00:00.000Z",
}


def looked(
    stack: Any, found: dict[str, Any], allowed: Allowed = NOTHING_ALLOWED, *, needs_steps: bool = False
) -> update_check.UpdateCheck:
    return update_check.check(stack, found, allowed, needs_steps=needs_steps)


def test_nothing_is_planned_where_nothing_is_held(file: Path) -> None:
    stack = Planning(file, [])
    assert looked(stack, {}) == update_check.UpdateCheck()
    assert stack.previews == []
    assert looked(stack, {}, needs_steps=True) == update_check.UpdateCheck([])
    assert stack.previews == [""]


def test_nothing_is_planned_where_all_that_decides_is_as_it_was(file: Path) -> None:
    stack: Any = Planning(file, [])
    stack.last = {**WENT_WELL, "message": fingerprint.message(stack)}
    assert looked(stack, state(storage())) == update_check.UpdateCheck()
    file.write_text("config: {'p:team': a, 'p:jobs': {x: {}}, 'p:tags': {a: b}}")
    assert looked(stack, state(storage())) == update_check.UpdateCheck()
    assert stack.previews == []


def test_nothing_is_planned_where_only_a_compute_of_the_workspace_has_changed(file: Path) -> None:
    file.write_text("config: {'p:ml_workspace': {create: true, computes: {a: {size: s}}}}")
    stack: Any = Planning(file, [])
    stack.last = {**WENT_WELL, "message": fingerprint.message(stack)}
    file.write_text("config: {'p:ml_workspace': {create: true, computes: {b: {size: s}}, environments: {c: {}}}}")
    assert looked(stack, state(storage())) == update_check.UpdateCheck()
    file.write_text("config: {'p:ml_workspace': {create: true, models: [m], computes: {a: {size: s}}}}")
    assert looked(stack, state(storage())) == update_check.UpdateCheck([])
    assert stack.previews == [""]


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "refresh"},
        {"endTime": "2026-11-20T23:59:59.000Z"},
        {"startTime": "2026-11-21T00:00:01.000Z"},
        {"project": "name: p\nconfig: {team: b}"},
        {"file": "environment: [prod]\nconfig: {'p:team': a, 'p:jobs': {}}"},
        {"file": "config: {'p:team': a, 'p:jobs': {}, 'p:stacks': {net: o/p/s}}"},
        {"state": "delete"},
        {"state": "taint"},
        {"result": "failed"},
        {"message": "another word [0123456789abcdef]"},
        {"message": None},
        {"file": "config: {'p:team': b}"},
        {"file": "config: {'p:team': a, 'p:new_section': 1}"},
        {"file": "config: {'p:team': a, 'azure-native:subscriptionId': other}"},
        {"program": "print()"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_it_is_planned_where_something_that_decides_has_changed(file: Path, change: dict[str, str]) -> None:
    stack: Any = Planning(file, [])
    stack.last = {**WENT_WELL, "message": fingerprint.message(stack)}
    if "file" in change:
        file.write_text(change["file"])
    elif "program" in change:
        (file.parent / "__main__.py").write_text(change["program"])
    elif "project" in change:
        (file.parent / "Pulumi.yaml").write_text(change["project"])
    elif "state" not in change:
        stack.last |= change
    assert looked(stack, state(storage(**{change["state"]: True} if "state" in change else {}))) == update_check.UpdateCheck([])
    assert stack.previews == [""]


def test_a_program_of_ones_own_is_always_planned(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack: Any = Planning(file, [])
    stack.last = {**WENT_WELL, "message": fingerprint.message(stack)}
    monkeypatch.setattr(project, "CHECKOUT", file.parent / "elsewhere")
    assert looked(stack, state(storage())) == update_check.UpdateCheck([])


def test_a_loss_is_refused_until_the_command_line_names_it(file: Path) -> None:
    each = one(protect=True)
    stack = Planning(file, [step("delete", each)])
    found = state(storage(protect=True))
    with pytest.raises(update_check.RefusedLossError, match=r"1 problem, nothing was changed:\n  - foundation\.storage: "):
        looked(stack, found)
    assert looked(stack, found, Allowed(delete=("foundation-storage",))) == update_check.UpdateCheck(
        stack.plan.steps, (each.urn,)
    )
    assert stack.free == []  # until just before the update
    with pytest.raises(update_check.UnknownNameError, match="--delete: no resource of the stack"):
        update_check.refuse_wrong_names(found, Allowed(delete=("x",)))


def test_where_the_engine_plans_nothing_it_is_told_and_nothing_goes_on(file: Path) -> None:
    stack = Planning(file, [], "wrong settings")
    with pytest.raises(EngineError, match="wrong settings"):
        looked(stack, state(storage()))
    assert looked(stack, {}, needs_steps=True) == update_check.UpdateCheck()


@pytest.mark.parametrize("others", [[], ["theirs"]])
def test_a_resource_group_goes_where_only_the_stacks_own_is_in_it(
    file: Path, monkeypatch: pytest.MonkeyPatch, others: list[str]
) -> None:
    group = resource(azure_types.RESOURCE_GROUP.token, "foundation-resource-group")
    own = resource("azure-native:app:Job", "a-job")

    class Arm:
        def __init__(self, connection: Any) -> None: ...

        def values(self, path: str, api_version: str) -> list[dict[str, str]]:
            assert path == f"{group['id']}/resources"
            named = [("Microsoft.App/jobs", own["id"].upper()), *(("Microsoft.KeyVault/vaults", each) for each in others)]
            return [{"type": kind, "id": each, "name": each} for kind, each in named]

        def close(self) -> None: ...

    monkeypatch.setattr(azure, "Arm", Arm)
    stack = Planning(file, [{"op": "replace", "urn": group["urn"]}])
    found = state(provider(metadataHost="localhost:4"), group, own)
    if not others:
        assert looked(stack, found) == update_check.UpdateCheck(stack.plan.steps)
        return
    with pytest.raises(
        update_check.RefusedLossError, match="and lose what others have put into it: vaults theirs; allowed: with --replace "
    ):
        looked(stack, found)
    assert looked(stack, found, Allowed(replace=("foundation-resource-group",))) == update_check.UpdateCheck(stack.plan.steps)


PROTECTED = (
    'unable to replace resource "{}"\nas it is currently marked for protection. To unprotect it, remove the `protect` flag'
)


def test_what_is_protected_is_planned_on_a_copy_of_the_state(file: Path) -> None:
    """The engine stops at the first resource that is protected."""
    each = one(protect=True)
    stack = Planning(file, [], PROTECTED.format(each.urn))

    def on_a_copy(backend: str) -> Planned:
        copied = json.loads(Path(backend.removeprefix("file://"), ".pulumi/stacks/p/s.json").read_text())
        assert copied["checkpoint"]["stack"] == "organization/p/s"
        assert [resource["protect"] for resource in copied["checkpoint"]["latest"]["resources"]] == [False]
        return Planned([step("replace", each)], ())

    stack.on_a_copy = on_a_copy
    with pytest.raises(update_check.RefusedLossError, match="would replace the storage account"):
        looked(stack, {**state(storage(protect=True)), "secrets_providers": {"type": "passphrase"}})
    assert len(stack.previews) == 2


def test_where_no_copy_can_be_made_what_the_engine_named_is_told_with_all_that_has_a_name(file: Path) -> None:
    registry = resource(azure_types.REGISTRY.token, "foundation-registry", inputs={"tags": {"team": "b"}})
    found = {**state(storage(protect=True), registry), "secrets_providers": {"type": "service"}}
    stack = Planning(file, [], PROTECTED.format(one().urn))
    with pytest.raises(update_check.RefusedLossError) as refused:
        looked(stack, found)
    assert "--replace foundation-storage" in str(refused.value)
    assert "--replace foundation-registry" in str(refused.value)
    assert len(stack.previews) == 1


def test_what_is_inside_of_something_allowed_goes_with_it(file: Path) -> None:
    each = one(protect=True)
    service = resource("azure-native:storage:BlobServiceProperties", "foundation-blob-service", protect=True)
    container = resource(azure_types.BLOB_CONTAINER.token, "ml-models-container", protect=True)
    service["id"], container["id"] = (f"{each.id.upper()}/blobServices/default{more}" for more in ("", "/containers/models"))
    steps = [step("delete", each), *({"op": "delete", "urn": inner["urn"]} for inner in (service, container))]
    stack = Planning(file, [], PROTECTED.format(each.urn))
    stack.on_a_copy = lambda _: Planned(steps, ())
    found = {**state(storage(protect=True), service, container), "secrets_providers": {"type": "passphrase"}}
    let_go = looked(stack, found, Allowed(delete=("foundation-storage",))).let_go
    assert set(let_go) == {each.urn, service["urn"], container["urn"]}
    with pytest.raises(update_check.RefusedLossError, match="2 problems"):
        looked(stack, found)
    with pytest.raises(update_check.RefusedLossError, match=r"1 problem, .*\n.* storage account"):
        looked(stack, found, Allowed(delete=("ml-models-container",)))


def test_what_only_somebody_else_protects_is_for_them_to_let_go(file: Path) -> None:
    each = one(protect=True)
    machine = resource("azure-native:compute:VirtualMachine", "vm", protect=True)
    stack = Planning(file, [], PROTECTED.format(each.urn))
    stack.on_a_copy = lambda _: Planned([step("replace", each), {"op": "delete", "urn": machine["urn"]}], ())
    found = {**state(storage(protect=True), machine), "secrets_providers": {"type": "cloud"}}
    with pytest.raises(EngineError, match="marked for protection"):
        looked(stack, found, Allowed(replace=("foundation-storage",)))
    assert stack.free == []


def test_where_no_copy_can_be_made_the_rest_is_planned_once_something_is_allowed_to_go(file: Path) -> None:
    """The storage is allowed; what the plan has behind it is seen, and refused, and the storage is protected again."""
    each = one(protect=True)
    registry = resource(azure_types.REGISTRY.token, "foundation-registry")
    found = {**state(storage(protect=True), registry), "secrets_providers": {"type": "service"}}
    stack = Planning(file, [], PROTECTED.format(each.urn))
    stack.after_unprotecting = Planned([step("replace", each), {"op": "replace", "urn": registry["urn"]}], ())
    with pytest.raises(update_check.RefusedLossError, match="--replace foundation-registry"):
        looked(stack, found, Allowed(replace=("foundation-storage",)))
    assert stack.free == []

    stack = Planning(file, [], PROTECTED.format(each.urn))
    stack.after_unprotecting = Planned([step("replace", each)], ())
    assert looked(stack, found, Allowed(replace=("foundation-storage",))).let_go == (each.urn,)
    assert stack.free == [each.urn]


def test_an_update_is_called_as_the_engine_would_call_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack: Any = Planning(file, [])
    assert fingerprint.message(stack).startswith("up [")
    monkeypatch.setattr(subprocess, "run", lambda words, **_: subprocess.CompletedProcess(words, 0, "More\n", ""))
    assert fingerprint.message(stack).startswith("More [")


@pytest.mark.slow
def test_an_update_has_the_subject_of_the_last_commit(tmp_path: Path) -> None:
    stack: Any = Planning(tmp_path / "Pulumi.s.yaml", [])
    stack.file.write_text("config: {}")
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "More\n\nwords"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    assert fingerprint.message(stack).startswith("More [")


# What goes down


class HeldStack:
    """A stack with a state."""

    def __init__(self, name: str, *resources: dict[str, Any]) -> None:
        self.name = name
        self._resources = list(resources)

    def deployment(self) -> dict[str, Any]:
        return {"resources": self._resources}


def provider(**inputs: str) -> dict[str, Any]:
    return {"urn": "urn", "type": "pulumi:providers:azure-native", "id": "1", "custom": True, "inputs": inputs}


@pytest.mark.parametrize(
    ("resources", "refused"),
    [
        ([], False),
        ([provider(metadataHost="localhost:4"), storage()], False),
        ([provider(metadataHost="127.0.0.1:4"), storage()], False),
        ([provider(metadataHost="[::1]:4"), storage()], False),
        ([provider(metadataHost="management.example.org"), storage()], True),
        ([provider(metadataHost="localhost.example.org"), storage()], True),
        ([provider(), storage()], True),
        ([storage()], True),
        ([provider(metadataHost="localhost:4"), provider(), storage()], True),
    ],
)
def test_all_is_for_providers_that_speak_to_this_machine(
    resources: list[dict[str, Any]], refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARM_METADATA_HOSTNAME", "localhost:4")  # of the shell: says nothing of what the stack was made with
    stack: Any = HeldStack("prod", *resources)
    if not refused:
        ending.refuse_elsewhere([stack])
        return
    with pytest.raises(ending.WrongRequestError, match=r"stack prod isn't; nothing was destroyed; fix: .* prod$"):
        ending.refuse_elsewhere([stack])


def test_the_answer_is_the_stacks_name_or_all(capsys: pytest.CaptureFixture[str]) -> None:
    one_stack: Any = HeldStack("dev", resource("azure-native:app:Job", "a"))
    two: list[Any] = [one_stack, HeldStack("lite")]
    asked: list[str] = []

    def answering(text: str) -> Callable[[str], str]:
        return lambda question: asked.append(question) or text

    assert ending.confirmed([one_stack], answering(" dev \n"))
    assert not ending.confirmed([one_stack], answering("y"))
    assert not ending.confirmed(two, answering("dev"))
    assert ending.confirmed(two, answering("all"))
    assert asked[0] == "destroy it? Type dev to go on: "
    assert asked[-1] == "destroy them? Type all to go on: "
    assert "stack dev: 1 resource will be deleted\n" in capsys.readouterr().out


def test_numbers_for_people() -> None:
    blobs = (ending.Blobs("st1", 1, 10, is_more=False), ending.Blobs("st2", 20_000, 3 * 1024**3, is_more=True))
    unread = ending.Blobs("st3", 0, 0, is_more=False, unread="no right")
    taken = ending.Deletions("dev", 1200, (*blobs, unread), tuple(f"vaults {number}" for number in range(7)), "no answer")
    assert list(taken.lines()) == [
        "stack dev: 1,200 resources will be deleted",
        "  blobs in st1: 1 blob, 1 KiB",
        "  blobs in st2: more than 20,000 blobs, more than 3.0 GiB",
        "  blobs in st3: can't be read (no right)",
        "  in the portal a deleted storage account can often be recovered for 14 days, but not after the next `up`",
        "  7 resources in its resource group that it didn't create: vaults 0, vaults 1, vaults 2, vaults 3, vaults 4 and 2 more",
        "  what else is in its resource group can't be read (no answer)",
    ]


def test_what_azure_makes_by_itself_is_nobody_elses() -> None:
    """Types and names as in the table's sources (azure_gpu/catalog/made_by_azure.csv), each beside one that is somebody's."""
    guid = "75b7636e-baf5-49af-aa32-d7c92f1ea32e"
    own = {
        "insights": azure_types.INSIGHTS_COMPONENT,
        "st1": azure_types.STORAGE_ACCOUNT,
        "trainer": azure_types.VIRTUAL_MACHINE,
        "ml": azure_types.PRIVATE_ENDPOINT,
    }
    listed = [
        *((azure_type.arm_type, name) for name, azure_type in own.items()),
        ("microsoft.alertsmanagement/smartDetectorAlertRules", "Failure Anomalies - insights"),
        ("microsoft.insights/actiongroups", "Application Insights Smart Detection"),
        ("Microsoft.EventGrid/systemTopics", f"st1-{guid}"),
        ("Microsoft.Compute/virtualMachines/extensions", "trainer/MDE.Linux"),
        ("Microsoft.Compute/disks", "trainer_OsDisk_1_faa9db6f6d27486bbf51f0d07ff0347b"),
        ("Microsoft.Network/networkInterfaces", f"ml.nic.{guid}"),
        ("microsoft.alertsmanagement/smartDetectorAlertRules", "Failure Anomalies - theirs"),
        ("microsoft.insights/actionGroups", "on-call"),
        ("Microsoft.EventGrid/systemTopics", "st1-uploads"),
        ("Microsoft.Compute/virtualMachines/extensions", "trainer/theirs"),
        ("Microsoft.Compute/disks", "trainer_data"),
        ("Microsoft.Network/networkInterfaces", f"theirs.nic.{guid}"),
    ]
    values = [{"id": f"{GROUP}/providers/{type_}/{name}", "type": type_, "name": name} for type_, name in listed]
    arm: Any = SimpleNamespace(values=lambda path, version: values)
    parts = [{**resource(each.token, name), "id": values[at]["id"]} for at, (name, each) in enumerate(own.items())]
    assert [each.split()[-1] for each in foreign_resources(arm, GROUP, state(*parts))] == [
        "theirs", "on-call", "st1-uploads", "trainer/theirs", "trainer_data", f"theirs.nic.{guid}"
    ]  # fmt: skip
    assert len(list(foreign_resources(arm, GROUP, state()))) == len(listed), "without the stack's own they are others'"

    deleted: list[tuple[str, str]] = []
    arm.delete = lambda resource_id, version: deleted.append((resource_id, version))
    assert delete_beside(arm, state(*parts)) == ["Failure Anomalies - insights", f"st1-{guid}"], "another component is there"
    values.pop(0)
    assert delete_beside(arm, state(*parts)) == [
        "Failure Anomalies - insights", "Application Insights Smart Detection", f"st1-{guid}"
    ]  # fmt: skip
    of_group = {**resource(azure_types.RESOURCE_GROUP.token, "rg"), "id": GROUP.upper()}
    assert delete_beside(arm, state(*parts, of_group)) == [], "they go with their group"
    assert [resource_id.rsplit("/", 1)[-1] for resource_id, version in deleted if version] == [
        "Failure Anomalies - insights", f"st1-{guid}",
        "Failure Anomalies - insights", "Application Insights Smart Detection", f"st1-{guid}",
    ]  # fmt: skip


def test_what_is_kept_is_no_loss_and_named_with_what_deletes_it() -> None:
    group, account = resource("azure-native:resources:ResourceGroup", "rg"), resource(azure_types.BATCH_ACCOUNT.token, "ours")
    store, within = resource(azure_types.STORAGE_ACCOUNT.token, "st1"), resource(azure_types.BLOB_SERVICE.token, "default")
    whole = state(*({**each, "retainOnDelete": True} for each in (group, account, store, within)))
    assert held(whole) == []
    assert [each.name for each in held(state(account))] == ["ours"]
    assert list(holding.lines_of_kept(whole)) == [
        "kept in Azure: ResourceGroup rg, BatchAccount ours, StorageAccount st1; the next `up` of the stack takes them in again",
        "  what is in the storage account is billed as before",
        "  to delete them for good, with the quota that was granted to them: az group delete --name rg",
    ]
    alone = {**account, "retainOnDelete": True}  # in a company's group
    assert list(holding.lines_of_kept(state(alone)))[-1].endswith(f"granted to them: az resource delete --ids {account['id']}")
    assert list(holding.lines_of_kept(state(account))) == []
    stack: Any = HeldStack("dev", alone, resource("azure-native:app:Job", "a"))
    assert list(ending.deletions_of(stack).lines()) == [
        "stack dev: 1 resource will be deleted",
        "  kept in Azure: BatchAccount ours",
    ]


def test_down_takes_one_of_stack_and_all(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(stack_verbs, "stack_names", lambda folder: ["dev", "prod"])
    for words in (["down"], ["down", "--yes"]):
        assert command.main(words) == 2
        assert capsys.readouterr().err == "error: down takes --stack NAME; existing stacks: dev, prod\n"
    assert command.main(["down", "--stack", "dev", "--all"]) == 2
    assert command.main(["down", "--stack", "other", "--yes"]) == 0
    assert "stack other doesn't exist" in capsys.readouterr().out


def test_the_protected_are_named_with_two_commands(tmp_path: Path) -> None:
    urns = [f"urn:pulumi:s::p::t::{name}" for name in ("ml-vault", "foundation-storage")]
    (tmp_path / "Pulumi.yaml").write_text("name: p")
    for config_file, more in ((None, ""), (tmp_path / "there" / "Pulumi.dev.yaml", f" --config-folder {tmp_path / 'there'}")):
        assert str(ending.ProtectedError(Stack(tmp_path, "dev", config_file), urns)).splitlines() == [
            "nothing was destroyed: stack dev protects foundation-storage, ml-vault; to delete what these hold, run",
            "  python -m operations pulumi state unprotect --all --yes --stack dev",
            f"  python -m operations down --stack dev{more}",
        ]


def test_where_standard_input_is_closed_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ending.WrongRequestError, match="standard input is not a terminal; fix: add --yes"):
        ending.confirmed([])


def test_a_plan_tells_errors_without_the_engines_prefix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: p")
    said = {"steps": [], "diagnostics": [{"severity": "error", "message": "error: bad\n"}, {"severity": "info", "message": "x"}]}
    answers = [(255, json.dumps(said)), (0, "{}"), (1, "no JSON"), (1, "{}")]
    done = iter(subprocess.CompletedProcess(["pulumi"], code, text, "") for code, text in answers)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: next(done))
    stack = Stack(tmp_path, "s")
    assert stack.planned() == Planned([], ("bad",))
    assert stack.planned() == Planned([], ())
    for _ in range(2):
        with pytest.raises(EngineError, match="`pulumi preview --json` ended with exit code 1"):
            stack.planned()
