"""`catalog refresh` of pages and of Azure's lists, against recorded answers, twice with a change between; and `catalog age`."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from azure_gpu.catalog import listed
from azure_gpu.catalog.listed import Azure
from azure_gpu.catalog.services.aks import kubernetes_versions
from azure_gpu.catalog.sizes import cpu_series
from azure_gpu_operations.__main__ import main
from azure_gpu_operations.azure import SignIn
from azure_gpu_operations.catalog import azure_lists, kept
from azure_gpu_operations.catalog.changes import Refreshed
from azure_gpu_operations.preflight import lists
from tests.support import web

PAGES = Path(__file__).parents[1] / "data" / "pages"
TABLES = (kubernetes_versions.TABLE, kubernetes_versions.PATCHES_TABLE, cpu_series.TABLE, listed.TABLE)
COMMANDS = {"by hand, from the page"}
COMMANDS |= {f"operations catalog refresh --from {each}" for each in ("prices", "pages", "azure")}
AKS, CHANGES, ENDS = "supported-kubernetes-versions.md", "CHANGELOG.md", "retirements-and-capacity-restrictions.md"
NOTES = """## Release Notes - 2026-07-17

* Kubernetes patch versions 1.36.2, 1.35.6, 1.34.9, and 1.33.13 are now available.
"""
Rows = list[list[str]]


def rows(name: str) -> Rows:
    lines = (PAGES / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def table(header: str, found: Rows) -> str:
    lines = [header, "-".join("|" * (header.count("|"))), *(f"| {' | '.join(row)} |" for row in found)]
    return "\n".join([*lines, ""])


def versions_page(found: Rows, day: str = "08/05/2026") -> str:
    columns = "| Kubernetes version | Upstream release | AKS preview | AKS GA | End of life |"
    usual, lasting = ([row for row in found if row[5].startswith("Until") is which] for which in (True, False))
    text = table(f"{columns} Platform support |", usual) + "\n" + table(f"{columns} LTS End of life |", lasting)
    return f"---\nms.date: {day}\n---\n\n{text}"


def ends_page(found: Rows) -> str:
    columns = "| Series name | Retirement Status | Retirement Announcement | Planned Retirement Date | Modernization guide |"
    sections = dict.fromkeys(row[0] for row in found)
    tables = [
        f"### {title} retired sizes\n\n"
        + table(
            columns,
            [[name, "**Announced**", f"[{on}](https://x)" if on else "", end, "-"] for at, name, on, end in found if at == title],
        )
        for title in sections
    ]
    return "---\nms.date: 09/24/2026\n---\n\n" + "\n".join(tables)


class Pages:
    """GitHub, with the pages' text by their names."""

    def __init__(self) -> None:
        self.texts = {AKS: versions_page(rows("aks_versions.tsv")), CHANGES: NOTES, ENDS: ends_page(rows("ends.tsv"))}
        self.answers: dict[str, web.Answer] = {}  # of raw files, in place of their text

    def answer(self, request: requests.PreparedRequest, _: object) -> web.Answer:
        parts = urlsplit(str(request.url))
        name = (parse_qs(parts.query).get("path") or [parts.path])[0].rpartition("/")[2]
        if parts.hostname == "api.github.com":
            return web.Answer(200, {}, [json.dumps([{"sha": "0123456789abcdef"}]).encode()])
        return self.answers.get(name) or web.Answer(200, {}, [self.texts[name].encode()])


@pytest.fixture
def pages() -> Iterator[Pages]:
    found = Pages()
    with web.answered(found.answer):
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for each in TABLES:
        (tmp_path / each.name).write_text(Path(each.path).read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


@pytest.fixture
def refresh(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[], tuple[int, dict[str, Any]]]:
    def run() -> tuple[int, dict[str, Any]]:
        code = main(["catalog", "refresh", "--from", "pages", "--folder", str(folder), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_a_page_that_says_the_same_changes_nothing(pages: Pages, folder: Path, refresh: Any) -> None:
    before = texts(folder)
    assert refresh() == (0, {"changes": [], "failed": {}, "files": []})
    assert texts(folder) == before


def test_a_second_refresh_has_what_changed_between_with_its_source(pages: Pages, folder: Path, refresh: Any) -> None:
    refresh()
    newer = ["1.38", "Dec 2026", "Jan 2027", "Mar 2027", "Mar 2028", "Until 1.42 GA"]
    pages.texts[AKS] = versions_page([*rows("aks_versions.tsv"), newer], "11/28/2026")
    pages.texts[CHANGES] = NOTES.replace("07-17", "11-20").replace("1.36.2", "1.37.1, 1.36.4") + NOTES
    ends = [["General purpose", "Dv4-series", "", "11/15/30"] if row[1] == "D-series" else row for row in rows("ends.tsv")]
    pages.texts[ENDS] = ends_page([[*row[:3], "10/31/26"] if row[1] == "NVv4-series" else row for row in ends])
    code, answer = refresh()
    assert (code, answer["failed"]) == (0, {})
    found = {each["subject"]: each["what"] for each in answer["changes"]}
    assert found.pop("AKS versions: 1.38") == "new"
    assert found.pop("AKS patches: 1.37.1; 1.36.4; 1.35.6; 1.34.9; 1.33.13") == "new"
    assert found.pop("ends of VM series: D-series") == "gone"
    assert found.pop("Dv4-series: add a pattern of its sizes") == "left out"
    assert found.pop("end of NVv4") == "contradicts"
    assert set(found.values()) <= {"changed"}  # the day of the reading
    assert all("at 01234567" in each["source"] or "2026-09-24" in each["source"] for each in answer["changes"])
    assert "1.38,2027-03,2028-03,,2026-11-28" in texts(folder)[kubernetes_versions.TABLE.name]
    assert "D-series,D" not in texts(folder)[cpu_series.TABLE.name].replace("Ds-series", "")
    again = texts(folder)
    assert refresh()[1]["files"] == []
    assert texts(folder) == again


@pytest.mark.parametrize(
    ("name", "broken", "reason"),
    [
        (AKS, lambda text: "<html>maintenance</html>", "lacks a table"),
        (AKS, lambda text: text[: text.index("LTS End")], "lacks a table"),
        (AKS, lambda text: text[:-40], "cells"),
        (AKS, lambda text: text.replace("Mar 2026", "soon"), "no month"),
        (AKS, lambda text: text.replace("08/05/2026", "08/05/2025"), "older"),
        (CHANGES, lambda text: "", "no release notes"),
        (ENDS, lambda text: text[: text.index("### Compute")], "only a part"),
        (ENDS, lambda text: text.replace("05/01/28", "spring"), "no day"),
    ],
)
def test_a_page_that_isnt_whole_changes_nothing_and_is_named(
    pages: Pages, folder: Path, refresh: Any, name: str, broken: Callable[[str], str], reason: str
) -> None:
    before = texts(folder)
    pages.texts[name] = broken(pages.texts[name])
    code, answer = refresh()
    [told] = answer["failed"].values()
    assert (code, reason in told, answer["files"]) == (1, True, [])
    assert texts(folder) == before


@pytest.mark.parametrize("answer", [web.Answer(302, {"Location": "https://login.example"}), web.Answer(503, {}, [b"later"])])
def test_a_redirect_changes_nothing_and_is_named(pages: Pages, folder: Path, refresh: Any, answer: web.Answer) -> None:
    before = texts(folder)
    pages.answers[AKS] = answer
    code, said = refresh()
    assert (code, list(said["failed"])) == (1, ["AKS versions"])
    assert f"HTTP {answer.status}" in said["failed"]["AKS versions"]
    assert texts(folder) == before


def read(monkeypatch: pytest.MonkeyPatch, folder: Path, found: Mapping[tuple[Azure, str], Any], day: date) -> Refreshed:
    """What a login reads, of these lists by their place; an exception is a list that isn't answered."""

    def reader(value: Any) -> Callable[[], Any]:
        def answer() -> Any:
            if isinstance(value, Exception):
                raise value
            return value

        return answer

    monkeypatch.setattr(lists, "locations", lambda *_: found["locations", ""])
    monkeypatch.setattr(
        lists, "of_regions", lambda *_: {key: reader(value) for key, value in found.items() if key[0] != "locations"}
    )
    login: SignIn = None  # type: ignore[assignment]
    return azure_lists.refresh(login, "s", [], day, {path.name: path for path in folder.iterdir()})


def test_what_azure_lists_is_kept_whole_by_place_and_its_second_reading_has_what_changed(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    first = {
        ("locations", ""): ["westeurope", "belgiumcentral"],
        ("VM sizes", "westeurope"): {"standard_nc4as_t4_v3": 1, "standard_nc6": 1, "standard_d4s_v5": 1},
        ("workload profiles of Container Apps", "westeurope"): ["Consumption", "Consumption-GPU-NC8as-T4"],
        ("Kubernetes versions of AKS", "westeurope"): ["1.37", "1.37.1"],
    }
    result = read(monkeypatch, folder, first, date(2026, 12, 1))
    assert {
        (each.what.value, each.subject) for each in result.changes if "sizes" in each.subject or each.what == "contradicts"
    } == {
        ("new", "VM sizes in westeurope: standard_nc4as_t4_v3"),
        ("new", "VM sizes in westeurope: standard_nc6"),
        ("contradicts", "end of Standard_NC6 in westeurope"),
    }
    [(path, text)] = result.texts.items()
    path.write_text(text, encoding="utf-8")
    second = {
        **first,
        ("locations", ""): ["westeurope", "denmarkeast"],
        ("VM sizes", "westeurope"): OSError("no route"),
        ("workload profiles of Container Apps", "westeurope"): [],
        ("Kubernetes versions of AKS", "westeurope"): ["1.38"],
    }
    result = read(monkeypatch, folder, second, date(2026, 12, 8))
    assert {(each.what.value, each.subject) for each in result.changes} == {
        ("gone", "locations: belgiumcentral"),
        ("new", "locations: denmarkeast"),
        ("new", "Kubernetes versions of AKS in westeurope: 1.38"),
        ("gone", "Kubernetes versions of AKS in westeurope: 1.37"),
        ("gone", "Kubernetes versions of AKS in westeurope: 1.37.1"),
    }
    assert sorted(result.failed) == [
        "Azure's list of VM sizes in westeurope",
        "Azure's list of workload profiles of Container Apps in westeurope",
    ]
    now = listed.read(result.texts[path])
    assert now["VM sizes", "westeurope"].source.day == date(2026, 12, 1)
    assert now["locations", ""].names == {"westeurope", "denmarkeast"}


def test_age_lists_what_is_due_with_source_and_command_on_any_day(capsys: pytest.CaptureFixture[str]) -> None:
    for day, code in (("2026-06-20", 3), ("2026-12-15", 3), ("2028-06-01", 3)):
        assert main(["catalog", "age", "--as-of", day, "--json"]) == code
        answer = json.loads(capsys.readouterr().out)
        assert (answer["as_of"], answer["exit_code"]) == (day, code)
        assert all(each["due"] and each["source"] and each["refresh"] in COMMANDS for each in answer["lists"])
        main(["catalog", "age", "--as-of", day, "--all", "--json"])
        every = json.loads(capsys.readouterr().out)["lists"]
        assert [each["what"] for each in answer["lists"]] == [each["what"] for each in every if each["holds_until"] < day]
    assert len(answer["lists"]) == len(kept.lists())
    assert main(["catalog", "age", "--as-of", "2016-01-01", "--all"]) == 0
    assert f"0 of {len(kept.lists())} lists" in capsys.readouterr().out
