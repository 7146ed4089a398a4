"""JSON of requests: what the standard has is read, what Python's reader takes beside it isn't."""

import pytest

from azure_gpu.formats import strict_json


def test_a_document_of_the_standard_is_read() -> None:
    content = b'{"a": [1, 2.5, null, true, "\\u00e9\\ud83d\\ude00"]}'
    assert strict_json.loads(content) == {"a": [1, 2.5, None, True, "é😀"]}


@pytest.mark.parametrize(
    "content",
    ["NaN", "[Infinity]", "-Infinity", "1e999", "-1e999", '"\\ud83d"', '{"\\udc00": 1}', "{", "", "[" * 202 + "]" * 202],
    ids=["nan", "infinity", "minus-infinity", "too-large", "too-small", "half-a-letter", "half-a-key", "cut-off", "none", "deep"],
)
def test_what_is_no_json_is_a_value_error(content: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - which one doesn't matter: callers catch this one
        strict_json.loads(content.encode())
