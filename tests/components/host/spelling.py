"""Arguments as a program in Python writes them, under the names of the schema, as the engine sends them."""

from collections.abc import Mapping
from typing import Any, cast, is_typeddict

from azure_gpu.host.names import camel
from azure_gpu.shared.validation import below, form


def in_schema(value: Any, annotation: Any) -> Any:
    """`annotation`: of `value` in Python. What stands where another form is taken, such as `create`, stays as it is."""
    kind = form(annotation)
    if isinstance(value, Mapping):
        entries = cast(Mapping[str, Any], value)
        return {
            camel(key) if is_typeddict(kind) else key: in_schema(each, below(annotation, key)) for key, each in entries.items()
        }
    if isinstance(value, list | tuple):
        return [in_schema(each, below(annotation, 0)) for each in cast(list[Any], value)]
    return value
