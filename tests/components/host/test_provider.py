"""Components constructed for programs in other languages: the same as in Python, and refused in the same words."""

import dataclasses
import json
import re
from typing import Any

import pytest

import azure_gpu
from tests.components.answering import clusters_that_answer
from tests.components.host.engine import reference, running
from tests.components.host.spelling import in_schema
from tests.components.recording import Recorded, declare
from tests.components.test_constructors import GOOD, LOOK_UPS


def given(kind: str, args: dict[str, Any]) -> dict[str, Any]:
    return in_schema(args, getattr(azure_gpu, f"{kind}Args"))


def declared(recorded: Recorded) -> dict[str, dict[str, Any]]:
    """Every registration by its URN. A program in Python has a stack as the parent of its components, here the engine has it."""
    every = json.dumps([dataclasses.asdict(each) for each in recorded.registrations])
    every = re.sub(r'"urn:pulumi:\w+::[\w-]+::pulumi:pulumi:Stack::[\w-]+"', '""', every)
    every = re.sub(r"urn:pulumi:\w+::[\w-]+::(pulumi:pulumi:Stack\$)?", "", every)
    return {each["urn"]: {**each, "dependencies": sorted(each["dependencies"])} for each in json.loads(every)}


def differing(one: Recorded, other: Recorded) -> dict[str, Any]:
    """What is declared in one way and not in the other, by URN and option."""
    mine, yours = declared(one), declared(other)
    return {
        f"{urn} {key}": (mine[urn][key], yours[urn][key])
        for urn in mine.keys() & yours.keys()
        for key in mine[urn]
        if mine[urn][key] != yours[urn][key]
    } | {urn: "once" for urn in mine.keys() ^ yours.keys()}


@pytest.mark.parametrize("kind", sorted(GOOD))
def test_a_component_is_what_it_is_in_python(kind: str) -> None:
    with clusters_that_answer():
        in_python = declare(lambda: getattr(azure_gpu, kind)("mine", GOOD[kind]), lookups=LOOK_UPS)
        with running(LOOK_UPS) as engine:
            constructed = engine.construct(kind, "mine", given(kind, GOOD[kind]))
    assert differing(in_python, engine.recorded) == {}
    assert constructed.urn == f"urn:pulumi:test::azure-gpu::azuregpu:index:{kind}::mine"


def test_a_component_that_is_given_to_another_is_what_it_is_in_python() -> None:
    pool = {"size": "Standard_NC4as_T4_v3", "expires_after": "2099-03-31"}
    cluster = {"gpu_pools": {"t4": {**pool, "max_nodes": 2}}}
    cluster["gpu_pools"]["t4"].pop("expires_after")
    deployments = {"blue": {"model": "/models/digits/versions/1", "instance_type": "Standard_NC4as_T4_v3"}}

    def program() -> None:
        base = azure_gpu.Foundation("base", location="westeurope", identity="create", storage="create", log_workspace="create")
        account = azure_gpu.BatchAccount("batch", foundation=base)
        _ = azure_gpu.BatchPool("train", foundation=base, batch_account=account, **pool)
        jobs = azure_gpu.JobEnvironment("jobs", foundation=base, gpus=["T4"])
        _ = azure_gpu.ServerlessGpuJob("nightly", job_environment=jobs, expires_after="2099-03-31", image="python:3.11")
        gpu = azure_gpu.GpuCluster("gpu", foundation=base, expires_after="2099-03-31", **cluster)
        ml = azure_gpu.MlWorkspace("ml", foundation=base, computes={"aks": {"cluster": gpu, "extension": {"install": False}}})
        _ = azure_gpu.MlEndpoint("digits", workspace=ml, deployments=deployments, expires_after="2099-03-31")

    with clusters_that_answer():
        in_python = declare(program, lookups=LOOK_UPS)
        with running(LOOK_UPS) as engine:

            def made(kind: str, name: str, /, **args: Any) -> dict[str, Any]:
                urn = engine.construct(kind, name, args).urn
                return reference(urn)

            parts = {"identity": "create", "storage": "create", "logWorkspace": "create"}
            base = made("Foundation", "base", location="westeurope", **parts)
            account = made("BatchAccount", "batch", foundation=base)
            made("BatchPool", "train", foundation=base, batchAccount=account, **given("BatchPool", pool))
            jobs = made("JobEnvironment", "jobs", foundation=base, gpus=["T4"])
            made("ServerlessGpuJob", "nightly", jobEnvironment=jobs, expiresAfter="2099-03-31", image="python:3.11")
            gpu = made("GpuCluster", "gpu", foundation=base, expiresAfter="2099-03-31", **given("GpuCluster", cluster))
            ml = made("MlWorkspace", "ml", foundation=base, computes={"aks": {"cluster": gpu, "extension": {"install": False}}})
            made(
                "MlEndpoint",
                "digits",
                workspace=ml,
                expiresAfter="2099-03-31",
                **given("MlEndpoint", {"deployments": deployments}),
            )
    assert differing(in_python, engine.recorded) == {}
    assert len(engine.recorded.registrations) > 60
