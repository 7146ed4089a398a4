"""Files that go with a run: what is requested, the image that carries them, and the carrier itself against a blob service."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from email.message import Message
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast
from urllib.error import HTTPError
from urllib.parse import parse_qs, unquote, urlsplit
from urllib.request import Request

import pytest

from azure_gpu.formats.build_context import DOCKERFILE
from azure_gpu_operations.batch import blobs
from azure_gpu_operations.run import carried
from azure_gpu_operations.run.carried import Files, Input
from azure_gpu_operations.run.carrier import carry
from azure_gpu_operations.run.context import of_folder, of_script
from azure_gpu_operations.run.protocol import WrongRunError
from azure_gpu_operations.run.target import Target

SCRIPT = of_script("train.py", "print(1)\n", "", "python:3.11-slim")
FOLDER = of_folder("work", {DOCKERFILE: b'FROM python:3.11-slim\nENTRYPOINT ["python", "-m", "work"]\nCMD ["--epochs", "1"]\n'})


def test_inputs_have_their_own_name_or_the_one_that_is_given(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "labels.txt").write_text("a")
    found, problems = carried.resolve([f"{tmp_path}/data", f"{tmp_path}/labels.txt=in/classes.txt"], ["out/*.npz"], None)
    assert problems == []
    assert found == Files(
        (Input(tmp_path / "data", "data"), Input(tmp_path / "labels.txt", "in/classes.txt")), ("out/*.npz",), None
    )


@pytest.mark.parametrize(
    ("inputs", "outputs", "said"),
    [
        (["nowhere"], [], "--input: file or folder not found; given: 'nowhere'"),
        (["here=../up"], [], "--input: the path is outside the program's working folder; given: '../up'"),
        (["here", "here"], [], "--input: two inputs have the same name; given: 'here'"),
        ([], ["/etc/passwd"], "--output: the path is outside the program's working folder"),
        ([], ["a/../../b"], "--output: the path is outside the program's working folder"),
    ],
)
def test_what_can_not_be_carried_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inputs: list[str], outputs: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").write_text("x")
    _, problems = carried.resolve(inputs, outputs, None)
    assert [str(each).startswith(said) for each in problems] == [True], problems


def test_only_what_is_built_can_have_files_and_only_with_a_storage_account() -> None:
    files = Files(outputs=("*",))
    assert carried.check(Files(), None, "", "dev") == []
    assert carried.check(files, SCRIPT, "/storage", "dev") == []
    assert "no storage account" in str(carried.check(files, SCRIPT, "", "dev")[0])
    assert "files require a built image" in str(carried.check(files, None, "/storage", "dev")[0])
    shell = of_folder("work", {DOCKERFILE: b"FROM python:3.11-slim\nENTRYPOINT python -m work\n"})
    assert "the image's command can't be determined" in str(carried.check(files, shell, "/storage", "dev")[0])


def test_the_image_starts_the_carrier_which_starts_what_it_started() -> None:
    context, words = carried.with_carrier(SCRIPT, ["--epochs", "3"])
    assert context.files[DOCKERFILE].decode().splitlines()[-2:] == [
        "COPY azure-gpu-carry.py /azure-gpu-carry.py",
        'ENTRYPOINT ["python", "/azure-gpu-carry.py", "python", "/app/train.py"]',
    ]
    assert words == ["--epochs", "3"]
    assert context.tag != SCRIPT.tag
    context, words = carried.with_carrier(FOLDER, [])
    assert context.files[DOCKERFILE].decode().splitlines()[-1] == 'ENTRYPOINT ["python3", "/azure-gpu-carry.py"]'
    assert words == ["python", "-m", "work", "--epochs", "1"]
    assert carried.with_carrier(FOLDER, ["--epochs", "3"])[1] == ["python", "-m", "work", "--epochs", "3"]


class Azure:
    """An identity endpoint and one container of blobs. `busy`: how requests are refused first, 0 for one that isn't."""

    url = "https://azure.example"

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.blocks: dict[str, bytes] = {}
        self.tokens: list[tuple[str, dict[str, str], dict[str, list[str]]]] = []
        self.busy: list[int] = []
        self.no_token: list[str] = []

    def open(self, request: Request, timeout: float) -> BytesIO:
        """In place of `urllib.request.urlopen`."""
        assert timeout > 0
        parts, body = urlsplit(request.full_url), request.data
        assert body is None or isinstance(body, bytes)
        if parts.path.startswith("/runs"):
            status, content = self._blob(request, unquote(parts.path).removeprefix("/runs/"), parse_qs(parts.query), body or b"")
        else:
            status, content = self._token(request, parts.path, parse_qs((body or b"").decode() or parts.query))
        if status < 400:
            return BytesIO(content)
        headers = Message()
        headers["x-ms-error-code"] = "AuthorizationPermissionMismatch"
        raise HTTPError(request.full_url, status, "", headers, BytesIO(content))

    def _token(self, request: Request, path: str, query: dict[str, list[str]]) -> tuple[int, bytes]:
        self.tokens.append((path, {name.lower(): value for name, value in request.header_items()}, query))
        if self.no_token:
            return 401, json.dumps({"error": "invalid_client", "error_description": self.no_token.pop(0)}).encode()
        return 200, json.dumps({"access_token": "t", "expires_in": "3600"}).encode()

    def _blob(self, request: Request, name: str, query: dict[str, list[str]], body: bytes) -> tuple[int, bytes]:
        headers = {key.lower(): value for key, value in request.header_items()}
        assert headers["authorization"] == "Bearer t"
        assert headers["x-ms-version"]
        if (status := self.busy.pop(0) if self.busy else 0) != 0:
            return status, b""
        match request.method, query.get("comp", [""])[0]:
            case "GET", "list":
                names = [each for each in sorted(self.blobs) if each.startswith(query["prefix"][0])]
                blobs = "".join(f"<Blob><Name>{each}</Name></Blob>" for each in names)
                return 200, f"<EnumerationResults><Blobs>{blobs}</Blobs><NextMarker/></EnumerationResults>".encode()
            case "GET", _:
                return 200, self.blobs[name]
            case "PUT", "block":
                self.blocks[query["blockid"][0]] = body
            case "PUT", "blocklist":
                ids = [part.partition("<")[0] for part in body.decode().split("<Latest>")[1:]]
                self.blobs[name] = b"".join(self.blocks[each] for each in ids)
            case "PUT", _:
                assert headers["x-ms-blob-type"] == "BlockBlob"
                self.blobs[name] = body
            case _:
                return (202 if self.blobs.pop(name, None) is not None else 404), b""
        return 201, b""


class Carried(NamedTuple):
    """How the carrier ended."""

    code: int
    lines: list[str]


class Carrier:
    """The carrier in the test's process and in a folder of its own. `program` stands for the one that it starts."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.azure = Azure()
        self.folder = folder
        self._monkeypatch, self._capsys = monkeypatch, capsys
        self.program: Callable[[], int] = lambda: 0
        monkeypatch.chdir(folder)
        monkeypatch.setattr(carry.urllib.request, "urlopen", self.azure.open)
        monkeypatch.setattr(carry.time, "sleep", lambda _: None)
        monkeypatch.setattr(carry.signal, "signal", lambda *_: None)
        monkeypatch.setattr(carry.subprocess, "Popen", lambda _: SimpleNamespace(wait=lambda: self.program()))
        monkeypatch.setattr(carry, "_PART_BYTES", 100)

    def run(self, *, inputs: Sequence[Any] = (), outputs: Sequence[str] = (), **environment: str) -> Carried:
        told = files_of(self.azure, inputs, outputs)
        known = {"IDENTITY_ENDPOINT": f"{self.azure.url}/msi/token", "IDENTITY_HEADER": "secret", **environment}
        for name, value in {**known, carry.VARIABLE: json.dumps(told)}.items():
            self._monkeypatch.setenv(name, value)
        code = carry.main(["program"])
        return Carried(code, self._capsys.readouterr().err.splitlines())


def files_of(azure: Azure, inputs: Sequence[Any] = (), outputs: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "container_url": f"{azure.url}/runs",
        "client_id": "client",
        "inputs": inputs,
        "outputs": outputs,
        "prefix": "run-1/main",
        "under_way": "under-way/run-1" if outputs else "",
    }


@pytest.fixture
def carrier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Carrier:
    return Carrier(tmp_path, monkeypatch, capsys)


def writes(*names: str, code: int = 0) -> Callable[[], int]:
    """A program that leaves files with their own names in them."""

    def program() -> int:
        for name in names:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(name)
        return code

    return program


def test_inputs_are_there_when_the_program_starts_and_what_it_leaves_is_uploaded(carrier: Carrier) -> None:
    blobs = carrier.azure.blobs
    blobs |= {"inputs/1/a b.txt": b"one", "inputs/1/deep/c.txt": b"two", "inputs/2": b"three", "inputs/20": b"none of it"}
    blobs |= {"under-way/run-1": b"", "under-way/run-10": b""}
    found: list[str] = []

    def program() -> int:
        found.extend(sorted(path.as_posix() for path in Path().rglob("*") if path.is_file()))
        found.append(str(carry.VARIABLE in os.environ))
        writes("out/small.txt", "left.log")()
        Path("out/x").mkdir()
        Path("out/x/large.bin").write_bytes(b"0123456789" * 25)
        return 7

    carrier.program = program
    inputs = [{"from": "inputs/1/", "to": "data"}, {"from": "inputs/20", "to": "labels"}]
    done = carrier.run(inputs=inputs, outputs=["out", "out/*.txt"])
    assert done == (7, ["azure-gpu: fetched 3 input files", "azure-gpu: uploaded 2 files"])
    assert found == ["data/a b.txt", "data/deep/c.txt", "labels", "False"]
    assert blobs["run-1/main/out/x/large.bin"] == b"0123456789" * 25
    assert blobs["run-1/main/out/small.txt"] == b"out/small.txt"
    assert "run-1/main/left.log" not in blobs
    assert [name for name in blobs if name.startswith("under-way")] == ["under-way/run-10"]


def test_a_run_whose_files_can_not_all_be_uploaded_stays_under_way(carrier: Carrier) -> None:
    carrier.azure.blobs = {"under-way/run-1": b""}
    carrier.azure.busy = [0, *[403] * 6]
    carrier.program = writes("a", "b")
    assert carrier.run(outputs=["a", "b"]).code == 125
    assert carrier.azure.blobs == {"under-way/run-1": b"", "run-1/main/a": b"a"}


def test_what_is_refused_for_a_while_is_tried_again(carrier: Carrier) -> None:
    carrier.azure.busy = [403, 503, 429]
    carrier.program = writes("a")
    assert (carrier.run(outputs=["a"]).code, carrier.azure.blobs) == (0, {"run-1/main/a": b"a"})


def test_what_stays_refused_names_the_role_and_is_no_exit_code_of_the_programs(carrier: Carrier) -> None:
    carrier.azure.busy = [403] * 6
    carrier.program = writes("a")
    done = carrier.run(outputs=["a"])
    assert done.code == 125
    assert done.lines[-1] == (
        f"azure-gpu: {carrier.azure.url}/runs rejects the request: AuthorizationPermissionMismatch; assign its identity the role "
        "Storage Blob Data Contributor on the account"
    )


def test_one_that_a_signal_ends_has_a_shells_code(carrier: Carrier) -> None:
    carrier.program = lambda: -9
    assert carrier.run(outputs=["nowhere/*"]).code == 137


@pytest.mark.slow
def test_the_carrier_runs_by_itself_as_in_a_container(tmp_path: Path) -> None:
    words = [
        sys.executable,
        carry.__file__,
        sys.executable,
        "-c",
        "import os, sys; sys.exit(7 if 'AZURE_GPU_FILES' in os.environ else 3)",
    ]
    told = {"PATH": "/usr/bin", carry.VARIABLE: json.dumps(files_of(Azure()))}
    assert subprocess.run(words, cwd=tmp_path, env=told, check=False).returncode == 3
    words[2:] = ["no-such-program"]
    done = subprocess.run(words, cwd=tmp_path, env=told, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (125, "azure-gpu: no-such-program can't be started: No such file or directory\n")


@pytest.mark.parametrize(
    ("environment", "path", "header", "query"),
    [
        ({}, "/msi/token", ("x-identity-header", "secret"), {"api-version": ["2019-08-01"], "client_id": ["client"]}),
        (
            {"IDENTITY_ENDPOINT": "", "MSI_ENDPOINT": "{url}/ml/token", "MSI_SECRET": "s"},
            "/ml/token",
            ("secret", "s"),
            {"api-version": ["2017-09-01"], "clientid": ["client"]},
        ),
        (
            {"IDENTITY_ENDPOINT": "", "AZURE_POD_IDENTITY_AUTHORITY_HOST": "{url}"},
            "/metadata/identity/oauth2/token",
            ("metadata", "true"),
            {"api-version": ["2018-02-01"], "client_id": ["client"]},
        ),
    ],
    ids=["Container Apps", "Azure ML", "machine"],
)
def test_a_token_is_asked_for_as_each_service_has_it(
    carrier: Carrier,
    environment: dict[str, str],
    path: str,
    header: tuple[str, str],
    query: dict[str, list[str]],
) -> None:
    carrier.program = writes("a")
    given = {name: value.format(url=carrier.azure.url) for name, value in environment.items()}
    assert carrier.run(outputs=["a"], **given).code == 0
    ((asked, headers, found),) = carrier.azure.tokens
    assert (asked, headers[header[0]]) == (path, header[1])
    assert found == {"resource": ["https://storage.azure.com/"], **query}


def pods_variables(carrier: Carrier) -> dict[str, str]:
    """As the webhook of workload identity sets them."""
    token = carrier.folder / "token"
    token.write_text("of the service account")
    return {
        "AZURE_FEDERATED_TOKEN_FILE": str(token),
        "AZURE_CLIENT_ID": "pods",
        "AZURE_TENANT_ID": "tenant",
        "AZURE_AUTHORITY_HOST": f"{carrier.azure.url}/",
    }


def test_a_credential_that_is_new_is_waited_for_and_any_other_refusal_is_told_in_entras_words(carrier: Carrier) -> None:
    given, azure, carrier.program = pods_variables(carrier), carrier.azure, writes("a")
    azure.no_token = ["AADSTS700213: No matching federated identity record found for presented assertion subject 'a'."] * 2
    assert carrier.run(outputs=["a"], **given).code == 0
    assert len(azure.tokens) == 3
    azure.no_token = ["AADSTS700016: Application with identifier 'pods' was not found.\r\nTrace ID: 1"]
    done = carrier.run(outputs=["a"], **given)
    assert (done.code, len(azure.tokens)) == (125, 4)
    assert done.lines[-1] == (
        "azure-gpu: the container's identity gets no token: AADSTS700016: Application with identifier 'pods' was not found."
    )


def test_a_pods_token_is_exchanged_for_one_of_its_identity(carrier: Carrier) -> None:
    carrier.program = writes("a")
    assert carrier.run(outputs=["a"], **pods_variables(carrier)).code == 0
    ((path, _, form),) = carrier.azure.tokens
    assert path == "/tenant/oauth2/v2.0/token"
    assert (form["client_id"], form["client_assertion"]) == (["pods"], ["of the service account"])
    assert form["scope"] == ["https://storage.azure.com/.default"]


def test_the_name_under_which_files_lie_is_as_short_as_the_service_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[str] = []
    monkeypatch.setattr(blobs, "Blobs", lambda *_: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(carried, "placed", lambda _blobs, _files, run, _client_id: kept.append(run) or {})
    target = Target(context=of_script("a-program-with-a-rather-long-name.py", "", "", "python:3.11-slim"))
    with carried.carrying(cast(Any, None), "/storage", target, (), Files(outputs=("*",)), lambda: "", 43) as found:
        assert found.files.name == kept[0]
    assert len(kept[0]) <= 43


def test_the_folder_for_fetched_files_is_made_before_anything_starts(tmp_path: Path) -> None:
    carried.make_folder(None)
    carried.make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_a_folder_that_cannot_be_made_refuses_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WrongRunError) as refused:
        carried.make_folder(tmp_path / "file" / "out")
    assert "--into: the folder can't be created: not a directory" in str(refused.value.problems[0])
