"""The facts that no rule decides by: the form of their table, and what of it stands elsewhere, too."""

import importlib.util
import re
from collections.abc import Iterable

import pytest

from azure_gpu.catalog import facts, sources, tables
from azure_gpu.catalog.services.aks import clusters, dcgm, device_plugin, mig, systems
from azure_gpu.catalog.services.batch import packages, scale
from azure_gpu.catalog.services.machine_learning import compute, deployments, endpoints, extension
from azure_gpu.catalog.services.machines import admins
from azure_gpu.catalog.tables import TableError
from azure_gpu_operations import catalog_page
from tests.support.rows import each_row

KNOWN = sources.Sources("key,title,dated,date\npage@2026-01-01,A page,observed on,2026-01-01\n")


def read(*lines: str) -> object:
    text = "\n".join([",".join(facts.TABLE.columns), *lines])
    return facts.read(tables.rows(facts.TABLE, text), KNOWN)


def test_a_fact_is_found_by_what_it_is_about_and_its_name() -> None:
    assert facts.about(facts.NOT_SIZES)[0].name == "Standard_NC132ds_xl_RTXPRO6000BSE_v6"
    assert str(facts.one("container_instances", "billed time").source) == (
        "Microsoft Learn, container-instances/container-instances-gpu (observed on 2019-04-17)"
    )
    with pytest.raises(KeyError, match="colour"):
        facts.one("container_instances", "colour")
    with pytest.raises(KeyError, match="batch"):
        facts.about("batch")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("batch,,value,page@2026-01-01", "facts.csv:2:7: name"),
        (",name,value,page@2026-01-01", "facts.csv:2:1: about"),
        ("batch,name,,page@2026-01-01", "facts.csv:2:12: value"),
        ("batch,name,value,page@2026-01-02", "facts.csv:2:18: source"),
        ("batch,name,value", "facts.csv:2:1: the row has 3 cells"),
    ],
)
def test_a_malformed_fact_is_named(line: str, said: str) -> None:
    with pytest.raises(TableError) as raised:
        read(line)
    assert str(raised.value).startswith(said)


def test_a_property_is_told_once() -> None:
    with pytest.raises(TableError, match=r"facts.csv:3:7: name .* allowed: a name that no other fact about the same has"):
        read("batch,name,value,page@2026-01-01", "batch,name,another value,page@2026-01-01")


def test_what_a_fact_is_about_is_a_service_or_prices_or_one_of_the_things_beside_them() -> None:
    for thing in set(catalog_page.known_facts()) - {"azure"}:
        whose = thing.partition(".")[0].removesuffix("_commands")
        assert whose == "prices" or importlib.util.find_spec(f"azure_gpu.catalog.services.{whose}"), thing


@each_row(
    ("thing", "name", "parts"),
    [
        ("aks.device_plugin", "installed by AKS", [device_plugin.IMAGE]),
        ("aks.device_plugin", "configuration of a node", [device_plugin.CONFIG_LABEL]),
        ("aks.dcgm", "port", [dcgm.PORT]),
        ("aks.dcgm", "image", [dcgm.IMAGE]),
        ("aks.maintenance", "window of new versions of Kubernetes", [clusters.CLUSTER_WINDOW]),
        ("aks.maintenance", "window of new node images", [clusters.NODES_WINDOW]),
        ("aks.mig", "values of the device plugin's chart", [mig.SINGLE, mig.MIXED]),
        ("aks.pool", "API version", [systems.PROVIDER_API]),
        ("batch.autoscale", "too few samples", [scale.ENOUGH_SAMPLES]),
        ("batch.packages", "applications in an account", [packages.MOST_OF_ACCOUNT]),
        ("batch.packages", "packages of an application", [packages.MOST_OF_APPLICATION]),
        ("machine_learning.compute", "who signs in to an attached machine", [compute.SERVICE_TAG]),
        ("machine_learning.compute", "kinds of compute in the API", compute.COMPUTE_KINDS),
        ("machine_learning.deployments", "default instance type", [endpoints.DEFAULT_INSTANCE_TYPE]),
        ("machine_learning.extension", "extension type", [extension.EXTENSION_TYPE]),
        ("machine_learning.extension", "GPUs of an instance type", [device_plugin.GPU_RESOURCE]),
        ("machine_learning.scoring", "scoring", [deployments.SCORING_ROUTE]),
        ("machine_learning.scoring", "health", [deployments.LIVENESS_ROUTE]),
        ("machine_learning.scoring", "port", [deployments.PORT]),
        ("machine_learning.scoring", "WORKER_TIMEOUT", ["300 seconds"]),  # this and the next: read from the wheel of 1.5.1
        ("machine_learning.scoring", "SCORING_TIMEOUT_MS", ["3,600,000 milliseconds"]),
        ("machine_learning.scoring", "error in run", ["x-ms-run-function-failed: True"]),
        ("machine_learning.scoring", "import of AMLResponse", ["azureml_inference_server_http.api.aml_response"]),
        ("machine_learning.scoring", deployments.MODEL_FOLDER_VARIABLE, ["the folder of the model"]),
        ("machine_learning.workspaces", "deleted workspace", [compute.KEPT_DAYS]),
        ("machine_learning.workspaces", "deleted vault", compute.VAULT_KEPT_DAYS),
        ("machines.admins", "administrator names that are rejected", admins.REFUSED_NAMES),
    ],
)
def test_a_fact_and_a_rule_say_the_same(thing: str, name: str, parts: Iterable[object]) -> None:
    [value] = [each.value for each in catalog_page.known_facts()[thing] if each.name == name]
    # Whole words: 20 isn't said by 200.
    assert [part for part in parts if not re.search(rf"(?<!\w){re.escape(str(part))}(?!\d)", value)] == []
