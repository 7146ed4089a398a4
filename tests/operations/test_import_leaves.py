"""Nothing of a foreign file is lost silently: every leaf of every file ends in a key, an override, a remark or a refusal.

A leaf is changed, and the file read again: what is printed has to differ, or a remark of the first reading has to be about the
leaf or about what it lies in. Files are those of the tables of `imports/`, of the source documents and, where they are, of the
public cases.
"""

import copy
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import yaml

from azure_gpu.formats import arm_template, cluster_manifest, container_group_file, edge_deployment
from azure_gpu.formats.container_group_settings import settings_of
from azure_gpu.formats.document import Document
from azure_gpu.formats.lenient_json import member
from azure_gpu_operations.importing.blocks import fitting
from azure_gpu_operations.importing.documents import FoundDocuments
from azure_gpu_operations.importing.recognition import ENDINGS, Format, documents_of, format_of
from tests.operations.test_import import files_of, rows
from tests.support.edge_documents import COMPANION, FRAGMENT
from tests.support.embedded import CHECKOUT
from tests.support.examples import examples

CASES = CHECKOUT.parent / "shared" / "findings" / "turn3" / "cases"
RETIRED = (".compute", ".runconfig", ".py")
SCOPE = arm_template.Scope("11111111-2222-3333-4444-555555555555", None, "looks", None, None)
# What Azure answers about itself, and secrets.
ANSWERED = {
    *("instanceview", "_generator", "securevalue", "password", "storageaccountkey", "apiversion", "contentversion"),
    *("$schema", "etag", "provisioningstate", "state", "allocationstate", "currentdedicatednodes", "currentlowprioritynodes"),
    *("currentnodecommunicationmode", "dependson", "resourcegroup", "autoscalerun", "retired"),
}
# What names the format of a document.
NAMES_FORMAT = re.compile(r"type|kind|id|(?:.*\.)?resources\[\d+\]\.(?:type|kind)|\[\d+\]\.id")
OF_TEMPLATE = re.compile(r"(?:.*\.)?(?:parameters|variables|outputs)\..*")  # and what a template says to itself
WRONG: tuple[Any, ...] = (7, ["zq"], {"zq": [{}]})  # quick tests put one of them in a place, in turn
WHOLE_OBJECT = ("kind", "type", "vmSize", "size", "$schema")  # a remark there is about all of it


def texts() -> Iterator[Any]:
    """Every file of the tables, of the source documents and of the cases."""
    seen: set[str] = set()
    for row in rows():
        for name, text in files_of(row.values[0]).items():
            if text not in seen and documents_of(text, name) != ([], []):  # a script that isn't read is refused by its name
                seen.add(text)
                yield pytest.param(name, text, id=f"{row.id}: {name}")
    for folder, pattern in ((CASES, "0[23478]*/*.*"), (CHECKOUT / "examples" / "documents", "*/**/*.*")):
        for file in sorted(folder.glob(pattern)):
            name = str(file.relative_to(folder))
            if file.suffix in (*ENDINGS, *RETIRED) and file.is_file():
                yield pytest.param(name, file.read_text(encoding="utf-8"), id=name)


def leaves(value: object, path: str = "", steps: tuple[Any, ...] = ()) -> Iterator[tuple[str, tuple[Any, ...]]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, member(path, str(key)), (*steps, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{index}]", (*steps, index))
    elif isinstance(value, str) and isinstance(inner := yaml.safe_load(value) if "\n" in value else None, dict):
        yield from leaves(inner, "", (*steps, None))
    elif value is not None and value != "":
        yield path, steps


def changed(value: Any, steps: tuple[Any, ...]) -> Any:
    """The value with another leaf. None among the steps: what follows is in a text of YAML."""
    if None in steps:
        outer, inner = steps[: steps.index(None)], steps[steps.index(None) + 1 :]
        whole = copy.deepcopy(value)
        at = value_of(whole, outer[:-1])
        at[outer[-1]] = yaml.safe_dump(changed(yaml.safe_load(at[outer[-1]]), inner))
        return whole
    whole = copy.deepcopy(value)
    at = whole
    for step in steps[:-1]:
        at = at[step]
    old = at[steps[-1]]
    is_number = isinstance(old, int | float) or str(old).isdigit()
    at[steps[-1]] = (not old) if isinstance(old, bool) else type(old)(int(old) + 7) if is_number else f"{old}zq"
    return whole


def value_of(value: Any, steps: tuple[Any, ...]) -> Any:
    for step in steps:
        value = yaml.safe_load(value) if step is None else value[step]
    return value


def read(documents: Sequence[Document]) -> tuple[str, list[str]]:
    """What is printed of the documents, and the places of all remarks."""
    kinds = {format_of(one.value) for one in documents}
    if kinds == {Format.CONTAINER_GROUP}:
        return _groups(documents)
    groups = kinds == {Format.TEMPLATE} and "containergroups" in json.dumps(documents[0].value).lower()
    printed, remarks = _groups(documents) if groups else ("", [])
    found = FoundDocuments(with_groups=groups)
    for one in documents:
        found.read(one, {}, SCOPE)
    manifest = cluster_manifest.read(found.manifests, fitting) if found.manifests else None
    left = found.left()
    parts = [(one.section, one.name, one.settings, one.notes, one.secrets, sorted(one.written.items())) for one in found.parts]
    return printed + repr((parts, found.commands, manifest, left)), [*remarks, *(one.at for one in left)]


def _groups(documents: Sequence[Document]) -> tuple[str, list[str]]:
    groups, problems = container_group_file.read(json.dumps(documents[0].value, indent=1), documents[0].file, {}, SCOPE)
    found = [settings_of(group) for group in groups]
    at = [f"{one.path}: {each.path}" for one, (_, left, _) in zip(groups, found, strict=True) for each in left]
    names = [one.name for one in groups]
    return repr((names, found, [str(one) for one in problems])), [*at, *(one.path for one in problems)]


def path_of(at: str) -> str:
    """The path in the document of `file:line: path`."""
    return at.partition(": ")[2]


def is_covered(path: str, remarks: Sequence[str]) -> bool:
    """Whether a remark is about the leaf or about what it lies in."""
    for remark in remarks:
        around, dot, last = remark.rpartition(".")
        whole = around if last in WHOLE_OBJECT and dot else "" if remark in WHOLE_OBJECT else remark
        if path == whole or whole == "" or path.startswith((f"{whole}.", f"{whole}[")):
            return True
    return False


def is_answered(path: str, value: Any) -> bool:
    steps = re.split(r"[.\[\]']+", path)
    names = NAMES_FORMAT.fullmatch(path) or ("contentVersion" in value and OF_TEMPLATE.fullmatch(path))
    return bool(names) or any(step.lower() in ANSWERED for step in steps) or ".secret[" in path


@pytest.mark.parametrize(("name", "text"), [*texts()])
def test_every_leaf_ends_in_what_is_printed(name: str, text: str) -> None:
    documents, problems = documents_of(text, name)
    if not documents or any(one.value is None for one in documents):
        assert problems
        return
    printed, remarks = read(documents)
    lost: list[str] = []
    for number, document in enumerate(documents):
        for path, steps in leaves(document.value):
            if (
                is_answered(path, document.value)
                or (path == "spec.suspend" and "kueue" in text)
                or "hidden-value" in str(value_of(document.value, steps))
            ):
                continue
            if is_covered(path, [path_of(one) for one in remarks if _of(one, document)]):
                continue
            other = document._replace(value=changed(document.value, steps))
            if read([*documents[:number], other, *documents[number + 1 :]])[0] == printed:
                lost.append(document.at(path))
    assert not lost, "\n".join(lost)


def values(value: object, steps: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The steps to every value that isn't the document itself."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*steps, key)
        yield from values(one, (*steps, key))


@pytest.mark.parametrize(("name", "text"), [*texts()])
def test_a_value_of_another_kind_is_no_crash(name: str, text: str) -> None:
    documents, _ = documents_of(text, name)
    for document in documents:
        for number, steps in enumerate(values(document.value)):
            for wrong in (WRONG[number % 3 :] + WRONG)[: examples(3)]:
                whole = copy.deepcopy(document.value)
                value_of(whole, steps[:-1])[steps[-1]] = wrong
                read([document._replace(value=whole)])


@pytest.mark.parametrize(
    "text", [FRAGMENT, COMPANION, COMPANION.replace("spec:\n", "spec:\n  suspend: true\n  activeDeadlineSeconds: 3601\n", 1)]
)
def test_every_leaf_of_a_job_at_the_edge_does_too(text: str) -> None:
    documents, _ = documents_of(text, "job.yaml")
    [document] = documents

    def printed(value: Any) -> tuple[str, list[str]]:
        jobs, problems = edge_deployment.read(json.dumps(value), "job.yaml")
        return repr((jobs, [(path_of(one.path), one.message) for one in problems])), [path_of(one.path) for one in problems]

    before, remarks = printed(document.value)
    remarks.append("spec.template.spec.containers[0].name")  # the device's page has the job's name in another form there
    assert [
        path
        for path, steps in leaves(document.value)
        if not is_answered(path, document.value)
        and not is_covered(path, remarks)
        and printed(changed(document.value, steps))[0] == before
    ] == []


def _of(at: str, document: Document) -> bool:
    """Whether a remark's line is one of the document's."""
    line = at.partition(": ")[0].rpartition(":")[2]
    return not line.isdigit() or not document.lines or int(line) in set(document.lines.values())
