"""The weather is chosen when a server starts, kept in its folder, and changed part by part with faults."""

from pathlib import Path

import pytest

from localazure import fault
from localazure.arm.errors import ArmError
from localazure.fault import Fault
from localazure.folder import LocalFolder
from localazure.weather.parts import PARTS
from localazure.weather.state import CALM, ROUGH, Weather, kept
from tests.support.embedded import ServedAzure
from tests.support.in_process import InProcessAzure
from tests.support.tables import of_table

ALL_ROUGH = {name for name, part in PARTS.items() if part.rough}


def holding(weather: Weather) -> set[str]:
    return {name for name in PARTS if weather.holds(name)}


def test_rough_weather_is_what_every_subscription_meets_and_calm_weather_nothing() -> None:
    assert holding(Weather(CALM)) == set()
    assert holding(Weather(ROUGH)) == ALL_ROUGH
    asked_for = "tasks-not-allowed docker-hub-limit registry-error abac-registries no-policy-manager whole-pools landing-zone"
    assert set(asked_for.split()) == set(PARTS) - ALL_ROUGH


def test_each_part_is_a_fault_of_its_own_and_can_be_left_out() -> None:
    weather = Weather(CALM)
    for name in PARTS:
        weather.change([fault.parse({"kind": "weather", "name": name})])
        assert holding(weather) == {name}
        assert weather.seconds(name) == PARTS[name].seconds
    weather = Weather(ROUGH)
    weather.change([fault.parse({"kind": "calm", "name": "role-delay"})])
    assert holding(weather) == ALL_ROUGH - {"role-delay"}
    weather.change([fault.parse({"kind": "calm", "name": "role-delay"}), Fault(kind="weather", name="role-delay", seconds=9)])
    assert weather.seconds("role-delay") == 9


@of_table("given", "word")
def test_a_part_that_is_not_there_is_refused_with_those_that_are(given: dict[str, object], word: str) -> None:
    with pytest.raises(ArmError, match=word):
        fault.parse(given)


def test_what_a_folder_names_is_kept_and_anything_else_is_rough(tmp_path: Path) -> None:
    path = LocalFolder(tmp_path).weather
    assert kept(path) == ROUGH
    path.write_text("calm\n")
    assert kept(path) == CALM
    path.write_text("hail\n")
    assert kept(path) == ROUGH


def test_faults_end_and_the_weather_stays(rough: InProcessAzure) -> None:
    rough.fault("calm", name="throttling")
    assert not rough.weather.holds("throttling")
    rough.clear_faults()
    assert holding(rough.weather) == ALL_ROUGH


@pytest.mark.slow
def test_a_server_starts_in_rough_weather_says_so_and_keeps_it(own_served_azure: ServedAzure) -> None:
    assert "in calm weather" in own_served_azure.command("status").stdout
    refused = own_served_azure.command("start", "--weather", "rough")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "with --weather calm, not rough" in refused.stderr
    own_served_azure.command("stop")
    assert own_served_azure.command("start").returncode == 0
    assert "in calm weather" in own_served_azure.command("status").stdout
    own_served_azure.command("stop")
    assert own_served_azure.command("start", "--weather", "rough").returncode == 0
    assert "in rough weather" in own_served_azure.command("status").stdout
    added = own_served_azure.command("fault", "calm", "role-delay")
    assert added.stdout == "kind calm, name role-delay\n"
    assert "kind weather, name tasks-not-allowed" in own_served_azure.command("fault", "weather", "tasks-not-allowed").stdout
