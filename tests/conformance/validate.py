"""Level `validate`: every body of every happy case goes to ARM's validate and what-if. Nothing is created, and nothing costs.

In: an Azure, and an embedded Azure to compare with. Out: differences, and what both refuse. A case is a stack file; its program
is recorded without an engine, in a process of its own that is forked from one with the SDK loaded, because loading takes longest.
"""

import json
import multiprocessing
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import yaml
from pulumi.runtime import settings

from azure_gpu_operations.graph import recorded, recording
from azure_gpu_operations.preflight.template import Template, template_of
from azure_gpu_operations.preflight.validation import request
from tests.components.recording import PROJECT, STACK, SUBSCRIPTION as OF_CASES
from tests.components.settings_of import TODAY, configuration
from tests.conformance.azure import Azure
from tests.conformance.differences import Difference, between, codes_of
from tests.support import warm_python_server
from tests.support.embedded import CHECKOUT

CASES = CHECKOUT / "tests" / "components" / "cases"
ACTIONS = ("validate", "whatIf")


class Case(NamedTuple):
    name: str
    template: Template


class Judged(NamedTuple):
    """`bodies` is how many were sent; `refused` says by case which codes both give."""

    bodies: int
    cases: int
    differences: tuple[Difference, ...]
    refused: dict[str, tuple[str, ...]]
    left_out: dict[str, tuple[str, ...]]  # by case


def names() -> list[str]:
    return sorted(path.stem for path in CASES.glob("*.happy.*.yaml"))


def templates(chosen: Sequence[str], subscription: str) -> Iterator[Case]:
    """The cases as templates for a subscription."""
    context = multiprocessing.get_context("fork")
    warm_python_server.load()  # once, before the forks

    with context.Pool(1, maxtasksperchild=1) as pool:
        for name, answer in zip(chosen, pool.imap(_recorded, [(each, subscription) for each in chosen]), strict=True):
            found = recorded.parsed(answer, STACK, TODAY)
            yield Case(name, template_of(found, subscription, OF_CASES))


def _recorded(wanted: tuple[str, str]) -> dict[str, Any]:
    """In a fork of its own, which keeps nothing of what this process has declared."""
    settings.SETTINGS.callbacks = None
    name, subscription = wanted
    text = (CASES / f"{name}.yaml").read_text(encoding="utf-8").replace(OF_CASES, subscription)
    given = {"as_of": TODAY, **yaml.safe_load(text)["says"]}
    whole = configuration(given) | {"azure-native:subscriptionId": subscription}
    whole = {"azure-gpu:image_source": "https://example.com/checkout.git#HEAD", **whole}
    return recording.run({"program": str(CHECKOUT), "project": PROJECT, "stack": STACK, "configuration": whole})


def judge(azure: Azure, reference: Azure, chosen: Sequence[str] = ()) -> Judged:
    """Sends the cases to both."""
    bodies, count = 0, 0
    differences: list[Difference] = []
    refused: dict[str, tuple[str, ...]] = {}
    left_out: dict[str, tuple[str, ...]] = {}
    for case in templates(chosen or names(), azure.subscription):
        count, bodies = count + 1, bodies + len(case.template.sent)
        if case.template.left_out:
            left_out[case.name] = case.template.left_out
        for action in ACTIONS:
            sent = request(azure.subscription, case.template, action)
            body = json.loads(str(sent.content))
            version = sent.url.partition("api-version=")[2]
            path = sent.url.partition("?")[0]
            found = azure.send("POST", path, version, body)
            expected = reference.send(
                "POST",
                path.replace(azure.subscription, reference.subscription),
                version,
                json.loads(json.dumps(body).replace(azure.subscription, reference.subscription)),
            )
            differences += between(case.name, action, expected, found)
            if codes := codes_of(found.response):
                refused[f"{case.name} {action}"] = tuple(codes)
    return Judged(bodies, count, tuple(differences), refused, left_out)


__all__ = ["ACTIONS", "Case", "Judged", "judge", "names", "templates"]
