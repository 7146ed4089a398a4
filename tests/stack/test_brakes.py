"""No word deletes data: `down`, `up` and `pulumi destroy` on stacks that hold some, with a terminal and without."""

import json
import shlex
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.catalog import roles
from azure_gpu.formats import azure_types
from tests.stack.conftest import Shipped
from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.ml_resources import give_role, upload
from tests.support.patience import SECONDS
from tests.support.stack import ProgramStack
from tests.support.terminal import END_OF_INPUT, Ended, on_terminal

pytestmark = pytest.mark.slow  # the real engine, and each test brings something up

PARTS = dict.fromkeys(["resource_group", "identity", "registry", "log_workspace", "storage"], "create")
PROTECTED = "foundation-blob-service, foundation-logs, foundation-registry, foundation-storage"
HOLDING = {"foundation-registry", "foundation-logs", "foundation-storage"}
ACCOUNTS, IDENTITIES, REGISTRIES = "2023-05-01", "2023-01-31", "2023-07-01"


def configuration(**changed: Any) -> dict[str, Any]:
    return {"team": "keep", "location": "westeurope", "protect_data": True, "lock_data": True, "foundation": PARTS, **changed}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAzure]:
    """A server with a backend in which no other test has a stack."""
    server = ServedAzure(tmp_path_factory.mktemp("brakes"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def held(own: ServedAzure, engine_bin: Path) -> Iterator[ProgramStack]:
    """A stack that holds data, protected. Every test leaves it as it was."""
    stack = ProgramStack(own, f"h{uuid.uuid4().hex[:6]}", configuration(), engine_bin=engine_bin)
    done = stack.operations("up")
    assert done.returncode == 0, done.stdout + done.stderr
    yield stack
    if stack.name in stack.names():  # a test has failed
        stack.let_go()
        stack.end()


@pytest.fixture
def stack(held: ProgramStack) -> Iterator[ProgramStack]:
    """The same, with the configuration that is up; what is up after the test is what was up before."""
    before = urns(held)
    yield held
    held.configure(configuration())
    assert urns(held) == before


def urns(stack: ProgramStack) -> dict[str, str]:
    return {each["urn"]: each.get("id", "") for each in stack.exported()["resources"]}


def created(stack: ProgramStack) -> list[str]:
    """What the stack has in Azure; the provider, by which it asks, isn't counted."""
    resources = stack.exported().get("resources") or []
    return [each["urn"] for each in resources if each.get("custom") and not each["type"].startswith("pulumi:providers:")]


def identifier(stack: ProgramStack, token: str) -> str:
    return next(each["id"] for each in stack.exported()["resources"] if each["type"] == token)


def terminal(stack: ProgramStack, *words: str, answer: str) -> Ended:
    """A verb of `operations` with a person at the terminal."""
    return on_terminal(stack.line(*words), cwd=CHECKOUT, environment=stack.environment, question="to go on: ", answer=answer)


def run(stack: ProgramStack, *command: str, given: str = "") -> str:
    """A command that has to go well, in the stack's environment, and its output."""
    done = subprocess.run(
        command, cwd=CHECKOUT, env=stack.environment, input=given, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def without_stack(stack: ProgramStack, *words: str) -> "subprocess.CompletedProcess[str]":
    line = stack.line(*words)
    at = line.index("--stack")
    command = [*line[:at], *line[at + 2 :]]
    return subprocess.run(
        command,
        cwd=CHECKOUT,
        env=stack.environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=SECONDS,
        check=False,
    )


# down


def test_down_takes_one_stack_or_all(stack: ProgramStack) -> None:
    done = stack.operations("down", "--all", "--yes")
    assert done.returncode == 2
    assert done.stderr == "error: down takes either --stack NAME or --all\n"


def test_all_is_refused_where_a_stack_is_elsewhere(stack: ProgramStack) -> None:
    name = f"real{uuid.uuid4().hex[:6]}"
    other = ProgramStack(stack.azure, name, configuration(), engine_bin=Path(stack.environment["PATH"].split(":")[0]))
    other.create()
    exported = json.loads(run(stack, "pulumi", "stack", "export", "--stack", stack.name))
    renamed = json.loads(json.dumps(exported).replace(f"urn:pulumi:{stack.name}::", f"urn:pulumi:{name}::"))
    for each in renamed["deployment"]["resources"]:
        if each["type"] == "pulumi:providers:azure-native":
            del each["inputs"]["metadataHost"]
    run(stack, "pulumi", "stack", "import", "--stack", name, given=json.dumps(renamed))
    try:
        done = without_stack(stack, "down", "--all", "--yes")
        assert done.returncode == 2
        assert done.stderr == (
            f"error: --all is only for stacks on the embedded Azure, and stack {name} isn't; nothing was destroyed; "
            f"fix: python -m operations down --stack {name}\n"
        )
    finally:
        run(stack, "pulumi", "stack", "rm", "--force", "--yes", "--preserve-config", name)


@pytest.mark.parametrize("with_terminal", [True, False], ids=["terminal", "closed"])
def test_down_refuses_what_is_protected_and_names_the_two_commands(stack: ProgramStack, with_terminal: bool) -> None:
    if with_terminal:
        ended = terminal(stack, "down", answer="")  # it doesn't come to a question
        code, shown = ended.returncode, ended.shown
    else:
        done = stack.operations("down", "--yes")
        code, shown = done.returncode, done.stderr
    assert code == 1, shown
    assert f"nothing was destroyed: stack {stack.name} protects {PROTECTED}; to delete" in shown
    assert f"  python -m operations pulumi state unprotect --all --yes --stack {stack.name}" in shown
    assert f"  python -m operations down --stack {stack.name} --config-folder {stack.azure.state}" in shown


# up


def test_another_team_is_refused_with_all_that_would_go(stack: ProgramStack) -> None:
    stack.configure(configuration(team="keep2"))
    done = stack.operations("up")
    shown = done.stderr
    assert done.returncode == 1, shown
    assert "3 problems, nothing was changed:" in shown
    for each in stack.exported()["resources"]:
        name = each["urn"].rsplit("::", 1)[-1]
        if name in HOLDING:
            line = next(line for line in shown.splitlines() if f"--replace {name}" in line)
            assert line.startswith("  - team: this up would replace the "), line
            assert each["id"].rsplit("/", 1)[-1] in line
            assert f"been there since {each['created'][:19]}Z" in line
            assert "given: 'keep -> keep2'" in line
            assert "fix: set team back to keep; " in line


def test_another_location_is_refused_and_what_others_have_in_the_group_is_named(stack: ProgramStack) -> None:
    group = identifier(stack, azure_types.RESOURCE_GROUP.token)
    stranger = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/theirs"
    assert stack.azure.put(stranger, {"location": "westeurope"}, IDENTITIES).status_code == 201
    stack.configure(configuration(location="northeurope"))
    try:
        done = stack.operations("up")
    finally:
        assert stack.azure.delete(stranger, IDENTITIES).status_code == 200
    assert done.returncode == 1, done.stdout
    assert (
        "and lose what others have put into it: userAssignedIdentities theirs; given: 'westeurope -> northeurope'" in done.stderr
    )
    assert "allowed: with --replace foundation-resource-group; " in done.stderr
    assert "  - location: this up would replace the storage account " in done.stderr
    assert "given: 'westeurope -> northeurope'" in done.stderr


@pytest.mark.parametrize("option", ["--replace", "--delete"])
def test_a_name_that_nothing_has_is_refused(stack: ProgramStack, option: str) -> None:
    done = stack.operations("up", option, "foundation-store")
    assert done.returncode == 2
    assert done.stderr == (
        f"error: {option}: no resource of the stack that holds data or serves traffic has this name; given: 'foundation-store'; "
        "allowed: foundation-logs, foundation-registry, foundation-resource-group, foundation-storage\n"
    )


def test_the_engine_plans_only_where_something_that_decides_has_changed(stack: ProgramStack, tmp_path: Path) -> None:
    log = tmp_path / "commands"
    shim = tmp_path / "pulumi"
    found = shutil.which("pulumi", path=stack.environment["PATH"])
    shim.write_text(f'#!/bin/sh\necho "$1" >> {log}\nexec {found} "$@"\n')
    shim.chmod(0o755)

    def engine_runs(**changed: Any) -> list[str]:
        log.write_text("")
        stack.configure(configuration(**changed))
        done = stack.operations("up", PATH=f"{tmp_path}:{stack.environment['PATH']}")
        assert done.returncode == 0, done.stdout + done.stderr
        # A plain value under a name that a secret would have is warned of, also where nothing is looked at.
        assert ("tags.deploy_token: this looks like a secret, and is in plain text" in done.stdout) is ("tags" in changed)
        assert "hunter2" not in done.stdout
        return [word for word in log.read_text().split() if word in ("preview", "up")]

    assert engine_runs(ml_endpoints={}) == ["preview", "up"]
    assert engine_runs(ml_endpoints={}, tags={"owner": "me", "deploy_token": "hunter2"}) == ["up"]
    assert stack.pulumi("up", "--yes", "--skip-preview").returncode == 0  # not looked at by anybody
    assert engine_runs(ml_endpoints={}, tags={"owner": "me", "deploy_token": "hunter2"}) == ["preview", "up"]
    assert engine_runs() == ["preview", "up"]


# plain pulumi


def test_plain_pulumi_deletes_and_replaces_nothing_that_is_protected(stack: ProgramStack) -> None:
    done = stack.pulumi("destroy", "--yes")
    assert done.returncode != 0
    assert "cannot be deleted" in done.stdout + done.stderr
    stack.configure(configuration(team="keep2"))
    done = stack.pulumi("up", "--yes")
    assert done.returncode != 0
    assert "unable to replace resource" in done.stdout + done.stderr
    for token, version in ((azure_types.STORAGE_ACCOUNT.token, ACCOUNTS), (azure_types.REGISTRY.token, REGISTRIES)):
        kept = stack.azure.delete(identifier(stack, token), version)  # by whatever else deletes
        assert (kept.status_code, kept.json()["error"]["code"]) == (409, "ScopeLocked")


def test_what_would_be_deleted_or_replaced_is_refused_until_it_is_named_so(held: ProgramStack) -> None:
    """The first that changes what is up, and so after the others."""
    left = {key: value for key, value in PARTS.items() if key != "registry"}
    moved = {"create": True, "overrides": {"location": "northeurope"}}
    held.configure(configuration(foundation={**left, "storage": moved}))
    before = urns(held)
    done = held.operations("up", "--replace", "foundation-registry", "--delete", "foundation-storage")
    assert done.returncode == 1, done.stdout
    assert "2 problems, nothing was changed" in done.stderr  # each is allowed to go, and not as it would
    assert "  - foundation.registry: this up would delete the container registry " in done.stderr
    assert "allowed: with --delete foundation-registry; fix: restore foundation.registry\n" in done.stderr
    assert "  - location: this up would replace the storage account " in done.stderr
    assert "given: 'westeurope -> northeurope'; allowed: with --replace foundation-storage; " in done.stderr
    assert urns(held) == before

    done = held.operations("up", "--delete", "foundation-registry", "--replace", "foundation-storage")
    assert done.returncode == 0, done.stdout + done.stderr
    gone = {urn.rsplit("::", 1)[-1] for urn in before.keys() - urns(held).keys()}
    assert gone & HOLDING == {"foundation-registry"}
    (account,) = (each for each in held.exported()["resources"] if each["type"] == azure_types.STORAGE_ACCOUNT.token)
    assert account["protect"] is True
    assert held.azure.get(account["id"], ACCOUNTS).json()["location"] == "northeurope"


def test_one_key_lets_go(held: ProgramStack) -> None:
    held.configure(configuration(protect_data=False, lock_data=False))
    done = held.operations("up", "--replace", "foundation-storage")  # back to where the stack is
    assert done.returncode == 0, done.stdout + done.stderr
    account = identifier(held, azure_types.STORAGE_ACCOUNT.token)
    service = held.azure.get(f"{account}/blobServices/default", ACCOUNTS).json()["properties"]
    assert service["deleteRetentionPolicy"]["enabled"] is False
    assert [each["urn"] for each in held.exported()["resources"] if each.get("protect")] == []


def test_on_a_terminal_down_asks_with_the_numbers(stack: ProgramStack) -> None:
    azure = stack.azure
    account = identifier(stack, azure_types.STORAGE_ACCOUNT.token)
    group = identifier(stack, azure_types.RESOURCE_GROUP.token)
    stranger = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/theirs"
    assert azure.put(stranger, {"location": "westeurope"}, IDENTITIES).status_code == 201
    give_role(azure, account, roles.STORAGE_BLOB_DATA_CONTRIBUTOR, azure.principal_id)
    upload(azure, account.rsplit("/", 1)[-1], "models", "weights", b"x" * 2048)
    try:
        ended = terminal(stack, "down", answer="no\n")
        assert ended.returncode == 1, ended.shown
        assert f"stack {stack.name}: " in ended.shown
        assert f"blobs in {account.rsplit('/', 1)[-1]}: 1 blob, 2 KiB" in ended.shown
        assert "1 resource in its resource group that it didn't create: userAssignedIdentities theirs" in ended.shown
        assert ended.shown.rstrip().endswith("nothing was destroyed")
        ended = terminal(stack, "down", answer=END_OF_INPUT)
        assert ended.returncode == 2, ended.shown
        assert "error: the terminal ended before an answer; nothing was destroyed" in ended.shown
    finally:
        assert azure.delete(stranger, IDENTITIES).status_code == 200


def test_on_a_terminal_down_destroys_what_is_agreed_to(held: ProgramStack) -> None:
    ended = terminal(held, "down", answer=f"{held.name}\n")
    assert ended.returncode == 0, ended.shown
    assert held.name not in held.names()
    done = without_stack(held, "down", "--all", "--yes")
    assert (done.returncode, done.stderr) == (0, "")


# A cluster for the company's addresses alone, and what is on it.
OUT_OF_REACH: dict[str, Any] = {"azure-gpu:clusters": {"shared": None}, "azure-gpu:ml_endpoints": {}}


def test_pulumi_destroy_of_the_shipped_stack_that_lasts(azure: ServedAzure, shipped: Shipped) -> None:
    """The others are brought up and taken down by `test_promised_commands`."""
    stack = shipped(azure, "prod")
    content = yaml.safe_load(stack.config_file.read_text())
    content["config"] |= OUT_OF_REACH
    stack.config_file.write_text(yaml.safe_dump(content, sort_keys=False))
    done = stack.pulumi("up", "--yes", "--skip-preview")
    assert done.returncode == 0, done.stdout
    before = urns(stack)
    refused = stack.operations("down", "--yes")
    assert refused.returncode == 1
    what, first, second = (line.strip() for line in refused.stderr.splitlines()[-3:])
    assert what.startswith("error: nothing was destroyed: stack prod protects batch-account, foundation-blob-service, ")
    assert urns(stack) == before
    assert second == f"python -m operations down --stack prod --config-folder {azure.state}"
    run(stack, *shlex.split(first))
    done = stack.pulumi("destroy", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert created(stack) == []


# secrets


@pytest.mark.parametrize("through", ["operations", "pulumi"])
def test_an_encrypted_value_at_a_key_in_plain_text_is_refused(own: ServedAzure, engine_bin: Path, through: str) -> None:
    job = {"image": "docker.io/library/python:3.12-slim", "expires_after": "2026-11-30"}
    config = configuration(location="eastus", as_of="2026-11-21", foundation={"resource_group": "create"}, jobs={"train": job})
    stack = ProgramStack(own, f"s{uuid.uuid4().hex[:6]}", config, engine_bin=engine_bin)
    stack.create()
    path = "azure-gpu:jobs.train.environment.DB_PASSWORD"
    done = stack.pulumi("config", "set", "--secret", "--path", path, "PLAINTEXTSECRET")
    assert done.returncode == 0, done.stderr
    done = stack.operations("up") if through == "operations" else stack.pulumi("up", "--yes")
    said = done.stdout + done.stderr
    assert done.returncode != 0
    if through == "operations":
        assert "jobs.train.environment.DB_PASSWORD: this value is encrypted in the stack file, but this key is kept in " in said
        assert "pulumi config set --secret --path 'jobs.train.secret_environment.DB_PASSWORD'" in said
    else:  # the file isn't in the project's folder, so nobody knows which value it is
        assert "jobs: a value in this section is encrypted, but every key that is set in it is kept in plain text" in said
    assert "PLAINTEXTSECRET" not in json.dumps(stack.exported())
    assert created(stack) == []
    stack.end()
