"""What the engine sends is read as what a program in Python gives, whatever the arguments are."""

import asyncio
from typing import Any

from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Struct
from hypothesis import HealthCheck, given, settings, strategies as st

import azure_gpu
from azure_gpu.host.values import Argument, Reader
from azure_gpu.shared.validation import check, key_hints
from tests.components.host.engine import output
from tests.components.host.spelling import in_schema
from tests.components.stack.test_any_settings import values
from tests.components.test_constructors import GOOD

OF_PROGRAMS = ("foundation", "other_subscriptions")  # which no JSON is
EXACT = 2**53  # beyond it a number of the wire, which is a double, isn't the one that was sent


def arguments(wanted: Any, data: st.DataObject) -> dict[str, Any]:
    hints = {key: hint for key, hint in key_hints(wanted).items() if key not in OF_PROGRAMS}
    chosen = data.draw(st.lists(st.sampled_from(sorted(hints)), max_size=5, unique=True))
    return {key: _exact(data.draw(values(hints[key]))) for key in chosen}


def _exact(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _exact(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_exact(each) for each in value]
    return value % EXACT if isinstance(value, int) and not isinstance(value, bool) else value


def read(inputs: dict[str, Any], wanted: Any) -> dict[str, Any]:
    def no_resource(_: Struct, path: str) -> Any:
        raise AssertionError(f"there is no resource at {path}")

    async def reading() -> dict[str, Any]:
        reader = Reader("here", no_resource)
        sent = ParseDict(inputs, Struct()).fields
        found = reader.arguments({key: Argument(value) for key, value in sent.items()}, wanted)
        assert reader.problems == []
        return found

    return asyncio.run(reading())


@given(st.sampled_from(sorted(GOOD)), st.data())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_arguments_are_read_as_they_were_given(kind: str, data: st.DataObject) -> None:
    wanted = getattr(azure_gpu, f"{kind}Args")
    args = arguments(wanted, data)
    found = read(in_schema(args, wanted), wanted)
    assert found == {key: value for key, value in args.items() if value is not None}
    assert {key for key, each in found.items() if isinstance(each, bool)} == {key for key in args if isinstance(args[key], bool)}


@given(st.sampled_from(sorted(GOOD)), st.data(), st.booleans())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_an_output_is_taken_where_python_takes_one_and_nowhere_else(kind: str, data: st.DataObject, is_secret: bool) -> None:
    wanted = getattr(azure_gpu, f"{kind}Args")
    args = arguments(wanted, data)
    sent = in_schema(args, wanted)
    of_a_resource = {key: output(value, "urn:of:something", secret=is_secret) for key, value in sent.items()}
    found = read(of_a_resource, wanted)
    hints = key_hints(wanted)
    for key in args:
        told = [problem.message for problem in check(found[key], hints[key], key).problems]
        taken = not check(_an_output(), hints[key], key).problems
        assert taken == (told == []), (key, told)


def _an_output() -> Any:
    async def make() -> Any:
        return asyncio.get_running_loop().create_future()

    return asyncio.run(make())  # an awaitable is an output to the library
