"""The path in front of blob storage, by requests that no client sends by mistake: rows and words of `tables/blob_front.yaml`."""

import socket
import ssl
import string
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from azure.storage.blob import AccountSasPermissions, ResourceTypes, generate_account_sas
from hypothesis import HealthCheck, given, settings, strategies as st

from localazure.blobs import operations, sas, shared_key
from localazure.blobs.addresses import Address
from tests.localazure.blobs.conftest import Account, later, new_account
from tests.support.embedded import ServedAzure
from tests.support.examples import examples
from tests.support.patience import SECONDS
from tests.support.tables import rows_of

SERVICE_VERSION = "2025-11-05"


def rows(name: str) -> Any:
    return rows_of(__file__, name)


@pytest.fixture(scope="module")
def victim(azure: ServedAzure, blob_group: str) -> Account:
    """Somebody else's account, which takes neither keys nor anonymous requests."""
    account = new_account(azure, blob_group)
    account.by_token().create_container("secret").upload_blob("file", b"secret")
    return account


@pytest.fixture(scope="module")
def own(azure: ServedAzure, blob_group: str) -> Account:
    account = new_account(azure, blob_group)
    account.by_token().create_container("data").upload_blob("file", b"own")
    return account


@pytest.fixture(scope="module")
def own_signature(own: Account) -> str:
    """Everything that a signature can allow, in one's own account."""
    permissions = AccountSasPermissions(
        read=True, write=True, delete=True, list=True, add=True, create=True, tag=True, filter_by_tags=True
    )
    return generate_account_sas(
        own.name, own.keys[0], ResourceTypes(service=True, container=True, object=True), permissions, later()
    )


def code(answer: httpx.Response) -> str:
    return f"{answer.status_code} {answer.headers.get('x-ms-error-code', '')}"


def sent(azure: ServedAzure, method: str, target: str, *headers: str, body: bytes = b"") -> tuple[int, str]:
    """What the server answers to bytes that no client library would send."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: localhost:{azure.port}", "Connection: close", *headers]
    context = ssl.create_default_context(cafile=azure.state / "ca" / "ca.pem")
    plain = socket.create_connection(("localhost", azure.port), timeout=SECONDS)
    with context.wrap_socket(plain, server_hostname="localhost") as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, content = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), (head + content).decode("utf-8", errors="replace")


def test_no_path_leads_to_another_account(own: Account, victim: Account, own_signature: str) -> None:
    led = {}
    for path in rows("paths"):
        target = path.format(own=own.name, victim=victim.name)
        status, answer = sent(own.azure, "GET", f"{target}?{own_signature}")
        if not 400 <= status < 500 or answer.endswith("secret"):
            led[path] = answer
    assert led == {}


def test_no_header_makes_a_request_another_than_it_was_judged_as(own: Account, victim: Account, own_signature: str) -> None:
    for headers in rows("headers"):
        filled = [header.format(victim=victim.name) for header in headers]
        _, answer = sent(own.azure, "GET", f"/blob/{own.name}/data/file?{own_signature}", *filled)
        assert "secret" not in answer, headers
        assert own.by_token().get_blob_client("data", "file").download_blob().readall() == b"own", headers


def test_headers_that_contradict_each_other_are_refused(own: Account, own_signature: str) -> None:
    target, block = f"/blob/{own.name}/data/smuggled?{own_signature}", "x-ms-blob-type: BlockBlob"
    chunked = b"0\r\n\r\nGET /blob/x HTTP/1.1\r\nHost: x\r\n\r\n"
    head = (block, "Transfer-Encoding: chunked")
    assert sent(own.azure, "GET", target, "x-ms-version: 2025-11-05", "X-MS-Version: 2017-11-09")[0] == 400
    assert sent(own.azure, "PUT", target, *head, f"Content-Length: {len(chunked)}", body=chunked)[0] == 400
    assert sent(own.azure, "PUT", target, *head, body=b"3\r\nabc\r\n0\r\n\r\n")[0] == 411
    assert sent(own.azure, "PUT", target, block, "Content-Length: 3", "Content-Length: 4", body=b"abcd")[0] == 400
    assert sent(own.azure, "PUT", target, block, "Content-Length: -3", body=b"abc")[0] == 400


def test_what_is_not_served_or_not_there_is_refused_by_name(own: Account) -> None:
    found = []
    for expected, request, *headers in rows("refused"):
        method, target = request.format(own=own.name).split(" ")
        given = {name: value.format(own=own.name, url=own.azure.url) for name, value in dict(*headers).items()}
        content = b"<a" if method == "PUT" else None
        answer = fuzzing(own, signed=True).request(
            method, target, headers={"x-ms-version": SERVICE_VERSION, **given}, content=content
        )
        found += [] if code(answer) == expected else [(request, code(answer), answer.text)]
    assert found == []


def words(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from(text.split())


NAMES, HEADERS = words(rows("names")), words(rows("names of headers"))
VALUES = st.one_of(words(rows("values")), st.text(max_size=12))
HEADER_VALUES = st.one_of(words(rows("values of headers")), st.text(alphabet=string.printable[:95], max_size=20))
PATHS = st.one_of(
    st.sampled_from(rows("places")),
    st.text(max_size=20).map(lambda text: "/data/" + quote(text, safe="")),
    st.text(alphabet="abz09-_/.%\\ é", max_size=20).map(lambda text: "/" + text),
)
BODIES = st.one_of(st.binary(max_size=64), st.sampled_from([*(each.encode() for each in rows("bodies")), b"\x00" * 512]))
# Operations of the service, so that most of what is made up arrives at one.
LEVELS = {"service": "/", "container": "/data", "blob": "/data/other"}
OPERATIONS = st.sampled_from(
    [
        (method, LEVELS[level], {name: value for name, value in (("restype", restype), ("comp", comp)) if value})
        for level, method, restype, comp in operations.TABLE
    ]
)
HEALTH_CHECKS: list[HealthCheck] = list(HealthCheck)
ANYTHING = st.tuples(
    st.sampled_from(["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"]),
    PATHS,
    st.dictionaries(NAMES, VALUES, max_size=4),
)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=HEALTH_CHECKS)
@given(
    fields=st.fixed_dictionaries(
        {"sv": words(rows("versions"))}, optional={name: words(str(each)) for name, each in rows("signed").items()}
    ),
    path=words("/data/file /data /"),
    authorization=st.one_of(st.just(""), words("Bearer Bearer_x SharedKey SharedKey_a:b SharedKeyLite_a:b Basic_x x")),
)
def test_no_signature_of_odd_fields_gives_an_internal_error(
    own: Account, fields: dict[str, str], path: str, authorization: str
) -> None:
    address = Address(own.name, *[part for part in path.split("/") if part])
    resource = f"/blob/{own.name}{path}" if fields.get("sr") != "c" else f"/blob/{own.name}/data"
    if "ss" in fields:
        text = sas.account_text(fields, own.name)
    else:
        text = sas.service_text({"sr": "", **fields}, resource, fields.get("snapshot", ""))
    signature = shared_key.signature(keys_of(own), text)
    encoded = "&".join(f"{name}={quote(value, safe='')}" for name, value in [*fields.items(), ("sig", signature)])
    headers = {"Authorization": authorization.replace("_", " ")} if authorization else {}
    query = {"/data": "restype=container&comp=list&", "/": "comp=list&"}.get(path, "")
    answer = fuzzing(own, signed=False).get(f"/blob{address.path}?{query}{encoded}", headers=headers)
    assert answer.status_code < 500 or code(answer) == "501 NotImplemented", (answer.status_code, answer.text)


@settings(max_examples=examples(400), deadline=None, suppress_health_check=HEALTH_CHECKS)
@given(
    asked=st.one_of(OPERATIONS, ANYTHING),
    more=st.dictionaries(NAMES, VALUES, max_size=2),
    headers=st.dictionaries(HEADERS, HEADER_VALUES, max_size=4),
    body=BODIES,
    signed=st.sampled_from([True, True, True, False]),
)
def test_no_request_gives_an_internal_error(
    own: Account, asked: tuple[str, str, dict[str, str]], more: dict[str, str], headers: dict[str, str], body: bytes, signed: bool
) -> None:
    method, path, query = asked[0], asked[1], {**more, **asked[2]}
    client = fuzzing(own, signed)
    encoded = "&".join(f"{quote(name)}={quote(value, safe='')}" for name, value in query.items())
    url = f"/blob/{own.name}{path}?{encoded}"
    try:
        request = client.build_request(method, url, headers={"x-ms-version": SERVICE_VERSION, **headers}, content=body)
    except (httpx.InvalidURL, UnicodeEncodeError):
        return
    try:
        answer = client.send(request)
    except httpx.LocalProtocolError:  # a header's value that this client doesn't send
        return
    assert answer.status_code < 500 or code(answer) == "501 NotImplemented", (answer.status_code, answer.text)


def keys_of(account: Account) -> str:
    """The account's first key, asked for once."""
    if account.name not in _KEYS:
        _KEYS[account.name] = account.keys[0]
    return _KEYS[account.name]


_KEYS: dict[str, str] = {}
_CLIENTS: dict[bool, httpx.Client] = {}


def fuzzing(account: Account, signed: bool) -> httpx.Client:
    """One client for all examples, with a token or without."""
    if signed not in _CLIENTS:
        token = account.azure.token("https://storage.azure.com/.default")
        _CLIENTS[signed] = account.azure.http(headers={"Authorization": f"Bearer {token}"} if signed else {})
    return _CLIENTS[signed]
