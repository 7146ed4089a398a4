"""A reference page for each component, for people: docs/components/, made from docstrings and types.

`python -m azure_gpu.stack.component_reference docs/components` writes all pages again.
"""

import argparse
import ast
import importlib
import inspect
import itertools
import pkgutil
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast, get_type_hints

import pulumi

from azure_gpu.shared.validation import schema
from azure_gpu.stack.settings_reference import TABLE, rows_below

LIBRARY = Path(__file__).parents[1]
INDEX = "README.md"
WIRED = "or an output of another resource"
_INDEX_HEAD = """# The components

What `__main__.py` declares is made of these. Each takes its arguments as a dictionary, checks all of them before it declares
anything, and can be used in a Pulumi program of your own. The pages are made from the docstrings of the components by
`make docs`. What a stack file says to them is in [settings.md](../settings.md).

| component | |
| --- | --- |"""
_REPLACED = """
## What makes a new one

Azure can't change its name, its resource group, or these on one that exists. Preview then shows a replacement, {how}:
"""
_OLD_FIRST = "and the old one is\ndeleted first, because its name is fixed"


@dataclass(frozen=True, slots=True)
class Component:
    """A component with its module."""

    module: ModuleType
    of: type[pulumi.ComponentResource]

    @property
    def name(self) -> str:
        return self.of.__name__

    @property
    def page(self) -> str:
        return f"{re.sub('(?<=[a-z])(?=[A-Z])', '_', self.name).lower()}.md"


def found() -> list[Component]:
    """The components of the library, in the order of their names."""
    names = [each.name for each in pkgutil.walk_packages([str(LIBRARY)], "azure_gpu.")]
    modules = [importlib.import_module(name) for name in names]
    every = [
        Component(module, each)
        for module in modules
        for each in vars(module).values()
        if inspect.isclass(each) and issubclass(each, pulumi.ComponentResource) and each.__module__ == module.__name__
    ]
    return sorted(every, key=lambda component: component.name)


def pages(every: Sequence[Component]) -> dict[str, str]:
    """The text of every page by its file's name, the index included."""
    lines = [f"| [{each.name}]({each.page}) | {_paragraphs(each)[0]} |" for each in every]
    return {INDEX: "\n".join([_INDEX_HEAD, *lines]) + "\n", **{each.page: page(each) for each in every}}


def page(component: Component) -> str:
    """The page of one component."""
    module = component.module.__name__.replace(".", "/")
    args = get_type_hints(component.of.__init__)["args"]
    outputs, others = _attributes(component.of)
    parts = [
        f"# {component.name}\n",
        "\n\n".join(_paragraphs(component)),
        f"\nIn `{module}.py`; Pulumi's type is `azuregpu:index:{component.name}`.",
        f"\n## Arguments\n\n`{args.__name__}`: {_flowing(inspect.cleandoc(args.__doc__ or ''))}\n",
        TABLE,
        *rows_below(schema(args), "", WIRED),
        "\n## Outputs\n\n| output | type | |\n| --- | --- | --- |",
        *outputs,
    ]
    if others:
        parts += ["\nFor Python alone, and no outputs:\n", "| attribute | type | |\n| --- | --- | --- |", *others]
    replacing = cast(Sequence[str], getattr(component.module, "REPLACING", ()))
    others_replacing = cast(Sequence[str], getattr(component.module, "REPLACING_WITHOUT_PATH", ()))
    if replacing:
        how = cast(str, getattr(component.module, "HOW_REPLACED", _OLD_FIRST))
        parts += [_REPLACED.format(how=how), *(f"- `{path}`" for path in replacing), *(f"- {what}" for what in others_replacing)]
    return "\n".join(parts) + "\n"


def _paragraphs(component: Component) -> list[str]:
    text = inspect.cleandoc(component.module.__doc__ or "")
    return [_flowing(paragraph) for paragraph in text.split("\n\n")]


def _flowing(text: str) -> str:
    return " ".join(text.split())


def _attributes(of: type[Any]) -> tuple[list[str], list[str]]:
    """The rows of the outputs, and those of what is on the object besides."""
    [definition] = ast.parse(inspect.getsource(of)).body
    outputs: list[str] = []
    others: list[str] = []
    for statement, following in itertools.pairwise(cast(ast.ClassDef, definition).body):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                meaning = _flowing(text).removesuffix(" Not an output.")
                rows = outputs if meaning == _flowing(text) else others
                annotation = ast.unparse(statement.annotation).replace("|", "\\|")
                rows.append(f"| `{name}` | `{annotation}` | {meaning} |")
            case _:
                pass
    return outputs, others


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m azure_gpu.stack.component_reference", description="Writes a page for each component."
    )
    parser.add_argument("folder", type=Path, help="docs/components")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages(found()).items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
