"""Promoting and taking back: two numbers of the stack file, and nothing else of it."""

from pathlib import Path
from typing import Any

import pytest

from azure_gpu_operations.__main__ import main
from azure_gpu_operations.machine_learning import traffic
from azure_gpu_operations.machine_learning.traffic import WrongTrafficError, changed, promoted, rolled_back
from azure_gpu_operations.stack import EngineError, Stack

BOTH: dict[str, Any] = {"deployments": {"blue": {}, "green": {}}, "traffic": {"blue": 90, "green": 10}}
ONE: dict[str, Any] = {"deployments": {"blue": {}}}

FILE = """\
config:
  azure-gpu:team: vision
  azure-gpu:ml_endpoints:
    digits:
      deployments:
        blue: {model: digits-1}
        green: {model: digits-2}
      traffic: {blue: 90, green: 10}  # 10 % for a day
      mirror: {green: 5}
"""


def test_all_traffic_goes_to_the_promoted_one() -> None:
    assert promoted("digits", BOTH, "green") == {"blue": 0, "green": 100}


def test_a_share_leaves_the_rest_with_the_one_other_that_has_some() -> None:
    assert promoted("digits", BOTH, "green", 50) == {"blue": 50, "green": 50}
    three = {"deployments": {"a": {}, "b": {}, "c": {}}, "traffic": {"a": 50, "b": 50, "c": 0}}
    with pytest.raises(WrongTrafficError, match="a, b has"):
        promoted("digits", three, "c", 50)
    assert promoted("digits", three, "c") == {"a": 0, "b": 0, "c": 100}


def test_a_single_deployment_has_all_without_saying_so() -> None:
    assert traffic.present(ONE) == {"blue": 100}


@pytest.mark.parametrize(
    ("deployment", "share", "told"),
    [
        ("red", 100, "declares no deployment 'red'; it has blue, green"),
        ("green", 10, "green already has 10 percent"),
        ("green", 0, "--share: 0"),
        ("green", 101, "--share: 101"),
    ],
)
def test_what_does_not_fit_is_refused(deployment: str, share: int, told: str) -> None:
    with pytest.raises(WrongTrafficError, match=told):
        promoted("digits", BOTH, deployment, share)


@pytest.mark.parametrize("share", ["ninety", None, [90]])
def test_a_share_that_is_no_number_is_named(share: object) -> None:
    with pytest.raises(WrongTrafficError, match=r"traffic\.blue: .* is not a percentage"):
        promoted("digits", {**BOTH, "traffic": {"blue": share, "green": 10}}, "green")


def test_taking_back_finds_the_newest_other_traffic_of_deployments_that_are_still_there() -> None:
    now = {**BOTH, "traffic": {"blue": 0, "green": 100}}
    gone = {"deployments": {"red": {}, "blue": {}}, "traffic": {"red": 100}}
    assert rolled_back("digits", now, [now, gone, BOTH]) == {"blue": 90, "green": 10}


def test_of_two_without_a_past_the_other_gets_all() -> None:
    assert rolled_back("digits", {**BOTH, "traffic": {"blue": 0, "green": 100}}, []) == {"blue": 100, "green": 0}
    with pytest.raises(WrongTrafficError, match="promote digits DEPLOYMENT"):
        rolled_back("digits", ONE, [ONE])


def test_the_file_changes_by_its_numbers_alone() -> None:
    settings = {**BOTH, "mirror": {"green": 5}}
    text = changed(FILE, "digits", settings, promoted("digits", settings, "green"))
    assert text == FILE.replace("blue: 90, green: 10", "blue: 0, green: 100").replace("green: 5", "green: 0")


def test_traffic_that_was_not_said_is_added() -> None:
    text = changed(FILE.replace("      traffic: {blue: 90, green: 10}  # 10 % for a day\n", ""), "digits", ONE, {"blue": 100})
    assert text.endswith("      mirror: {green: 5}\n      traffic:\n        blue: 100\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the stack's file, and an engine that knows no such stack yet."""
    (tmp_path / "Pulumi.dev.yaml").write_text(FILE)
    monkeypatch.setattr(Stack, "exists", lambda self: False)
    return tmp_path


def test_an_endpoint_that_is_off_is_left_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "Pulumi.dev.yaml"
    file.write_text(off := FILE.replace("    digits:\n", "    digits:\n      enabled: false\n"))
    assert off != FILE
    assert main(["promote", "digits", "green", "--stack", "dev", "--config-folder", str(folder)]) == 2
    assert "ml_endpoints.digits is switched off: enabled: false in Pulumi.dev.yaml" in capsys.readouterr().err
    assert file.read_text() == off


def test_the_difference_is_shown_then_the_preview_and_azure_is_left_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []
    monkeypatch.setattr("azure_gpu_operations.commands.preview", lambda stack, say: done.append("preview"))
    monkeypatch.setattr("azure_gpu_operations.commands.bring_up", lambda stack, limit, say: done.append("up"))
    assert main(["promote", "digits", "green", "--stack", "dev", "--config-folder", str(folder)]) == 0
    told = capsys.readouterr().out
    assert "digits: blue 90 → 0, green 10 → 100" in told
    assert "-      traffic: {blue: 90, green: 10}  # 10 % for a day" in told
    assert "+      traffic: {blue: 0, green: 100}  # 10 % for a day" in told
    assert "operations up --stack dev" in told
    assert done == ["preview"]
    assert "{blue: 0, green: 100}" in (folder / "Pulumi.dev.yaml").read_text()


def test_yes_brings_it_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr("azure_gpu_operations.commands.preview", lambda stack, say: done.append("preview"))
    monkeypatch.setattr("azure_gpu_operations.commands.bring_up", lambda stack, limit, say: done.append("up"))
    assert main(["promote", "digits", "green", "--stack", "dev", "--config-folder", str(folder), "--yes"]) == 0
    assert done == ["preview", "up"]


def test_a_preview_that_fails_leaves_the_file_as_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def preview(stack: Stack, say: object) -> None:
        raise EngineError("no")

    monkeypatch.setattr("azure_gpu_operations.commands.preview", preview)
    assert main(["promote", "digits", "green", "--stack", "dev", "--config-folder", str(folder)]) == 1
    assert (folder / "Pulumi.dev.yaml").read_text() == FILE
    assert "is restored" in capsys.readouterr().err


def test_taking_back_reads_the_configuration_of_earlier_updates(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def update(result: str, value: str) -> dict[str, Any]:
        return {"kind": "update", "result": result, "config": {"azure-gpu:ml_endpoints": {"value": value, "secret": False}}}

    def of(blue: int, green: int) -> str:
        return (
            f'{{"digits": {{"deployments": {{"blue": {{}}, "green": {{}}}}, "traffic": {{"blue": {blue}, "green": {green}}}}}}}'
        )

    past = [
        update("succeeded", of(90, 10)),
        update("failed", of(1, 99)),
        update("succeeded", "{"),
        update("succeeded", of(80, 20)),
    ]
    monkeypatch.setattr(Stack, "history", lambda self, most: past)
    monkeypatch.setattr("azure_gpu_operations.commands.preview", lambda stack, say: None)
    assert main(["promote", "digits", "--back", "--stack", "dev", "--config-folder", str(folder)]) == 0
    assert "{blue: 80, green: 20}" in (folder / "Pulumi.dev.yaml").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["lynx", "green"], "declares no endpoint 'lynx'; its endpoints: digits"),
        (["digits", "red"], "no deployment 'red'"),
        (["digits"], "either a DEPLOYMENT or --back"),
        (["digits", "green", "--back"], "either a DEPLOYMENT or --back"),
    ],
)
def test_what_the_file_does_not_declare_is_refused(
    folder: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["promote", *words, "--stack", "dev", "--config-folder", str(folder)]) == 2
    assert told in capsys.readouterr().err
    assert (folder / "Pulumi.dev.yaml").read_text() == FILE


def test_a_deployment_that_failed_gets_no_traffic(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    provider = {"type": "pulumi:providers:azure-native", "inputs": {"subscriptionId": "s"}}
    outputs = {"type": "pulumi:pulumi:Stack", "outputs": {"endpoints": {"digits": "/e"}}}
    monkeypatch.setattr(Stack, "exists", lambda self: True)
    monkeypatch.setattr(Stack, "deployment", lambda self: {"resources": [provider, outputs]})
    monkeypatch.setattr(traffic, "_state", lambda view, endpoint_id: ("", ["green"] if endpoint_id == "/e" else []))
    assert main(["promote", "digits", "green", "--stack", "dev", "--config-folder", str(folder)]) == 2
    assert "operations explain digits --stack dev" in capsys.readouterr().err
