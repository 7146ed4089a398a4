"""Past the shelf life of what the catalog keeps, nothing is refused because a list lacks it: by every rule, and any question."""

import re
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings

from azure_gpu.catalog.problems import Code, Problem, errors
from azure_gpu_operations.catalog import kept
from tests.components.catalog.rule_tables import arguments
from tests.components.catalog.test_any_question import RULES, TABLES, questions
from tests.support.examples import examples

LISTS = [each for each in kept.lists() if each.kind != "ends"]
SOURCES = frozenset(str(each.source) for each in LISTS)
LATER = max(each.last_day for each in LISTS) + timedelta(days=1)
ABSENT = (Code.NOT_OFFERED, Code.NOT_IN_REGION, Code.NOT_LISTED)
DAYS = {name: day for name, rule in RULES.items() for day, hint in get_type_hints(rule).items() if hint is date}
# Refusals by the page of a list that aren't by absence from it.
NO_IN_WORDS = {
    "AKS doesn't support Standard_NV.*gpu-cluster.md": "the page names NVv4 as one that isn't supported",
    "AKS installs no GPU driver on .*MI300X.*use-amd-gpus.md": "the page tells to install it by hand",
    "AKS no longer creates pools with Flatcar": "the changelog closes it",
    "AKS doesn't support NVIDIA GPUs on (Flatcar|AzureLinuxOSGuard)": "the page names both",
    "; allowed: an image with (Windows|Linux)": "the image is on the list, and of the other system",
    "not a valid Kubernetes version": "no list has it, ever",
    "Kubernetes, if configured first, claims every GPU": "the page warns of it",
    "Azure Stack Edge has no Spot machines": "the page describes what a device has",
    "a device has at most two GPUs": "the page describes what a device has",
    "the size has no GPU": "which the extension needs",
    "HPC-X doesn't run under Windows": "it has no build for it",
    "has no InfiniBand": "what a size has is no list of what a service takes",
    "no Marketplace image is known": "the pool needs an image, and its owner can name one",
    "no known method installs the software .*set image to one": "the pool needs an image, and its owner can name one",
    "isn't in the exporter's default set": "its default set is in its source",
}


def by_a_list(problems: Iterable[Problem]) -> list[str]:
    of_lists = (str(each) for each in errors(problems) if each.code in ABSENT or each.source in SOURCES)
    return [each for each in of_lists if not any(re.search(words, each) for words in NO_IN_WORDS)]


@pytest.mark.parametrize("name", DAYS, ids=[name.removeprefix("azure_gpu.catalog.") for name in DAYS])
def test_a_list_past_its_shelf_life_refuses_nothing(name: str) -> None:
    rule, later = RULES[name], {DAYS[name]: LATER}
    for table in (each for each in TABLES if each["call"] == name):
        for row in (row for listed in table["rules"].values() for row in listed):
            assert by_a_list(rule(**{**arguments(rule, table.get("base", {}), row), **later})) == []

    @settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.nested_given])
    @given(questions(rule))
    def asked(question: dict[str, Any]) -> None:
        assert by_a_list(rule(**{**question, **later})) == []

    asked()
