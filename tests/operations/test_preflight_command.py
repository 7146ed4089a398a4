"""The command line of `preflight`, and what it says without asking Azure."""

import json

import pytest

from azure_gpu.catalog.size_use import Service
from azure_gpu_operations.preflight import needs, online
from tests.support.preflight import main


@pytest.mark.parametrize(
    ("text", "service", "size", "nodes", "region", "spot"),
    [
        ("batch=Standard_NC4as_T4_v3*4@westeurope", Service.BATCH, "Standard_NC4as_T4_v3", 4, "westeurope", False),
        ("vm=nc6@West Europe:spot", Service.VIRTUAL_MACHINES, "nc6", 1, "westeurope", True),
        ("AKS=NC6 Standard*2", Service.AKS, "NC6 Standard", 2, "swedencentral", False),
        ("ml-endpoint=x:SPOT", Service.ML_ENDPOINT, "x", 1, "swedencentral", True),
    ],
)
def test_a_need_is_read(text: str, service: Service, size: str, nodes: int, region: str, spot: bool) -> None:
    use = needs.parse(text, "swedencentral")
    assert (use.service, use.size, use.nodes, use.region, use.spot) == (service, size, nodes, region, spot)
    assert use.path == f"--need {text}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense", "SERVICE=SIZE"),
        ("bach=nc6@westeurope", "did you mean 'batch'"),
        ("functions=V100@westeurope", "allowed: vm, batch, aks, ml-compute, ml-endpoint, aci, container-apps"),
        ("vm=nc6*none@westeurope", "invalid number of machines 'none'"),
        ("vm=nc6*0@westeurope", "allowed: 1 to 100000"),
        ("vm=nc6*-1@westeurope", "invalid number of machines"),
        ("vm=nc6", "missing region"),
        ("vm=nc6@westeuropa", "write 'westeurope'"),
        ("vm=nc6@westeurope:cheap", "use spot or omit it"),
        ("vm=*4@westeurope", "SERVICE=SIZE"),
    ],
)
def test_a_need_that_is_wrong_is_a_wrong_command_line(text: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(needs.InvalidNeedError) as wrong:
        needs.parse(text)
    assert words in str(wrong.value)
    assert main("--need", text, "--offline") == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "nothing to check"),
        (("--need", "vm=nc6", "--location", "westerope"), "--location"),
        (("--need", "vm=nc6@westeurope", "--as-of", "soon"), "YYYY-MM-DD"),
        (("--name", "drawer=x"), "KIND=NAME"),
        (("--name", "batch=x"), "unique per region"),
    ],
)
def test_a_wrong_command_line_says_what_is_wrong(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(*arguments) == 2
    assert words in capsys.readouterr().err


def test_offline_asks_nobody(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(online, "ask", None)
    need = ("--offline", "--json", "--need", "vm=Standard_NC6@westeurope")
    assert main(*need, "--as-of", "2026-11-21") == 1
    report = json.loads(capsys.readouterr().out)
    assert [(row["check"], row["answer"]) for row in report["rows"]] == [("catalog", "retired")]
    assert "Standard_NC4as_T4_v3" in report["rows"][0]["instead"]
    assert (report["as_of"], report["missing"], report["exit_code"]) == ("2026-11-21", {}, 1)
    assert main(*need, "--as-of", "2023-01-01") == 0


@pytest.mark.parametrize("need", ["vm=Standard_NC4as_T4_v9@eastus", "batch=NC4as_T4v3@eastus"])
def test_a_size_that_nobody_knows_leaves_the_answer_incomplete(need: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main("--offline", "--need", need, "--need", "vm=Standard_NC4as_T4_v3@eastus", "--as-of", "2026-11-21") == 3
    told = " ".join(capsys.readouterr().out.split())
    assert f"the result is incomplete: unknown: --need {need}" in told


def test_people_get_a_table_without_colours_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("--offline", "--need", "vm=Standard_NC6@westeurope") == 1
    said = capsys.readouterr().out
    assert "retired" in said
    assert "1 of 1 checks failed" in said
    assert "\x1b[" not in said


@pytest.mark.parametrize(
    ("need", "code", "words"),
    [
        ("container-apps=Consumption-GPU-NC8as-T4@westeurope", 0, "no problems found"),
        (
            "container-apps=Consumption-GPU-NC24-A100@westeurope",
            1,
            "Container Apps has no Consumption-GPU-NC24-A100 in this region",
        ),
        ("aci=K80@westeurope", 1, "retired on 2023-08-31"),
        ("aci=K80*3@westeurope", 1, "1, 2 or 4 GPUs"),
    ],
)
def test_services_without_vm_sizes_are_asked_by_profile_and_sku(
    need: str, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main("--offline", "--as-of", "2026-11-21", "--need", need) == code
    assert words in capsys.readouterr().out
