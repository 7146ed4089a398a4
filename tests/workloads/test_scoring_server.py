"""Scoring behind the real inference server: what it takes, what it answers, and what it says to everything else."""

import base64
import io
import json
import re
import select
import socket
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from PIL import Image

from tests.support.patience import SECONDS
from tests.workloads.scoring_server import exchange, picture, server
from workloads.scoring.image_scoring import tensorflow_start

RED = picture((255, 0, 51))
RED_SCORES = [1.0, 0.0, 0.2]
PNG, JPEG, JSON, NPY = ({"content-type": kind} for kind in ("image/png", "image/jpeg", "application/json", "application/x-npy"))
BODY_SECONDS = 12  # far above what others need while 160 slow clients wait, on a busy machine

pytestmark = pytest.mark.slow  # the server runs TensorFlow


@pytest.fixture(scope="module")
def scoring(scoring_python: Path, scoring_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """The server with a model that answers the mean of each channel of images of 8 x 8."""
    log = tmp_path_factory.mktemp("scoring") / "log"
    limits = {"SCORING_BODY_SECONDS": str(BODY_SECONDS), "SCORING_MAX_BODY_MIB": "1", "SCORING_MAX_IMAGES": "40"}
    with server(scoring_python, scoring_models / "colours", log, **limits) as client:
        client.headers["x-log"] = str(log)  # for the tests that read it
        yield client


def scored(answer: httpx.Response) -> list:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["output"] == "scores"
    return [[round(score, 4) for score in scores] for scores in answer.json()["scores"]]


def npy(values: bytes, header: str) -> bytes:
    """A file of numpy's version 1 with this header."""
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + values


def array_header(kind: str, shape: tuple[int, ...], by_columns: bool = False) -> str:
    return repr({"descr": kind, "fortran_order": by_columns, "shape": shape})


def image_json(value: float, rows: int = 8) -> list:
    return [[[value, value, value]] * 8] * rows


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png_of(width: int, height: int, lines: int) -> bytes:
    """A PNG that says it is of this size and holds so many black lines."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    packed = zlib.compress(bytes((1 + 3 * width) * lines), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def png_without_its_palette() -> bytes:
    """Colours by number, a transparent one among them, and nothing that says which colours."""
    header = struct.pack(">IIBBBBB", 8, 8, 8, 3, 0, 0, 0)
    lines = chunk(b"tRNS", b"\xff\xff\x00") + chunk(b"IDAT", zlib.compress(bytes(9 * 8)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + lines + chunk(b"IEND", b"")


def other_format(form: str) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, form)
    return file.getvalue()


def test_a_png_is_scored_whatever_its_size_and_colours_are(scoring: httpx.Client) -> None:
    assert scored(scoring.post("/score", content=RED, headers=PNG)) == [RED_SCORES]
    assert scored(scoring.post("/score", content=picture((255, 0, 51), (300, 20)), headers=PNG)) == [RED_SCORES]
    assert scored(scoring.post("/score", content=picture(51, mode="L"), headers=PNG)) == [[0.2, 0.2, 0.2]]
    assert scored(scoring.post("/score", content=picture((255, 0, 51, 128), mode="RGBA"), headers=PNG)) == [RED_SCORES]
    assert scored(scoring.post("/score", content=picture(65535, mode="I;16"), headers=PNG)) == [[1.0, 1.0, 1.0]]


def test_a_jpeg_is_scored(scoring: httpx.Client) -> None:
    (scores,) = scored(scoring.post("/score", content=picture((255, 0, 51), (640, 480), "JPEG"), headers=JPEG))
    assert scores == pytest.approx(RED_SCORES, abs=0.02)


def test_an_image_without_a_content_type_is_told_by_its_first_bytes_as_the_document_sends_it(scoring: httpx.Client) -> None:
    assert scored(scoring.post("/score", content=RED)) == [RED_SCORES]
    assert scored(scoring.post("/score", content=RED, headers={"content-type": "application/octet-stream"})) == [RED_SCORES]


def test_several_images_in_base64_are_scored_in_their_order(scoring: httpx.Client) -> None:
    pictures = [picture((number, 0, 0)) for number in (0, 51, 102, 255)]
    texts = [base64.b64encode(each).decode() for each in pictures]
    expected = [[0.0, 0.0, 0.0], [0.2, 0.0, 0.0], [0.4, 0.0, 0.0], [1.0, 0.0, 0.0]]
    for body in ({"inputs": texts}, {"instances": texts}, {"instances": [{"b64": text} for text in texts]}, texts):
        assert scored(scoring.post("/score", json=body)) == expected


def test_numbers_in_json_are_given_to_the_model_as_they_are(scoring: httpx.Client) -> None:
    assert scored(scoring.post("/score", json={"inputs": [image_json(0.5), image_json(3)]})) == [[0.5] * 3, [3.0] * 3]
    assert scored(scoring.post("/score", json=image_json(0.25))) == [[0.25] * 3]
    spaced = json.dumps({"instances": image_json(-1e-3)}, indent=2)
    assert scored(scoring.post("/score", content=spaced, headers=JSON)) == [[-0.001] * 3]


def test_arrays_in_numpys_format_are_scored_and_bytes_are_read_as_pixels(scoring: httpx.Client) -> None:
    floats = npy(struct.pack("<f", 0.5) * 384, array_header("<f4", (2, 8, 8, 3)))
    assert scored(scoring.post("/score", content=floats, headers=NPY)) == [[0.5] * 3] * 2
    assert scored(scoring.post("/score", content=floats)) == [[0.5] * 3] * 2
    pixels = npy(bytes([255, 0, 51] * 64), array_header("|u1", (8, 8, 3)))
    assert scored(scoring.post("/score", content=pixels, headers=NPY)) == [RED_SCORES]
    columns = npy(bytes([255] * 64 + [0] * 64 + [51] * 64), array_header("|u1", (8, 8, 3), by_columns=True))
    assert scored(scoring.post("/score", content=columns, headers=NPY)) == [RED_SCORES]


def test_the_answer_says_where_its_time_went(scoring: httpx.Client) -> None:
    answer = scoring.post("/score", content=RED, headers=PNG)
    parts = re.findall(r"(\w+);dur=(\d+\.\d{3})", answer.headers["server-timing"])
    assert [part for part, _ in parts] == ["receive", "decode", "model", "encode", "total"]
    times = {part: float(spent) for part, spent in parts}
    assert times["total"] == pytest.approx(times["decode"] + times["model"] + times["encode"], abs=0.01)
    assert 0 < times["total"] < float(answer.headers["x-ms-run-fn-exec-ms"])


def test_other_methods_are_answered_as_in_the_document(scoring: httpx.Client) -> None:
    answer = scoring.get("/score")
    assert (answer.status_code, answer.text) == (405, "GET is not supported")
    answer = scoring.options("/score")
    assert (answer.status_code, answer.text) == (500, "bad request")
    assert scoring.head("/score").status_code == 500
    for method in ("PUT", "DELETE", "PATCH"):  # for which the server itself has no route
        answer = scoring.request(method, "/score", content=RED)
        assert (answer.status_code, answer.json()) == (405, {"message": "The method is not allowed for the requested URL."})


BAD = {
    "an empty body": (b"", PNG, 400, "the body is empty"),
    "a huge body": (bytes(2 * 1024 * 1024), PNG, 413, "too large: 2097152 bytes"),
    "no image": (b"hello", PNG, 400, "image 0 is neither a PNG nor a JPEG"),
    "a cut PNG": (picture((1, 2, 3), (64, 64))[:-40], PNG, 400, "image 0 is broken"),
    "the first bytes of a PNG": (RED[:20], PNG, 400, "image 0 is broken"),
    "a PNG with a bit turned": (RED[:45] + bytes([RED[45] ^ 1]) + RED[46:], PNG, 400, "image 0 is broken"),
    "a cut JPEG": (picture((1, 2, 3), (64, 64), "JPEG")[:-300], JPEG, 400, "image 0 is broken"),
    "a PNG without its palette": (png_without_its_palette(), PNG, 400, "image 0 is broken"),
    "a PNG of no data": (png_of(8, 8, 0), PNG, 400, "image 0 is broken"),
    "a bomb": (png_of(20000, 20000, 10), PNG, 413, "20000 x 20000 pixels"),
    "a bomb that is whole": (png_of(5001, 5000, 5000), PNG, 413, "5001 x 5000 pixels"),
    "a GIF": (other_format("GIF"), PNG, 400, "image 0 is neither a PNG nor a JPEG"),
    "a BMP": (other_format("BMP"), {"content-type": "image/bmp"}, 415, "the content type is 'image/bmp'"),
    "a WebP of no type": (other_format("WEBP"), {}, 415, "not PNG, JPEG, .npy or JSON"),
    "a form": (b"a=1", {"content-type": "application/x-www-form-urlencoded"}, 415, "the content type is"),
    "a form of parts": (b"--x--", {"content-type": "multipart/form-data; boundary=x"}, 415, "the content type is"),
    "text": (b"a", {"content-type": "text/plain"}, 415, "the content type is 'text/plain'"),
    "compressed": (zlib.compress(RED), {**PNG, "content-encoding": "gzip"}, 415, "compressed"),
    "no JSON": (b"{inputs: 1}", JSON, 400, "not JSON"),
    "cut JSON": (b'{"inputs": [[1, 2', JSON, 400, "not JSON"),
    "NaN": (b'{"inputs": [NaN, 1]}', JSON, 400, "NaN and Infinity aren't JSON"),
    "Infinity": (b'{"inputs": [-Infinity]}', JSON, 400, "NaN and Infinity aren't JSON"),
    "a number too large": (json.dumps(image_json(1e300)).encode(), JSON, 400, "NaN, infinity or a number too large"),
    "a number that is none": (b'{"inputs": [1e999]}', JSON, 400, "not JSON"),
    "deep JSON": (b"[" * 100_000 + b"]" * 100_000, JSON, 400, "not JSON"),
    "an array 100 deep": (b"[" * 100 + b"1" + b"]" * 100, JSON, 400, "more than 8 deep"),
    "a ragged array": (json.dumps([image_json(1), image_json(1)[:7]]).encode(), JSON, 400, "ragged"),
    "an array ragged inside": (b'{"inputs": [[[1, 2], [3]], [[4], [5, 6]]]}', JSON, 400, "ragged"),
    "an array with deeper parts": (b'{"inputs": [1, [2]]}', JSON, 400, "ragged"),
    "another shape": (json.dumps(image_json(1, rows=9)).encode(), JSON, 400, "the array is 9x8x3"),
    "a single number": (b"3", JSON, 400, "no array"),
    "null": (b"null", JSON, 400, "no array"),
    "an empty array": (b"[]", JSON, 400, "empty"),
    "an array of empty arrays": (b"[[], []]", JSON, 400, "empty"),
    "booleans": (b"[[true, false]]", JSON, 400, "other than numbers"),
    "text among numbers": (b'[[1, "2"]]', JSON, 400, "other than numbers"),
    "objects among numbers": (b'[[1, {"a": [1]}]]', JSON, 400, "other than numbers"),
    "other keys": (b'{"data": [1]}', JSON, 400, "the JSON object has the keys 'data'"),
    "two keys": (b'{"inputs": [1], "x": 2}', JSON, 400, "the JSON object has the keys 'inputs', 'x'"),
    "no base64": (b'{"inputs": ["***"]}', JSON, 400, "item 0 is not base64"),
    "base64 beyond ASCII": ('{"inputs": ["é"]}'.encode(), JSON, 400, "item 0 is not base64"),
    "base64 of no image": (b'{"inputs": ["aGVsbG8="]}', JSON, 400, "image 0 is neither"),
    "images and numbers": (b'{"inputs": ["aGVsbG8=", 1]}', JSON, 400, "item 1 of the list is not a string"),
    "another object": (b'{"inputs": [{"url": "http://x"}]}', JSON, 400, "item 0 of the list is not a string"),
    "too many images": (json.dumps(["aGVsbG8="] * 41).encode(), JSON, 413, "the request has 41 items"),
    "no UTF-8": (b'{"inputs": ["\xff"]}', JSON, 400, "not JSON"),
    "a byte order mark of UTF-16": ('{"inputs": [1]}'.encode("utf-16"), JSON, 400, "not JSON"),
    "no .npy": (b"hello", NPY, 400, "not a .npy file"),
    "a .npy of pickles": (npy(b"\x80\x04N.", array_header("|O", (1,))), NPY, 400, "the .npy file holds object"),
    "a .npy of text": (npy(b"a" * 4, array_header("<U1", (1,))), NPY, 400, "the .npy file holds"),
    "a cut .npy": (npy(bytes(10), array_header("|u1", (8, 8, 3))), NPY, 400, "has 10 bytes of values"),
    "a .npy that says it is huge": (npy(b"", array_header("<f8", (10**9, 10**9))), NPY, 400, "has 0 bytes of values"),
    "a .npy of negative size": (npy(b"", array_header("<f8", (-1, 3))), NPY, 400, "(-1, 3)"),
    "a .npy with a program": (npy(b"", "__import__('os').getpid()"), NPY, 400, "not a .npy file"),
    "a .npy with NaN": (npy(struct.pack("<f", float("nan")) * 192, array_header("<f4", (8, 8, 3))), NPY, 400, "NaN"),
    "a .npy with an endless number": (npy(b"", "-" * 9000 + "1"), NPY, 400, "not a .npy file"),
    "a .npy with an open bracket": (npy(b"", "{'descr': '<f4', 'shape': (3,"), NPY, 400, "not a .npy file"),
    "a .npy with a list as a key": (npy(b"", "{[]: 1}"), NPY, 400, "not a .npy file"),
    "a .npy of no type": (npy(b"", "{'descr': (), 'fortran_order': False, 'shape': (1,)}"), NPY, 400, "not a .npy file"),
    "a .npy of another version": (b"\x93NUMPY\x07\x00" + bytes(100), NPY, 400, ".npy"),
}


def test_bad_input_is_refused_and_the_next_request_is_answered(scoring: httpx.Client) -> None:
    wrong: dict[str, object] = {}
    for case, (content, headers, status, said) in BAD.items():
        answer = scoring.post("/score", content=content, headers=headers)
        kind, body = answer.headers["content-type"], answer.json()
        if answer.status_code != status or kind != "application/json" or said not in body["message"]:
            wrong[case] = (answer.status_code, body)
        assert set(body) == {"message", "expected"}
        assert body["expected"]
        assert scored(scoring.post("/score", content=RED, headers=PNG)) == [RED_SCORES], f"after {case}"
    assert wrong == {}


def raw(*headers: str) -> bytes:
    return "\r\n".join(["POST /score HTTP/1.1", "Host: localhost", "Content-Type: image/png", *headers, "", ""]).encode()


def test_chunks_without_a_length_are_refused(scoring: httpx.Client) -> None:
    answer = scoring.post("/score", content=iter([RED[:10], RED[10:]]), headers=PNG)
    assert (answer.status_code, answer.json()["message"]) == (411, "the body has no length: it comes in chunks")
    assert scored(scoring.post("/score", content=RED, headers=PNG)) == [RED_SCORES]


def test_endless_chunks_are_refused_without_being_read(scoring: httpx.Client) -> None:
    answer = exchange(scoring, raw("Transfer-Encoding: chunked", "Connection: close"), b"ffffffff\r\n" + bytes(4096))
    assert answer.startswith(b"HTTP/1.1 411 ")


def test_a_body_of_no_length_is_refused(scoring: httpx.Client) -> None:
    answer = exchange(scoring, raw("Connection: close"))
    assert answer.startswith(b"HTTP/1.1 411 ")
    assert b'"the request has no Content-Length"' in answer


def test_a_length_beyond_the_limit_is_refused_before_a_byte_has_come(scoring: httpx.Client) -> None:
    answer = exchange(scoring, raw("Content-Length: 99999999999", "Connection: close"))
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_client_that_stops_in_its_body_is_told_so(scoring: httpx.Client) -> None:
    answer = exchange(scoring, raw(f"Content-Length: {len(RED)}", "Connection: close"), RED[:20], half_close=True)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert f"20 of {len(RED)} bytes arrived".encode() in answer


def test_slow_clients_are_told_so_and_others_are_answered_meanwhile(scoring: httpx.Client) -> None:
    began = time.monotonic()
    in_body = [connected(scoring, raw(f"Content-Length: {len(RED)}", "Connection: close") + RED[:20]) for _ in range(64)]
    in_headers = [connected(scoring, b"POST /score HTTP/1.1\r\nHost: loc") for _ in range(64)]
    silent = [connected(scoring, b"") for _ in range(32)]
    with connected(scoring, raw("Content-Length: 1000", "Connection: close")) as dripping:
        assert httpx.get(f"{scoring.base_url}/", trust_env=False, timeout=SECONDS).text == "Healthy"
        answer = httpx.post(f"{scoring.base_url}/score", content=RED, headers=PNG, trust_env=False, timeout=SECONDS)
        assert scored(answer) == [RED_SCORES]
        told, _, _ = select.select([*in_body, *in_headers, *silent, dripping], [], [], 0)
        assert told == [], "the others had to wait for the slow ones"
        while not select.select([dripping], [], [], 0.2)[0]:
            dripping.sendall(b"a")  # a byte now and then gives no more time
        assert dripping.recv(65536).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - began >= BODY_SECONDS
    for slow in (*in_body, *in_headers):
        received = b""
        while more := slow.recv(65536):
            received += more
        assert received.startswith(b"HTTP/1.1 408 "), received
        body = json.loads(received.split(b"\r\n\r\n", 1)[1])
        assert set(body) == {"message", "expected"}
    for each in (*in_body, *in_headers, *silent):
        each.close()


def test_another_script_may_take_any_time_to_answer_what_has_arrived(
    scoring_python: Path, scoring_models: Path, tmp_path: Path
) -> None:
    script = tmp_path / "other.py"
    script.write_text(
        "import time\n"
        "from azureml_inference_server_http.api.aml_request import rawhttp\n"
        "from azureml_inference_server_http.api.aml_response import AMLResponse\n"
        "from image_scoring.slow_clients import WATCH\n"
        "def init(): ...\n"
        "@rawhttp\n"
        "def run(request):\n"
        "    length = len(request.get_data(False))\n"
        "    WATCH.look(time.monotonic() + 3600)  # as if an hour had passed\n"
        "    return AMLResponse(length, 200, json_str=True)\n"
    )
    with server(scoring_python, scoring_models / "colours", tmp_path / "log", AZUREML_ENTRY_SCRIPT=str(script)) as client:
        answer = client.post("/score", content=RED, headers=PNG)
    assert (answer.status_code, answer.text) == (200, str(len(RED)))


def test_headers_that_come_byte_by_byte_and_a_request_behind_another_are_answered(scoring: httpx.Client) -> None:
    head = raw(f"Content-Length: {len(RED)}").removesuffix(b"\r\n")
    with connected(scoring, b"") as connection:
        for at in range(len(head)):
            connection.sendall(head[at : at + 1])
        connection.sendall(b"\r\n" + RED + b"GET / HT")  # the beginning of the next comes with this one
        connection.sendall(b"TP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        received = b""
        while more := connection.recv(65536):
            received += more
    assert received.count(b"HTTP/1.1 200 ") == 2
    assert received.endswith(b"Healthy")


def test_more_numbers_than_the_model_takes_are_refused_before_they_are_parsed(scoring: httpx.Client) -> None:
    for body in (b"[" + b"0," * 500_000 + b"0]", b"[" + b"[]," * 300_000 + b"0]", b"[" + b"0," * 500_000):  # the last is no JSON
        answer = scoring.post("/score", content=body, headers=JSON)
        assert answer.status_code == 413
        assert answer.json()["message"] == "the JSON holds too many values"


def connected(client: httpx.Client, sent: bytes):
    connection = socket.create_connection((client.base_url.host, client.base_url.port), timeout=SECONDS)
    connection.sendall(sent)
    return connection


def test_the_log_has_one_line_a_request_and_nothing_of_what_was_sent(scoring: httpx.Client) -> None:
    log = Path(scoring.headers["x-log"])
    before = len(log.read_text())
    scoring.post("/score", json={"inputs": ["c2VjcmV0"]})
    scoring.post("/score", content=RED, headers=PNG)
    lines = log.read_text()[before:].splitlines()
    assert [line.split(" - ", 1)[1].split(" ")[:3] for line in lines] == [["POST", "/score", "400"], ["POST", "/score", "200"]]


def test_the_log_says_once_that_the_cpu_runs_and_nothing_of_what_tensorflow_says_at_its_start(scoring: httpx.Client) -> None:
    absence = tensorflow_start.gpu_absence({})
    if not absence.is_expected:
        pytest.skip("this machine has an NVIDIA driver or device")
    log = Path(scoring.headers["x-log"]).read_text()
    assert [line for line in log.splitlines() if "GPU" in line] == [absence.line("the model")]
    assert not re.search(r"^[IWEF]\d{4} |absl::|oneDNN|cuInit|cudart_stub", log, re.MULTILINE)


def test_nothing_of_all_this_made_the_server_say_that_it_erred(scoring: httpx.Client) -> None:
    """The last of the module: whatever came before is in this log."""
    log = Path(scoring.headers["x-log"]).read_text()
    after = log[log.index("ready for serving traffic") :]
    assert "Traceback" not in after
    assert "Exception" not in after
