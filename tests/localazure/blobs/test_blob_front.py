"""The path in front of blob storage, by requests that no client sends by mistake."""

import socket
import ssl
import string
from urllib.parse import quote

import httpx
import pytest
from azure.storage.blob import AccountSasPermissions, ResourceTypes, generate_account_sas
from hypothesis import HealthCheck, given, settings, strategies as st

from localazure.blobs import sas, shared_key
from localazure.blobs.addresses import Address
from tests.localazure.blobs.conftest import Account, later, new_account
from tests.support.embedded import ServedAzure
from tests.support.examples import examples
from tests.support.patience import SECONDS

SERVICE_VERSION = "2025-11-05"


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


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.headers.get("x-ms-error-code", "")


def raw(azure: ServedAzure, request: bytes) -> bytes:
    """What the server answers to bytes that no client library would send."""
    context = ssl.create_default_context(cafile=azure.state / "ca" / "ca.pem")
    plain = socket.create_connection(("localhost", azure.port), timeout=SECONDS)
    with context.wrap_socket(plain, server_hostname="localhost") as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def sent(azure: ServedAzure, method: str, target: str, *headers: str, body: bytes = b"") -> tuple[int, str]:
    lines = [f"{method} {target} HTTP/1.1", f"Host: localhost:{azure.port}", "Connection: close", *headers]
    answer = raw(azure, "\r\n".join([*lines, "", ""]).encode("latin-1") + body)
    head, _, content = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), (head + content).decode("utf-8", errors="replace")


@pytest.mark.parametrize(
    "path",
    [
        "/blob/{own}/../{victim}/secret/file",
        "/blob/{own}/%2e%2e/{victim}/secret/file",
        "/blob/{own}/data/../../{victim}/secret/file",
        "/blob/{own}/data/..%2f..%2f{victim}%2fsecret%2ffile",
        "/blob/{own}/data/%2e%2e/%2e%2e/{victim}/secret/file",
        "/blob/{own}/data/..\\..\\{victim}\\secret\\file",
        "/blob/{own}/data/..%5c..%5c{victim}%5csecret%5cfile",
        "/blob/{own}%2f..%2f{victim}/secret/file",
        "/blob//{victim}/secret/file",
        "/blob/{own}//{victim}/secret/file",
        "//blob/{victim}/secret/file",
        "/%62lob/{victim}/secret/file",
        "/blob/{victim}%00/secret/file",
        "/blob/{victim}-secondary/secret/file",
        "/blob/./{victim}/secret/file",
        "http://127.0.0.1/blob/{victim}/secret/file",
        "/blob/{own}/data/file#/../../{victim}/secret/file",
        "/blob/{own}/data/file;/../../{victim}",
    ],
)
def test_no_path_leads_to_another_account(own: Account, victim: Account, own_signature: str, path: str) -> None:
    target = path.format(own=own.name, victim=victim.name)
    status, answer = sent(own.azure, "GET", f"{target}?{own_signature}")
    assert 400 <= status < 500
    assert not answer.endswith("secret")


@pytest.mark.parametrize(
    "headers",
    [
        ("X-HTTP-Method: DELETE",),
        ("X-HTTP-Method-Override: DELETE",),
        ("X-Original-URL: /blob/{victim}/secret/file", "X-Rewrite-URL: /{victim}/secret/file"),
        ("X-Forwarded-Host: {victim}.blob.core.windows.net",),
        ("Host: {victim}.blob.core.windows.net",),
        ("Authorization: Local ",),
        ("Cookie: a=b", "TE: trailers", "Connection: x-ms-version"),
    ],
)
def test_no_header_makes_a_request_another_than_it_was_judged_as(
    own: Account, victim: Account, own_signature: str, headers: tuple[str, ...]
) -> None:
    filled = [header.format(victim=victim.name) for header in headers]
    _, answer = sent(own.azure, "GET", f"/blob/{own.name}/data/file?{own_signature}", *filled)
    assert "secret" not in answer
    assert own.by_token().get_blob_client("data", "file").download_blob().readall() == b"own"


def test_a_header_or_a_parameter_that_stands_there_twice_is_refused(own: Account, own_signature: str) -> None:
    target = f"/blob/{own.name}/data/file?{own_signature}"
    assert sent(own.azure, "GET", target, "x-ms-version: 2025-11-05", "X-MS-Version: 2017-11-09")[0] == 400
    assert sent(own.azure, "GET", f"{target}&comp=metadata&comp=list")[0] == 400
    assert sent(own.azure, "GET", f"{target}&comp=metadata&Comp=list")[0] == 400


def test_lengths_that_contradict_each_other_are_refused(own: Account, own_signature: str) -> None:
    target = f"/blob/{own.name}/data/smuggled?{own_signature}"
    inner = b"GET /blob/x HTTP/1.1\r\nHost: x\r\n\r\n"
    chunked = b"0\r\n\r\n" + inner
    head = ("x-ms-blob-type: BlockBlob", "Transfer-Encoding: chunked")
    assert sent(own.azure, "PUT", target, *head, f"Content-Length: {len(chunked)}", body=chunked)[0] == 400
    assert sent(own.azure, "PUT", target, *head, body=b"3\r\nabc\r\n0\r\n\r\n")[0] == 411
    assert (
        sent(own.azure, "PUT", target, "x-ms-blob-type: BlockBlob", "Content-Length: 3", "Content-Length: 4", body=b"abcd")[0]
        == 400
    )
    assert sent(own.azure, "PUT", target, "x-ms-blob-type: BlockBlob", "Content-Length: -3", body=b"abc")[0] == 400


def test_what_is_not_served_is_refused_by_name(own: Account, own_signature: str) -> None:
    with own.azure.http(headers={"x-ms-version": SERVICE_VERSION}) as client:
        answer = client.put(f"/blob/{own.name}/data?restype=container&comp=undelete&{own_signature}", content=b"")
        assert code(answer) == (501, "NotImplemented")
        assert "comp=undelete" in answer.text
        answer = client.get(f"/blob/{own.name}/data/file?versionid=2020-01-01&{own_signature}")
        assert code(answer) == (501, "NotImplemented")
        answer = client.get(f"/blob/{own.name}/data/file?{own_signature}", headers={"x-ms-encryption-key": "AAAA"})
        assert code(answer) == (501, "NotImplemented")
        answer = client.put(f"/blob/{own.name}/data/b?{own_signature}", headers={"x-ms-copy-source": f"{own.url}/data/file"})
        assert code(answer) == (501, "NotImplemented")
        answer = client.post(f"/blob/{own.name}/data?restype=container&comp=batch&{own_signature}", content=b"")
        assert code(answer) == (501, "NotImplemented")


def test_an_account_that_is_not_there_is_told_apart_from_a_container_that_is_not(own: Account) -> None:
    token = own.azure.token("https://storage.azure.com/.default")
    with own.azure.http(headers={"Authorization": f"Bearer {token}", "x-ms-version": SERVICE_VERSION}) as client:
        assert code(client.get("/blob/nobodyhere/data/file")) == (404, "ResourceNotFound")
        assert code(client.get(f"/blob/{own.name}/nothing/file")) == (404, "ContainerNotFound")
        assert code(client.get(f"/blob/{own.name}/data/nothing")) == (404, "BlobNotFound")
        assert code(client.head(f"/blob/{own.name}/data/nothing")) == (404, "BlobNotFound")
        assert code(client.put(f"/blob/{own.name}/No_Name?restype=container", content=b"")) == (400, "InvalidResourceName")
        assert client.get("/blob/").status_code == 400


def words(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from(text.split())


NAMES = words(
    """comp restype timeout prefix delimiter marker maxresults include snapshot blockid blocklisttype where copyid prevsnapshot
    sv sr sig se sp versionid"""
)
VALUES = st.one_of(
    words(
        """list container blob block blocklist metadata acl lease properties tags page pagelist tier snapshot copy appendblock
        service account stats undelete batch blobs query all committed 1 -1 99999 deleted,metadata 2020-01-01T00:00:00.0000000Z"""
    ),
    st.text(max_size=12),
)
HEADERS = words(
    """x-ms-blob-type x-ms-lease-action x-ms-lease-duration x-ms-lease-id x-ms-proposed-lease-id x-ms-range range x-ms-page-write
    x-ms-blob-content-length x-ms-access-tier x-ms-tags x-ms-meta-a x-ms-meta- x-ms-copy-source x-ms-requires-sync if-match
    if-none-match if-modified-since x-ms-blob-public-access x-ms-delete-snapshots content-md5 x-ms-blob-content-md5 x-ms-version
    x-ms-sequence-number-action x-ms-if-tags x-ms-blob-sequence-number x-ms-date content-encoding x-ms-source-range
    x-ms-source-if-match x-ms-blob-condition-maxsize x-ms-lease-break-period x-ms-range-get-content-md5"""
)
HEADER_VALUES = st.one_of(
    words(
        """BlockBlob PageBlob AppendBlob acquire break renew release change -1 0 15 512 bytes=0-511 bytes=5- bytes=-5 update clear
        Hot Archive a=b true * include only container blob 2017-11-09 XUFAKrxLKna5cZ2REBfFkg== max increment"""
    ),
    st.text(alphabet=string.printable[:95], max_size=20),
)
PATHS = st.one_of(
    st.sampled_from(["", "/data", "/data/file", "/data/other", "/missing", "/missing/blob", "/$root/x", "/$web", "/data/a/b//c"]),
    st.text(max_size=20).map(lambda text: "/data/" + quote(text, safe="")),
    st.text(alphabet="abz09-_/.%\\ é", max_size=20).map(lambda text: "/" + text),
)
BODIES = st.one_of(
    st.binary(max_size=64),
    st.sampled_from(
        [
            b"<?xml version='1.0'?><BlockList><Latest>AAAA</Latest></BlockList>",
            b"<BlockList><Latest>not base64</Latest></BlockList>",
            b"<SignedIdentifiers><SignedIdentifier><Id>x</Id></SignedIdentifier></SignedIdentifiers>",
            b"<Tags><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tags>",
            b"<StorageServiceProperties><Cors/></StorageServiceProperties>",
            b"<KeyInfo><Start>2020</Start><Expiry>x</Expiry></KeyInfo>",
            b"<a",
            b"\x00" * 512,
        ]
    ),
)


# Operations of the service by path, method and query, so that most of what is made up arrives at one.
SERVED = {
    "/": """GET comp=list, GET restype=service comp=properties, PUT restype=service comp=properties, GET comp=blobs where=a,
        POST restype=service comp=userdelegationkey, GET restype=account comp=properties, GET restype=service comp=stats""",
    "/data": """PUT restype=container, GET restype=container, PUT restype=container comp=metadata, GET restype=container comp=acl,
        PUT restype=container comp=acl, PUT restype=container comp=lease, GET restype=container comp=list,
        GET restype=container comp=blobs, HEAD restype=container comp=metadata""",
    "/data/other": """GET, HEAD, GET comp=metadata, GET comp=blocklist, GET comp=pagelist, GET comp=tags, PUT comp=tags, PUT,
        PUT comp=block blockid=AAAA, PUT comp=block, PUT comp=blocklist, PUT comp=metadata, PUT comp=properties, PUT comp=lease,
        PUT comp=snapshot, PUT comp=appendblock, PUT comp=page, PUT comp=tier, PUT comp=copy copyid=x, DELETE""",
}
OPERATIONS = st.sampled_from(
    [
        (method, path, dict(pair.split("=") for pair in query))
        for path, operations in SERVED.items()
        for method, *query in (operation.split() for operation in operations.split(","))
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
        {"sv": words("2015-04-05 2018-11-09 2020-12-06 2025-07-05 2026-10-06 2014-02-14 x")},
        optional={
            "sp": words("r w rl racwdl x"),
            "se": words("2099-01-01 2099-01-01T00:00:00.1234567Z 2020-01-01 x 2099-13-01T00:00Z"),
            "st": words("2020-01-01 2099-01-01 x"),
            "sr": words("b c bs bv d x"),
            "spr": words("https https,http http x"),
            "sip": words("127.0.0.1 127.0.0.0-127.0.0.9 ::1 8.8.8.8 x 1-2-3"),
            "ss": words("b q bqtf"),
            "srt": words("s sco o x"),
            "si": words("policy nothing"),
            "ses": words("scope"),
            "rsct": st.text(max_size=8),
            "sdd": words("1 x"),
            "skoid": words("someone"),
            "snapshot": words("2020-01-01T00:00:00.0000000Z x"),
        },
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
    assert answer.status_code < 500 or code(answer) == (501, "NotImplemented"), (answer.status_code, answer.text)


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
    assert answer.status_code < 500 or code(answer) == (501, "NotImplemented"), (answer.status_code, answer.text)


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
