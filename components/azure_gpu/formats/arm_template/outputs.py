"""A template's outputs: a type and a value each, or a loop of values; those whose condition doesn't hold aren't there."""

from azure_gpu.formats.arm_template.evaluation import Reading
from azure_gpu.formats.arm_template.frame import Frame, Loop
from azure_gpu.formats.arm_template.model import Output
from azure_gpu.formats.arm_template.parameters import SECURE, TYPES
from azure_gpu.formats.arm_template.values import RefusedError, Value, is_object, kind_of
from azure_gpu.formats.lenient_json import member

MAX_OUTPUTS = 64  # Microsoft Learn, azure-resource-manager/templates/best-practices


def read_outputs(raw: Value, place: str, frame: Frame) -> dict[str, Output]:
    """The outputs by name. Problems go to the template's list."""
    if raw is None:
        return {}
    if not is_object(raw):
        frame.shared.report(place, RefusedError("the outputs are not an object"))
        return {}
    if len(raw) > MAX_OUTPUTS:
        frame.shared.report(place, RefusedError(f"the template has more than {MAX_OUTPUTS} outputs"))
        return {}
    outputs: dict[str, Output] = {}
    for name, entry in raw.items():
        where = member(place, name)
        if not is_object(entry) or not ("value" in entry or "copy" in entry):
            frame.shared.report(where, RefusedError(f"the output '{name}' has no value", 'write {"type": …, "value": …}'))
        elif str(entry.get("type", "")).lower() not in TYPES:
            frame.shared.report(where, RefusedError(f"the output '{name}' has no known type", f"known are {', '.join(TYPES)}"))
        elif _condition(entry, where, frame):
            outputs[name] = _output(name, entry, where, frame)
    return outputs


def _condition(entry: dict[str, Value], place: str, frame: Frame) -> bool:
    if "condition" not in entry:
        return True
    reading = Reading(frame)
    value = reading.value(entry["condition"], member(place, "condition"))
    if not reading.failed and not isinstance(value, bool):
        frame.shared.report(member(place, "condition"), RefusedError(f"the condition is {kind_of(value)}, not true or false"))
    return value is True


def _output(name: str, entry: dict[str, Value], place: str, frame: Frame) -> Output:
    reading = Reading(frame, deferrable=True)
    kind = str(entry["type"])
    loop = entry.get("copy")
    if is_object(loop):
        value: Value = _looped(loop, member(place, "copy"), frame, reading)
    else:
        value = reading.value(entry.get("value"), member(place, "value"))
    if not reading.failed and not reading.unresolved and not TYPES[kind.lower()](value):
        frame.shared.report(place, RefusedError(f"the output '{name}' is of type {kind}, and its value is {kind_of(value)}"))
    return Output(kind, value, place, kind.lower() in SECURE, reading.unresolved)


def _looped(loop: dict[str, Value], place: str, frame: Frame, reading: Reading) -> list[Value]:
    count = reading.count(loop.get("count"), member(place, "count"))
    values: list[Value] = []
    for index in range(count):
        if frame.shared.meter.exhausted:
            break
        reading.frame = frame.within(Loop("", index, of_values=False))
        values.append(reading.value(loop.get("input"), member(place, "input"), f"[{index}]"))
    reading.frame = frame
    return values
