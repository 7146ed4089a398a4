"""Components constructed for programs in other languages: the same as in Python, and refused in the same words."""

import dataclasses
import functools
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.proto import alias_pb2, provider_pb2, provider_pb2_grpc

import azure_gpu
from azure_gpu.host.names import camel, of_keys, respelt
from azure_gpu.host.provider import SCHEMA, property_path
from tests.components import recording
from tests.components.answering import clusters_that_answer
from tests.components.host.engine import SECRET, Constructed, Engine, Refusal, output, reference, running, secret
from tests.components.host.spelling import in_schema
from tests.components.recording import SUBSCRIPTION, Recorded, declare, readable
from tests.components.test_constructors import GOOD, IN_A_PROGRAM, LOOK_UPS, PARTS, alone, places, put, written

FOLDER = Path(__file__).parents[3] / "components"


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


@functools.cache
def constructed() -> tuple[Recorded, dict[str, Constructed]]:
    """Each component, all in one deployment."""
    with clusters_that_answer(), running(LOOK_UPS) as engine:
        return engine.recorded, {kind: engine.construct(kind, "mine", given(kind, GOOD[kind])) for kind in sorted(GOOD)}


def test_every_component_is_what_it_is_in_python() -> None:
    def program() -> None:
        for kind in sorted(GOOD):
            getattr(azure_gpu, kind)("mine", GOOD[kind])

    with clusters_that_answer():
        in_python = declare(program, lookups=LOOK_UPS)
    recorded, components = constructed()
    assert differing(in_python, recorded) == {}
    for kind, component in components.items():
        assert component.urn == f"urn:pulumi:test::azure-gpu::azuregpu:index:{kind}::mine"


POOL: Any = {"size": "Standard_NC4as_T4_v3", "expires_after": "2099-03-31"}
CLUSTER: Any = {"gpu_pools": {"t4": {"size": "Standard_NC4as_T4_v3", "max_nodes": 2}}, "expires_after": "2099-03-31"}
DEPLOYMENTS: Any = {"blue": {"model": "/models/digits/versions/1", "instance_type": "Standard_NC4as_T4_v3"}}
BASE: Any = {"location": "westeurope", "identity": "create", "storage": "create", "log_workspace": "create"}
EXTENSION: Any = {"install": False}


def test_a_component_that_is_given_to_another_is_what_it_is_in_python() -> None:
    def program() -> None:
        base = azure_gpu.Foundation("base", BASE)
        account = azure_gpu.BatchAccount("batch", foundation=base)
        image = azure_gpu.GalleryImage("drivers", foundation=base)
        _ = azure_gpu.BatchPool("train", foundation=base, batch_account=account, **POOL)
        jobs = azure_gpu.JobEnvironment("jobs", foundation=base, gpus=["T4"])
        _ = azure_gpu.ServerlessGpuJob("nightly", job_environment=jobs, expires_after="2099-03-31", image="python:3.11")
        gpu = azure_gpu.GpuCluster("gpu", CLUSTER | {"foundation": base})
        computes: Any = {"aks": {"cluster": gpu, "extension": EXTENSION}}
        ml = azure_gpu.MlWorkspace("ml", foundation=base, computes=computes)
        _ = azure_gpu.MlEndpoint("digits", workspace=ml, deployments=DEPLOYMENTS, expires_after="2099-03-31")
        assert image

    with clusters_that_answer():
        in_python = declare(program, lookups=LOOK_UPS)
        with running(LOOK_UPS) as engine:

            def made(kind: str, name: str, args: dict[str, Any], **others: Any) -> dict[str, Any]:
                return reference(engine.construct(kind, name, given(kind, args) | others).urn)

            base = made("Foundation", "base", BASE)
            account = made("BatchAccount", "batch", {}, foundation=base)
            made("GalleryImage", "drivers", {}, foundation=base)
            made("BatchPool", "train", POOL, foundation=base, batchAccount=account)
            jobs = made("JobEnvironment", "jobs", {"gpus": ["T4"]}, foundation=base)
            made("ServerlessGpuJob", "nightly", {"image": "python:3.11"}, jobEnvironment=jobs, expiresAfter="2099-03-31")
            gpu = made("GpuCluster", "gpu", CLUSTER, foundation=base)
            ml = made("MlWorkspace", "ml", {}, foundation=base, computes={"aks": {"cluster": gpu, "extension": EXTENSION}})
            made("MlEndpoint", "digits", {"deployments": DEPLOYMENTS}, workspace=ml, expiresAfter="2099-03-31")
    assert differing(in_python, engine.recorded) == {}
    assert len(engine.recorded.registrations) > 60


def refused(engine: Engine, kind: str, inputs: dict[str, Any]) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        engine.construct(kind, "mine", inputs)
    assert engine.recorded.registrations == []
    return refusal.value


@pytest.fixture(scope="module")
def refusing() -> Iterator[Engine]:
    """A deployment in which nothing is declared."""
    with clusters_that_answer(), running(LOOK_UPS) as engine:
        yield engine


@pytest.mark.parametrize(("kind", "more", "path", "part"), IN_A_PROGRAM, ids=[f"{each[0]}.{each[2]}" for each in IN_A_PROGRAM])
def test_what_is_wrong_is_told_in_the_words_of_the_library(
    refusing: Engine, kind: str, more: dict[str, Any], path: str, part: str
) -> None:
    inputs = given(kind, {**alone(GOOD[kind]), **more})
    told = refused(refusing, kind, inputs)
    assert re.fullmatch(rf'\d+ problems? in {kind}\("mine"\), nothing of it was declared:', told.message)
    steps = [camel(step) for step in path.split(".")]
    [reason] = [reason for place, reason in told.properties if place == ".".join([f'{kind}("mine")', *steps])]
    assert respelt(part, of_keys(json.loads(SCHEMA.read_text()))) in reason
    assert "\n" not in reason


def test_all_problems_are_told_at_once_under_the_names_of_the_schema(refusing: Engine) -> None:
    pools = {"a_pool": {"size": "Standard_NC4as_T4_v3", "maxnodes": 4, "spot": {"eviction": "keep"}}}
    inputs = {"resourceGroupName": "mine", "gpuPools": pools, "devicePlugin": "yes", "tier": 3}
    told = refused(refusing, "GpuCluster", {**inputs, "startTask": 1})
    assert told.message == '6 problems in GpuCluster("mine"), nothing of it was declared:'
    found = {place.removeprefix('GpuCluster("mine").'): reason for place, reason in told.properties}
    assert found["gpuPools.a_pool.maxnodes"].startswith("unknown key; given: 'maxnodes'; allowed: size, minNodes, maxNodes,")
    assert found["gpuPools.a_pool.maxnodes"].endswith("; fix: did you mean maxNodes?")
    assert found["gpuPools.a_pool.spot.eviction"] == (
        "invalid value; given: 'keep'; allowed: delete, deallocate; fix: write one of delete, deallocate"
    )
    assert found["devicePlugin"].startswith("expected an object with enabled, ")
    assert found["tier"].startswith("invalid value; given: 3; allowed: free, standard, premium; ")
    assert found["gpuPools.a_pool"].startswith("not a valid name for a Linux pool of AKS")
    assert found["startTask"].startswith("unknown key; given: 'startTask'; allowed: ")


@pytest.mark.parametrize("kind", sorted(GOOD))
def test_a_problem_at_any_key_is_told_where_the_program_has_it(kind: str) -> None:
    wanted, path = getattr(azure_gpu, f"{kind}Args"), f'{kind}("mine")'
    for steps, _ in places(wanted, ()):
        inputs: Any = given(kind, put({}, steps, "here"))
        reached, text = inputs, path
        for step in steps:
            key = step if isinstance(step, int) or step in reached else camel(step)
            reached = reached[key]
            text += f"[{key}]" if isinstance(key, int) else f".{key}"
        assert reached == "here"
        assert property_path(f"{path}.{written(steps)}", path, wanted) == text


UNKNOWN = [output(known=False), output(known=False, secret=True), recording.UNKNOWN]
OF_A_RESOURCE = [*UNKNOWN, output("Standard_NC4as_T4_v3", "urn:of:something"), secret("Standard_NC4as_T4_v3")]


@pytest.mark.parametrize("value", OF_A_RESOURCE, ids=str)
def test_what_decides_has_to_be_known(refusing: Engine, value: Any) -> None:
    told = refused(refusing, "BatchPool", {**given("BatchPool", alone(GOOD["BatchPool"])), "size": value})
    [(place, reason)] = told.properties
    assert place == 'BatchPool("mine").size'
    assert reason.startswith("must be known when the program runs, got an output; allowed: a string; fix: pass")


def test_a_component_that_is_not_known_is_asked_for_itself(refusing: Engine) -> None:
    told = refused(refusing, "BatchPool", {**given("BatchPool", alone(GOOD["BatchPool"])), "foundation": output(known=False)})
    [reason] = [reason for place, reason in told.properties if place == 'BatchPool("mine").foundation']
    assert reason.endswith("; allowed: a Foundation; fix: pass the component itself")


def test_an_output_that_is_known_and_of_nothing_is_a_value() -> None:
    with running(LOOK_UPS) as engine:
        engine.construct("ContainerGroup", "mine", {"resourceGroupName": output("mine"), "image": output("python:3.11")})
    assert engine.recorded.one("azure-native:containerinstance:ContainerGroup").inputs["resourceGroupName"] == "mine"
    assert ("azure-native:resources:getResourceGroup", {"resourceGroupName": "mine"}) in engine.recorded.lookups


def test_an_input_may_be_known_later_and_be_secret() -> None:
    urn = "urn:pulumi:test::azure-gpu::azure-native:resources:ResourceGroup::theirs"
    with running(LOOK_UPS, preview=True) as engine:
        engine.construct(
            "ContainerGroup",
            "mine",
            {
                "resourceGroupName": output("mine", urn),
                "location": "westeurope",
                "image": "python:3.11",
                "groupName": recording.UNKNOWN,
                "tags": {"later": output(known=False), "now": "here"},
                "environment": {"OPEN": "yes"},
                "secretEnvironment": {"TOKEN": output("hush", secret=True), "OTHER": secret("hush, too"), "TEXT": "hush as well"},
            },
        )
    group = engine.recorded.one("azure-native:containerinstance:ContainerGroup")
    assert (group.inputs["containerGroupName"], group.inputs["tags"]["later"]) == (recording.UNKNOWN, recording.UNKNOWN)
    assert group.inputs["tags"]["now"] == "here"
    assert urn in group.dependencies
    [container] = group.inputs["containers"]
    values = {each["name"]: each.get("secureValue", each.get("value")) for each in container["environmentVariables"]}
    assert {"OPEN": "yes", "TOKEN": "hush", "OTHER": "hush, too", "TEXT": "hush as well"}.items() <= values.items()
    assert "hush" not in readable(group.wire)


def test_a_secret_around_known_names_is_a_secret_of_each_value() -> None:
    inputs = {"resourceGroupName": "mine", "image": "python:3.11"}
    with running(LOOK_UPS) as engine:
        engine.construct("ContainerGroup", "mine", {**inputs, "secretEnvironment": output({"TOKEN": "hush"}, secret=True)})
    group = engine.recorded.one("azure-native:containerinstance:ContainerGroup")
    assert "hush" in str(group.inputs)
    assert "hush" not in readable(group.wire)


def test_what_an_older_sdk_says_of_a_whole_argument_holds_of_what_may_depend() -> None:
    urn = "urn:pulumi:test::azure-gpu::azure-native:network:VirtualNetwork::theirs"
    inputs = {"resourceGroupName": "mine", "image": "python:3.11", "tags": {"network": "theirs"}, "restartPolicy": "Never"}
    with running(LOOK_UPS) as engine:
        engine.construct("ContainerGroup", "mine", inputs, {key: [urn] for key in ("tags", "image", "restartPolicy")})
    group = engine.recorded.one("azure-native:containerinstance:ContainerGroup")
    assert group.inputs["tags"]["network"] == "theirs"
    assert group.inputs["restartPolicy"] == "Never"
    assert urn in group.dependencies


def test_text_that_an_sdk_has_made_a_secret_is_checked_and_stays_one() -> None:
    good = given("EdgeSharing", GOOD["EdgeSharing"])
    with clusters_that_answer(), running(LOOK_UPS) as engine:
        made = engine.construct("EdgeSharing", "mine", {**good, "kubeconfig": output(good["kubeconfig"], secret=True)})
        assert made.state["context"] == "theirs"
        told = refused_of(engine, "EdgeSharing", {**good, "kubeconfig": secret("no: kubeconfig")})
    assert [place for place, _ in told.properties] == ['EdgeSharing("other").kubeconfig']
    assert "token: none" not in " ".join(readable(each.wire) for each in engine.recorded.registrations)


def test_a_secret_at_a_plain_key_and_a_name_taken_twice_are_told_under_the_names_of_the_schema() -> None:
    group = {"resourceGroupName": "mine", "image": "python:3.11", "environment": {"DB_PASSWORD": output("hush", secret=True)}}
    pool = given("BatchPool", {**alone(GOOD["BatchPool"]), "pool_name": "x"})
    with running(LOOK_UPS) as engine:
        told = refused_of(engine, "ContainerGroup", group)
        [(place, reason)] = told.properties
        assert place == 'ContainerGroup("other").environment.DB_PASSWORD'
        assert 'move it to ContainerGroup("other").secretEnvironment as DB_PASSWORD' in reason
        assert "hush" not in str(told)
        for _ in range(2):  # as a preview and an update do
            engine.construct("BatchPool", "one", pool)
        [(place, reason)] = refused_of(engine, "BatchPool", pool).properties
        assert place == 'BatchPool("other").poolName'
        assert 'already used by BatchPool("one").poolName' in reason


def refused_of(engine: Engine, kind: str, inputs: dict[str, Any]) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        engine.construct(kind, "other", inputs)
    return refusal.value


def test_outputs_in_an_output_are_one() -> None:
    inputs = {"resourceGroupName": "mine", "image": "python:3.11"}
    urns = ["urn:pulumi:test::azure-gpu::azure-native:network:VirtualNetwork::theirs", "urn:pulumi:test::azure-gpu::a:b:C::other"]
    dns = output({"nameServers": [output("10.0.0.4", urns[0], secret=True)]}, urns[1])
    with running(LOOK_UPS) as engine:
        engine.construct("ContainerGroup", "mine", {**inputs, "overrides": {"dnsConfig": dns}})
    group = engine.recorded.one("azure-native:containerinstance:ContainerGroup")
    assert group.inputs["dnsConfig"] == {"nameServers": ["10.0.0.4"]}
    assert set(urns) <= set(group.dependencies)
    assert "10.0.0.4" not in readable(group.wire)


def test_null_of_overrides_removes_a_property() -> None:
    inputs = {"resourceGroupName": "mine", "image": "python:3.11", "overrides": {"osType": None, "sku": "Dedicated"}}
    with running(LOOK_UPS) as engine:
        engine.construct("ContainerGroup", "mine", inputs)
    group = engine.recorded.one("azure-native:containerinstance:ContainerGroup")
    assert group.inputs["sku"] == "Dedicated"
    assert "osType" not in group.inputs


@pytest.mark.parametrize(
    ("urn", "message", "fix"),
    [
        (
            "urn:pulumi:other::azure-gpu::azuregpu:index:BatchAccount::theirs",
            "this BatchAccount belongs to another stack, or to another provider of azuregpu",
            "pass its parts by their ids",
        ),
        (
            "urn:pulumi:test::azure-gpu::azure-native:batch:BatchAccount::theirs",
            "a azure-native:batch:BatchAccount isn't accepted here",
            "pass its id",
        ),
    ],
)
def test_a_resource_that_the_host_has_not_made_is_refused(refusing: Engine, urn: str, message: str, fix: str) -> None:
    inputs = {**given("BatchPool", alone(GOOD["BatchPool"])), "batchAccount": reference(urn)}
    told = refused(refusing, "BatchPool", inputs)
    [(place, reason)] = told.properties
    assert (place, reason.partition(";")[0]) == ('BatchPool("mine").batchAccount', message)
    assert reason.endswith(f"fix: {fix}")


def test_a_component_of_another_kind_is_refused_in_the_words_of_the_library() -> None:
    with running(LOOK_UPS) as engine:
        base = engine.construct("Foundation", "base", given("Foundation", GOOD["Foundation"])).urn
        inputs = {**given("BatchPool", alone(GOOD["BatchPool"])), "batchAccount": reference(base)}
        told = refused_of(engine, "BatchPool", inputs)
    [reason] = [reason for place, reason in told.properties if place == 'BatchPool("other").batchAccount']
    assert reason == "a Foundation isn't accepted here; allowed: a BatchAccount or a string; fix: pass its id"


def test_what_is_warned_of_is_shown_under_the_names_of_the_schema() -> None:
    inputs = {**given("GpuCluster", GOOD["GpuCluster"]), "kubernetesVersion": "1.35", "asOf": "2026-11-21"}
    with clusters_that_answer(), running(LOOK_UPS) as engine:
        engine.construct("GpuCluster", "mine", inputs)
    [told] = [line for line in engine.recorded.log if line.startswith('GpuCluster("mine").kubernetesVersion: ')]
    assert "retires on 2027-03-31" in told


@pytest.mark.parametrize(
    ("error", "message"),
    [(KeyError("a fault of ours"), "KeyError: 'a fault of ours'"), (Exception("the engine said no"), "the engine said no")],
    ids=["of-a-type", "plain"],
)
def test_a_fault_of_the_library_reaches_no_program_as_a_trace(
    monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(azure_gpu, "BatchAccount", broken)
    with running(LOOK_UPS) as engine:
        told = refused(engine, "BatchAccount", {"resourceGroupName": "mine"})
    assert (told.message, told.properties) == (message, [])


@pytest.mark.parametrize(
    ("python", "elsewhere"),
    [
        (
            'add it: opts=pulumi.ResourceOptions(aliases=[pulumi.Alias(name="a_b")]), please',
            'the option aliases: [{name: "a_b"}], ',
        ),
        ("then pulumi.Output.unsecret(…)", "then pulumi.unsecret(…), or in YAML no fn::secret"),
    ],
)
def test_what_a_fix_writes_in_python_is_what_every_language_has(python: str, elsewhere: str) -> None:
    assert elsewhere in respelt(python, ["maxNodes"])


PROVIDER = "urn:pulumi:test::azure-gpu::pulumi:providers:azure-native::theirs"


def test_what_a_component_declares_and_looks_up_is_by_the_provider_that_it_is_given() -> None:
    with running(LOOK_UPS) as engine:
        engine.resources[PROVIDER] = MockMonitor.ResourceRegistration(PROVIDER, "id", {})
        inputs = {"resourceGroupName": "mine", "monthlyUsd": 5, "otherSubscriptions": {SUBSCRIPTION: reference(PROVIDER)}}
        engine.construct("Budget", "mine", inputs, providers={"azure-native": f"{PROVIDER}::id"})
    assert engine.recorded.one("azure-native:consumption:Budget").provider == f"{PROVIDER}::id"
    assert set(engine.recorded.lookup_providers) == {f"{PROVIDER}::id"}


def test_parts_in_another_subscription_are_looked_up_by_one_provider_of_it() -> None:
    other = PARTS["identity_id"].replace(SUBSCRIPTION, "99999999-2222-3333-4444-555555555555")
    with running(LOOK_UPS) as engine:
        for name in ("mine", "yours"):
            inputs = {"resourceGroupName": "mine", "image": "python:3.11", "identityId": other}
            engine.construct("ContainerGroup", name, inputs)
    provider = engine.recorded.one("pulumi:providers:azure-native")
    assert provider.inputs["subscriptionId"] == "99999999-2222-3333-4444-555555555555"
    asked = dict(zip([token for token, _ in engine.recorded.lookups], engine.recorded.lookup_providers, strict=True))
    assert asked["azure-native:managedidentity:getUserAssignedIdentity"].startswith(f"{provider.urn}::")


def test_options_of_the_engine_reach_the_component() -> None:
    parent = "urn:pulumi:test::azure-gpu::my:own:Team::vision"
    alias = alias_pb2.Alias(urn="urn:pulumi:test::azure-gpu::azuregpu:index:Budget::before")
    with running(LOOK_UPS) as engine:
        engine.construct(
            "Budget",
            "mine",
            {"resourceGroupName": "mine", "monthlyUsd": 5},
            parent=parent,
            aliases=[alias],
            protect=True,
            dependencies=[parent],
        )
    component = engine.recorded.one("azuregpu:index:Budget")
    assert (component.parent, component.protect, component.dependencies) == (parent, True, [parent])
    assert component.aliases == [{"urn": alias.urn}]


def test_a_component_that_is_not_there_is_refused_by_its_name() -> None:
    with running(LOOK_UPS) as engine:
        told = refused(engine, "GpuFarm", {})
    assert told.message == f"azuregpu {azure_gpu.__version__} has no component azuregpu:index:GpuFarm"


def test_outputs_have_the_names_of_the_schema_and_its_secrets_are_the_only_ones() -> None:
    spec = json.loads(SCHEMA.read_text())["resources"]
    secrets: set[str] = set()
    states = {kind: component.state for kind, component in constructed()[1].items()}
    for kind, state in states.items():
        properties = spec[f"azuregpu:index:{kind}"]
        assert state.keys() == properties["properties"].keys()
        assert {key for key in properties["required"] if state[key] is None} == set()
        secrets |= {f"{kind}.{key}" for key, value in state.items() if isinstance(value, dict) and value.get("secret")}
        secrets |= {f"{kind}.{key}" for key, value in state.items() if SECRET in str(value)}
    assert states["GpuCluster"]["gpuPools"]["t4"]["resource"] == "nvidia.com/gpu"
    marked = {
        f"{token.rpartition(':')[2]}.{key}"
        for token, each in spec.items()
        for key, of in each["properties"].items()
        if of.get("secret")
    }
    assert secrets == marked


@pytest.mark.slow
def test_the_folder_of_the_package_runs_as_a_plugin() -> None:
    """As the engine runs it: with its own address, and flags for logs that it may add."""
    command = [sys.executable, "-u", str(FOLDER), "127.0.0.1:1", "--logtostderr"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as plugin:
        assert plugin.stdout is not None
        port = int(plugin.stdout.readline())
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            asked = provider_pb2_grpc.ResourceProviderStub(channel)
            version = asked.GetPluginInfo(Empty()).version
            schema = json.loads(asked.GetSchema(provider_pb2.GetSchemaRequest()).schema)
        plugin.send_signal(signal.SIGINT)
        assert (plugin.wait(), plugin.stdout.read()) == (0, "")
    assert (version, schema["version"], schema["name"]) == (azure_gpu.__version__, azure_gpu.__version__, "azuregpu")


def test_the_schema_is_the_committed_one_and_its_version_the_packages() -> None:
    with running({}) as engine:
        assert engine.schema() == SCHEMA.read_text(encoding="utf-8")
