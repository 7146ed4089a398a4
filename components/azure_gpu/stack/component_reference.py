"""Generates the reference page of each component in docs/components/ from docstrings and types.

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
from typing import Any, NamedTuple, cast

from azure_gpu.shared.component import Component as Base
from azure_gpu.shared.validation import schema
from azure_gpu.stack.settings_reference import TABLE, rows_below

LIBRARY = Path(__file__).parents[1]
EXAMPLES = LIBRARY.parents[1] / "docs" / "components" / "programs"
INDEX = "README.md"
_INDEX_HEAD = Path(__file__).with_name("components_head.md")
_REPLACED = """
## Replacement

Azure can't change its name, its resource group, or these properties. Preview then shows a replacement, {how}:
"""
_OLD_FIRST = "and the old one is\ndeleted first, because its name is fixed"


@dataclass(frozen=True, slots=True)
class Component:
    """A component class with its module."""

    module: ModuleType
    of: type[Base[Any, Any, Any]]

    @property
    def name(self) -> str:
        return self.of.__name__

    @property
    def page(self) -> str:
        return f"{re.sub('(?<=[a-z])(?=[A-Z])', '_', self.name).lower()}.md"


def found() -> list[Component]:
    """Returns the components of the library, sorted by name."""
    names = [each.name for each in pkgutil.walk_packages([str(LIBRARY)], "azure_gpu.")]
    modules = [importlib.import_module(name) for name in names]
    every = [
        Component(module, cast(type[Base[Any, Any, Any]], each))
        for module in modules
        for each in vars(module).values()
        if inspect.isclass(each) and issubclass(each, Base) and each is not Base and each.__module__ == module.__name__
    ]
    return sorted(every, key=lambda component: component.name)


def pages(every: Sequence[Component]) -> dict[str, str]:
    """Returns the text of every page by file name, the index included."""
    lines = [f"| [{each.name}]({each.page}) | {paragraphs(each)[0]} |" for each in every]
    return {INDEX: _INDEX_HEAD.read_text(encoding="utf-8") + "\n".join(lines) + "\n", **{each.page: page(each) for each in every}}


def page(component: Component) -> str:
    """Builds the page of one component."""
    module = component.module.__name__.replace(".", "/")
    args = component.of.args_type
    rows = {output: [_row(each) for each in attributes(component.of) if each.is_output is output] for output in (True, False)}
    parts = [
        f"# {component.name}\n",
        "\n\n".join(paragraphs(component)),
        f"\nIn `{module}.py`; Pulumi's type is `azuregpu:index:{component.name}`.",
        f"\n## In a program\n\n```python\n{example(component)}```",
        f"\n## Arguments\n\n`{args.__name__}`: {_flowing(inspect.cleandoc(args.__doc__ or ''))}\n",
        TABLE,
        *rows_below(schema(args, in_program=True), ""),
        "\n## Outputs\n\n| output | type | |\n| --- | --- | --- |",
        *rows[True],
    ]
    if rows[False]:
        parts += ["\nOnly in Python, not outputs:\n", "| attribute | type | |\n| --- | --- | --- |", *rows[False]]
    replacing = cast(Sequence[str], getattr(component.module, "REPLACING", ()))
    others_replacing = cast(Sequence[str], getattr(component.module, "REPLACING_WITHOUT_PATH", ()))
    if replacing:
        how = cast(str, getattr(component.module, "HOW_REPLACED", _OLD_FIRST))
        parts += [_REPLACED.format(how=how), *(f"- `{path}`" for path in replacing), *(f"- {what}" for what in others_replacing)]
    return "\n".join(parts) + "\n"


def example(component: Component) -> str:
    """Returns the example program of the component."""
    return (EXAMPLES / component.page.replace(".md", ".py")).read_text(encoding="utf-8")


def paragraphs(component: Component) -> list[str]:
    """Returns the paragraphs of the module's docstring, each in one line."""
    text = inspect.cleandoc(component.module.__doc__ or "")
    return [_flowing(paragraph) for paragraph in text.split("\n\n")]


def _flowing(text: str) -> str:
    return " ".join(text.split())


class Attribute(NamedTuple):
    """An attribute of a component: an output, or one only for Python."""

    name: str
    annotation: str
    meaning: str
    is_output: bool


def attributes(of: type[Any]) -> list[Attribute]:
    """Returns the attributes of a component's class that have a docstring, in their order."""
    [definition] = ast.parse(inspect.getsource(of)).body
    found: list[Attribute] = []
    for statement, following in itertools.pairwise(cast(ast.ClassDef, definition).body):
        match statement, following:
            case (
                ast.AnnAssign(ast.Name(name), ast.Subscript(ast.Name("OnlyInPython"), kind)),
                ast.Expr(ast.Constant(str(text))),
            ):
                found.append(Attribute(name, ast.unparse(kind), _flowing(text), is_output=False))
            case ast.AnnAssign(ast.Name(name), kind), ast.Expr(ast.Constant(str(text))):
                found.append(Attribute(name, ast.unparse(kind), _flowing(text), is_output=True))
            case _:
                pass
    return found


def _row(attribute: Attribute) -> str:
    annotation = attribute.annotation.replace("|", "\\|")
    return f"| `{attribute.name}` | `{annotation}` | {attribute.meaning} |"


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
