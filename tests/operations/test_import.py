"""`python -m operations import`: what files of other tools become. Each row of `imports/*.yaml` is one call.

A row has what is imported: `given`, a text or texts by the name of their file; or `resources` of an ARM template with its
`parameters`; or one `body` as Azure answers it. A text is a name in `texts` or in tests/support, a text itself, a list of these,
or a mapping with `text` and what to `replace` in it. Beside it: `options` of the command, its `as_of`, and another name to
`import`.

Expected are the exit `code`, the printed `config` (what a mapping leaves out may be there, null is a key that isn't; `!exactly`
and `!only` allow no others), the config `exactly`, the `json` of --json, and what is `told` on standard output, as an `error` on
standard error, or `absent` from both; `lines` are whole ones of the output. `each` has what differs between several calls. No
call prints a secret, and none of a row that `keeps_gpus` loses a GPU.
"""

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.formats.gpu_mentions import mentions
from azure_gpu_operations.__main__ import main
from tests.operations.yaml_tables import TagLoader, differences
from tests.support import container_group_files, edge_documents

TABLES = sorted((Path(__file__).parent / "imports").glob("*.yaml"))
SOURCES = (container_group_files, edge_documents)
SECRETS = ("hidden-value", container_group_files.PASSWORD)
SCHEMA = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"
Capture = pytest.CaptureFixture[str]


def rows() -> Iterator[Any]:
    for table in TABLES:
        content = yaml.load(table.read_text(encoding="utf-8"), TagLoader)
        for name, row in content["rows"].items():
            for number, differing in enumerate(row.get("each", [{}])):
                whole = {**content["defaults"], **row, **differing, "texts": content.get("texts", {})}
                yield pytest.param(whole, id=f"{table.stem}: {name}{f' {number}' if 'each' in row else ''}")


def row_of(table: str, name: str) -> dict[str, Any]:
    """A row, the first call of it where it has several."""
    return next(each.values[0] for each in rows() if each.id and each.id.removesuffix(" 0") == f"{table}: {name}")


def text_of(given: Any, texts: Mapping[str, Any]) -> str:
    if isinstance(given, list):
        return "".join(text_of(each, texts) for each in given)
    if isinstance(given, dict):
        return replaced(text_of(given["text"], texts), given["replace"])
    if given in texts:
        return text_of(texts[given], texts)
    return next((getattr(source, given) for source in SOURCES if given.isupper() and hasattr(source, given)), given)


def replaced(text: str, changes: Mapping[str, str]) -> str:
    for before, after in changes.items():
        assert before in text, f"there is no {before!r}"
        text = text.replace(before, after)
    return text


def files_of(row: Mapping[str, Any]) -> dict[str, str]:
    """What is imported, by the names of its files; one that has no name of its own is f.yaml."""
    given = row.get("given")
    if "resources" in row:
        parameters = row.get("parameters", {})
        template = {"$schema": SCHEMA, "contentVersion": "1.0.0.0", "parameters": parameters, "resources": row["resources"]}
        given = {"f.yaml": json.dumps(template, indent=2)}
    elif "body" in row:
        given = {"f.yaml": json.dumps(row["body"], indent=2)}
    elif not isinstance(given, dict):
        given = {"f.yaml": given}
    changes = row.get("replace", {})
    found = {name: text_of(each, row["texts"]) for name, each in given.items()}
    assert all(any(before in text for text in found.values()) for before in changes)
    return {
        name: replaced(text, {before: after for before, after in changes.items() if before in text})
        for name, text in found.items()
    }


def written(row: Mapping[str, Any]) -> tuple[str, list[str]]:
    """What the command is called with, and all texts."""
    files = files_of(row)
    folder = Path("." if list(files) == ["f.yaml"] else "given")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    named = next(iter(files)) if len(files) == 1 and (folder == Path() or row.get("by_name")) else ""
    return row.get("import", str(folder / named)), list(files.values())


def words_of(text: str) -> str:
    """The text without the comments' wrapping."""
    return " ".join(text.replace("#", " ").split()) + " "


def lost_gpus(texts: list[str], told: str) -> Iterator[str]:
    """What mentions a GPU in the texts and isn't found in the output, neither by its name nor by its number."""
    for text in texts:
        for document in yaml.safe_load_all(text):
            for mention in mentions(document):
                name, _, count = mention.text.partition(": ")
                there = name in told or f"gpus: {count}" in told or mention.path.rpartition("mig-")[2] in told
                if not there or count not in told:
                    yield f"lost: {mention}"


@pytest.mark.parametrize("row", [*rows()])
def test_a_call_ends_as_its_row_says(row: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    named, texts = written(row)
    try:
        code = main(["import", named, "--as-of", row["as_of"], *shlex.split(row["options"])])
    except SystemExit as ended:  # argparse refuses a command line so
        code = int(str(ended.code))
    said = capsys.readouterr()
    told, error = words_of(said.out), words_of(said.err)
    assert code == row.get("code", 0), said.err
    assert code != 0 or "error: " not in said.err
    assert "Traceback" not in said.err
    wrong = [f"not told: {each}" for each in row.get("told", ()) if each not in told]
    wrong += [f"no such error: {each}" for each in row.get("error", ()) if each not in error]
    wrong += [f"there: {each}" for each in (*row.get("absent", ()), *SECRETS) if each in said.out + said.err]
    wrong += [f"no such line: {each}" for each in row.get("lines", ()) if each not in said.out.splitlines()]
    if "json" in row:
        wrong += differences(row["json"], json.loads(said.out))
    else:
        config = yaml.safe_load(said.out)
        wrong += differences(row.get("config", {}), config or {})
        if "exactly" in row and config != row["exactly"]:
            wrong.append(f"the config is {config}")
    if row.get("keeps_gpus"):
        wrong += lost_gpus(texts, told)
    assert wrong == [], said.out + said.err
