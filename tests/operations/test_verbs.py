"""The table of commands: each exists, loads only its own module, and is in docs/commands.md."""

import argparse
import subprocess
import sys
from importlib import import_module

import pytest

from azure_gpu_operations import verbs
from azure_gpu_operations.__main__ import main
from tests.support.embedded import CHECKOUT


@pytest.mark.parametrize("name", verbs.VERBS)
def test_each_command_has_help_with_what_it_does_and_its_module_s_words(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: python -m operations {name}")
    module = import_module(f"azure_gpu_operations.{verbs.VERBS[name].module}")
    assert (module.__doc__ or "").splitlines()[0] in text
    says_so = "has brought up .local, with the connection that is there" in " ".join(text.split())
    assert says_so == ("--config-folder" in text), "where it finds a stack of `make up`"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("commands", "loaded", "found"),
    [
        (
            "['sizes']",
            "[v.module for v in verbs.VERBS.values() if f'azure_gpu_operations.{v.module}' in sys.modules]",
            "['sizes.command']",
        ),
        (
            "set(verbs.VERBS) - {'sizes', 'catalog'}",
            "{'azure', 'msal', 'pulumi', 'requests', 'rich'} & set(sys.modules) or []",
            "[]",
        ),
    ],
    ids=["the requested module", "no tables, SDK of Pulumi or client of Azure"],
)
def test_help_loads_what_is_requested_and_nothing_slow(commands: str, loaded: str, found: str) -> None:
    code = (
        "import sys; from azure_gpu_operations import verbs; import argparse\n"
        f"for name in {commands}: verbs.add_all(argparse.ArgumentParser().add_subparsers(), name)\n"
        f"print({loaded})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=CHECKOUT)
    assert done.stdout.strip() == found


@pytest.mark.slow
@pytest.mark.parametrize("words", [["sizes", "show", "nc6", "--json"], ["run", "mnist", "--on", "job"]], ids=["sizes", "run"])
def test_what_asks_nothing_of_azure_loads_none_of_its_clients(words: list[str]) -> None:
    code = (
        f"import sys; from azure_gpu_operations.__main__ import main\nmain({words})\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('azure', 'msal')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=CHECKOUT)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_tables_of_the_page_are_those_of_the_program() -> None:
    page = (CHECKOUT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert verbs.with_tables(page) == page, "run `make renew`"


def test_a_page_without_a_place_for_a_table_is_left_alone() -> None:
    with pytest.raises(ValueError, match="the page has no <!-- commands -->"):
        verbs.with_tables("# a page")


@pytest.mark.parametrize("name", verbs.GONE)
def test_a_name_of_an_earlier_version_says_what_takes_its_place(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, *option = name.split()
    called = [command, "--stack", "dev", *(f"{each}=x" for each in option)]
    assert main(called) == 2
    assert capsys.readouterr() == ("", f"error: `{name}` is gone: {verbs.GONE[name]}\n")
    assert command not in verbs.VERBS or option


def test_every_command_has_a_parser_and_one_line() -> None:
    commands = argparse.ArgumentParser().add_subparsers()
    verbs.add_all(commands, "")
    assert list(commands.choices) == list(verbs.VERBS)
    assert all(0 < len(verb.line) <= 120 and not verb.line.endswith(".") for verb in verbs.VERBS.values())
