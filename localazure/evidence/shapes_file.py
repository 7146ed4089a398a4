"""Writes `shapes.json`: the shapes of the types that the embedded Azure serves, and of those that the project declares.

python -m localazure.evidence.shapes_file > localazure/shapes/shapes.json
"""

from azure_gpu.formats.azure_types import ALL
from localazure.shapes.introspect import Writing
from localazure.wiring import without_backends


def text() -> str:
    writing = Writing()
    for each in dict.fromkeys((*ALL, *(kind.azure_type for kind in without_backends()))):
        writing.add(each)
    return writing.text()


if __name__ == "__main__":
    print(text())
