"""Files that go with a run: what is requested, the image that carries them, and the carrier itself against a blob service."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from azure_gpu_operations.batch import blobs
from azure_gpu_operations.run import carried
from azure_gpu_operations.run.carried import Files, Input
from azure_gpu_operations.run.carrier import carry
from azure_gpu_operations.run.context import DOCKERFILE, of_folder, of_script
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


class Azure(ThreadingHTTPServer):
    """An identity endpoint and one container of blobs. `busy`: how requests are refused first, 0 for one that isn't."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.blobs: dict[str, bytes] = {}
        self.blocks: dict[str, bytes] = {}
        self.tokens: list[tuple[str, dict[str, str], dict[str, list[str]]]] = []
        self.busy: list[int] = []
        self.no_token: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Azure

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        if parts.path.endswith("/token"):
            self.server.tokens.append((parts.path, {name.lower(): value for name, value in self.headers.items()}, query))
            self._answer(200, json.dumps({"access_token": "t", "expires_in": "3600"}).encode())
        elif self._refused():
            return
        elif query.get("comp") == ["list"]:
            names = [name for name in sorted(self.server.blobs) if name.startswith(query["prefix"][0])]
            blobs = "".join(f"<Blob><Name>{name}</Name></Blob>" for name in names)
            self._answer(200, f"<EnumerationResults><Blobs>{blobs}</Blobs><NextMarker/></EnumerationResults>".encode())
        else:
            self._answer(200, self.server.blobs[unquote(parts.path).removeprefix("/runs/")])

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.tokens.append((self.path, {}, parse_qs(body)))
        if self.server.no_token:
            told = {"error": "invalid_client", "error_description": self.server.no_token.pop(0)}
            self._answer(401, json.dumps(told).encode())
            return
        self._answer(200, json.dumps({"access_token": "t", "expires_in": 3600}).encode())

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self._refused():
            return
        parts = urlsplit(self.path)
        query, name = parse_qs(parts.query), unquote(parts.path).removeprefix("/runs/")
        if query.get("comp") == ["block"]:
            self.server.blocks[query["blockid"][0]] = body
        elif query.get("comp") == ["blocklist"]:
            ids = [part.partition("<")[0] for part in body.decode().split("<Latest>")[1:]]
            self.server.blobs[name] = b"".join(self.server.blocks[each] for each in ids)
        else:
            assert self.headers["x-ms-blob-type"] == "BlockBlob"
            self.server.blobs[name] = body
        self._answer(201)

    def do_DELETE(self) -> None:
        if self._refused():
            return
        name = unquote(urlsplit(self.path).path).removeprefix("/runs/")
        self._answer(202 if self.server.blobs.pop(name, None) is not None else 404)

    def _refused(self) -> bool:
        assert self.headers["Authorization"] == "Bearer t"
        assert self.headers["x-ms-version"]
        status = self.server.busy.pop(0) if self.server.busy else 0
        if not status:
            return False
        self._answer(status, headers={"x-ms-error-code": "AuthorizationPermissionMismatch"})
        return True

    def _answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def azure() -> Iterator[Azure]:
    server = Azure()
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def carry_out(
    azure: Azure,
    folder: Path,
    program: str,
    *,
    inputs: Sequence[Any] = (),
    outputs: Sequence[str] = (),
    **environment: str,
) -> "subprocess.CompletedProcess[str]":
    told = {
        "container_url": f"{azure.url}/runs",
        "client_id": "client",
        "inputs": inputs,
        "outputs": outputs,
        "prefix": "run-1/main",
        "under_way": "under-way/run-1" if outputs else "",
    }
    # The waits between tries are left out: what is tested is what is tried.
    code = "import sys; sys.argv[:1] = []; from azure_gpu_operations.run.carrier import carry; carry._WAIT_SECONDS = 0.0; "
    code += "carry._PART_BYTES = 100; sys.exit(carry.main(sys.argv))"
    words = [sys.executable, "-c", code, sys.executable, "-c", program]
    known = {"PATH": "/usr/bin", "IDENTITY_ENDPOINT": f"{azure.url}/msi/token", "IDENTITY_HEADER": "secret", **environment}
    return subprocess.run(
        words, cwd=folder, env={**known, carry.VARIABLE: json.dumps(told)}, capture_output=True, text=True, check=False
    )


def test_inputs_are_there_when_the_program_starts_and_what_it_leaves_is_uploaded(azure: Azure, tmp_path: Path) -> None:
    azure.blobs = {"inputs/1/a b.txt": b"one", "inputs/1/deep/c.txt": b"two", "inputs/2": b"three", "inputs/20": b"none of it"}
    azure.blobs |= {"under-way/run-1": b"", "under-way/run-10": b""}
    program = (
        "import os, pathlib, sys; print(sorted(p.as_posix() for p in pathlib.Path().rglob('*') if p.is_file()));"
        "pathlib.Path('out/x').mkdir(parents=True); pathlib.Path('out/x/large.bin').write_bytes(b'0123456789' * 25);"
        "pathlib.Path('out/small.txt').write_text('s'); pathlib.Path('left.log').write_text('no');"
        "print('AZURE_GPU_FILES' in os.environ); sys.exit(7)"
    )
    inputs = [{"from": "inputs/1/", "to": "data"}, {"from": "inputs/20", "to": "labels"}]
    done = carry_out(azure, tmp_path, program, inputs=inputs, outputs=["out", "out/*.txt"])
    assert done.returncode == 7, done.stderr
    assert done.stdout.splitlines() == ["['data/a b.txt', 'data/deep/c.txt', 'labels']", "False"]
    assert done.stderr.splitlines() == ["azure-gpu: fetched 3 input files", "azure-gpu: uploaded 2 files"]
    assert azure.blobs["run-1/main/out/x/large.bin"] == b"0123456789" * 25
    assert azure.blobs["run-1/main/out/small.txt"] == b"s"
    assert "run-1/main/left.log" not in azure.blobs
    assert [name for name in azure.blobs if name.startswith("under-way")] == ["under-way/run-10"]


def test_a_run_whose_files_can_not_all_be_uploaded_stays_under_way(azure: Azure, tmp_path: Path) -> None:
    azure.blobs = {"under-way/run-1": b""}
    azure.busy = [0, *[403] * 6]
    done = carry_out(azure, tmp_path, "[open(name, 'w').write(name) for name in 'ab']", outputs=["a", "b"])
    assert done.returncode == 125
    assert azure.blobs == {"under-way/run-1": b"", "run-1/main/a": b"a"}


def test_what_is_refused_for_a_while_is_tried_again(azure: Azure, tmp_path: Path) -> None:
    azure.busy = [403, 503, 429]
    done = carry_out(azure, tmp_path, "open('a', 'w').write('x')", outputs=["a"])
    assert (done.returncode, azure.blobs) == (0, {"run-1/main/a": b"x"})


def test_what_stays_refused_names_the_role_and_is_no_exit_code_of_the_programs(azure: Azure, tmp_path: Path) -> None:
    azure.busy = [403] * 6
    done = carry_out(azure, tmp_path, "open('a', 'w').write('x')", outputs=["a"])
    assert done.returncode == 125
    assert done.stderr.splitlines()[-1] == (
        f"azure-gpu: {azure.url}/runs rejects the request: AuthorizationPermissionMismatch; assign its identity the role Storage "
        "Blob Data Contributor on the account"
    )
    assert "Traceback" not in done.stderr


def test_a_program_that_is_not_there_and_one_that_a_signal_ends(azure: Azure, tmp_path: Path) -> None:
    killed = carry_out(azure, tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", outputs=["a"])
    assert killed.returncode == 137
    assert carried.carry.left(["nowhere/*"]) == []


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
    azure: Azure,
    tmp_path: Path,
    environment: dict[str, str],
    path: str,
    header: tuple[str, str],
    query: dict[str, list[str]],
) -> None:
    given = {name: value.format(url=azure.url) for name, value in environment.items()}
    assert carry_out(azure, tmp_path, "open('a', 'w')", outputs=["a"], **given).returncode == 0
    ((asked, headers, found),) = azure.tokens
    assert (asked, headers[header[0]]) == (path, header[1])
    assert found == {"resource": ["https://storage.azure.com/"], **query}


def pods_variables(azure: Azure, folder: Path) -> dict[str, str]:
    """As the webhook of workload identity sets them."""
    (folder / "token").write_text("of the service account")
    return {
        "AZURE_FEDERATED_TOKEN_FILE": str(folder / "token"),
        "AZURE_CLIENT_ID": "pods",
        "AZURE_TENANT_ID": "tenant",
        "AZURE_AUTHORITY_HOST": f"{azure.url}/",
    }


def test_a_credential_that_is_new_is_waited_for_and_any_other_refusal_is_told_in_entras_words(
    azure: Azure, tmp_path: Path
) -> None:
    given = pods_variables(azure, tmp_path)
    azure.no_token = ["AADSTS700213: No matching federated identity record found for presented assertion subject 'a'."] * 2
    assert carry_out(azure, tmp_path, "open('a', 'w')", outputs=["a"], **given).returncode == 0
    assert len(azure.tokens) == 3
    azure.no_token = ["AADSTS700016: Application with identifier 'pods' was not found.\r\nTrace ID: 1"]
    done = carry_out(azure, tmp_path, "open('a', 'w')", outputs=["a"], **given)
    assert (done.returncode, len(azure.tokens)) == (125, 4)
    assert done.stderr.splitlines()[-1] == (
        "azure-gpu: the container's identity gets no token: AADSTS700016: Application with identifier 'pods' was not found."
    )


def test_a_pods_token_is_exchanged_for_one_of_its_identity(azure: Azure, tmp_path: Path) -> None:
    given = pods_variables(azure, tmp_path)
    assert carry_out(azure, tmp_path, "open('a', 'w')", outputs=["a"], **given).returncode == 0
    ((path, _, form),) = azure.tokens
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
