"""examples/private-team and examples/spoke in the weather `landing-zone`: each comes up, is changed, and goes without a trace."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from string import Template
from typing import Any

import pytest
import yaml

from azure_gpu.formats import stack_file
from tests.stack.conftest import MakeStack, calm
from tests.support import by_hand
from tests.support.azure_cli import AzureCli
from tests.support.embedded import CHECKOUT, SUBSCRIPTION, ServedAzure, until

pytestmark = pytest.mark.slow
EXAMPLES = CHECKOUT / "examples"
PUBLIC = {"publicNetworkAccess": "Disabled"}
NETWORKS = "2024-05-01"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIf5brqnNQHGzLjkqraUF8izv5/PuTQziv4YaiROCxUB"


@pytest.fixture
def zone(azure: ServedAzure) -> Iterator[ServedAzure]:
    """A subscription below a landing zone."""
    azure.fault("weather", name="landing-zone")
    yield azure
    calm(azure)


def settings_of(example: str, tenant_id: str) -> dict[str, Any]:
    values = {"subscription_id": SUBSCRIPTION, "tenant_id": tenant_id, "team": "tests", "location": "eastus"}
    text = Path(EXAMPLES / example / "stack.yaml").read_text(encoding="utf-8")
    said = stack_file.configuration(Template(text).substitute(values, expires_after="2026-11-30"))
    of_program = {key.partition(":")[2]: value for key, value in said.items() if key.startswith("azure-gpu:")}
    return {
        **{key: yaml.safe_load(value) if isinstance(value, str) else value for key, value in of_program.items()},
        "as_of": "2026-11-21",
    }


def _comes_and_goes(
    stack: Any, zone: ServedAzure, settings: dict[str, Any], used: Callable[[Any], None] = lambda _: None
) -> None:
    """In between it is used, then comes a GPU machine, and one pool may grow: nothing is replaced."""
    stack.create()
    stack.update()
    used(stack)
    settings["vms"] = {"box": {"size": "Standard_NC4as_T4_v3", "admin": {"ssh_public_key": KEY}, "expires_after": "2026-11-30"}}
    settings["clusters"]["shared"]["gpu_pools"]["t4"]["max_nodes"] = 2
    settings["pools"]["many"]["tags"] = {"cost": "42"}
    stack.configure(settings)
    made = [each.operation for each in stack.changes() if each.type.startswith("azure-native:")]
    assert set(made) == {"create", "update"}
    assert stack.steps() == []
    exported = stack.outputs()
    for key, version in (("registry", "2023-07-01"), ("storage", "2023-01-01"), ("batch_account", "2024-07-01")):
        assert zone.get(exported[key], version).json()["properties"].items() >= PUBLIC.items()
    done = stack.down()
    assert done.returncode == 0, done.stdout + done.stderr


def _says_its_network(stack: Any, az: AzureCli, script: Path) -> None:
    """Outside of it each command says where it has to run, or what does there."""
    asked = stack.operations("access")
    assert (asked.returncode, "only in its network (AuthorizationFailure); fix: run this" in asked.stderr) == (1, True)
    assert ", subnet endpoints), or one" in asked.stderr
    assert "answers only in its network (HTTP 403); fix: run this" in stack.operations("stop", "many").stderr
    assert "the registry is closed to public networks" in stack.operations("run", "--on", "job", str(script)).stderr
    told = " ".join(stack.operations("explain", "shared").stdout.split())
    assert ", subnet clusters), or one" in told
    [invoke] = re.findall(r'az (aks command invoke --subscription .*? --command "kubectl get pods --all-namespaces")', told)
    words = shlex.split(invoke)
    until(lambda: az.answer(*words)["exitCode"] == 0, "the role of whoever ran `up` works in the cluster")
    assert az.azure.principal_id in az.answer(*words[:-1], "kubectl auth whoami")["logs"]
    done = az.answer(*words[:-1], "cat stack.yaml; exit 3", "--file", str(EXAMPLES / "spoke/stack.yaml"))
    assert (done["exitCode"], done["logs"]) == (3, (EXAMPLES / "spoke/stack.yaml").read_text(encoding="utf-8"))
    assert az.answer("aks", "command", "result", *words[3:-2], "--command-id", done["id"]) == done
    rows = json.loads(stack.operations("running", "--json").stdout)["running"]
    assert any("its jobs aren't read" in row["state"] for row in rows)


def _works_inside(stack: Any, zone: ServedAzure, script: Path) -> None:
    """From inside of the network the same commands are answered."""
    networks = f"{stack.outputs()['storage'].partition('/providers/')[0]}/providers/Microsoft.Network/virtualNetworks"
    [network] = zone.get(networks, NETWORKS).json()["value"]
    zone.fault("inside", name=network["id"])
    assert stack.operations("access").returncode == 0
    done = stack.operations("run", "--on", "batch", "--output", "kept.txt", str(script))
    assert (done.returncode, "said" in done.stdout) == (0, True), done.stdout + done.stderr
    assert stack.operations("logs", done.stderr.partition(": job ")[2].split()[0], "--into", str(script.parent)).returncode == 0
    assert script.with_name("kept.txt").read_text() == "kept"
    assert "answers only in its network" not in stack.operations("explain", "shared").stdout
    assert "aren't read" not in stack.operations("running", "--json").stdout


def test_a_team_without_a_public_endpoint(zone: ServedAzure, make_stack: MakeStack, az: AzureCli, tmp_path: Path) -> None:
    settings = settings_of("private-team", zone.tenant_id)
    (script := tmp_path / "say.py").write_text("print('said')\nopen('kept.txt', 'w').write('kept')\n")

    def used(stack: Any) -> None:
        _says_its_network(stack, az, script)
        _works_inside(stack, zone, script)

    _comes_and_goes(make_stack(zone, settings), zone, settings, used)


def test_a_spoke_of_a_hub(zone: ServedAzure, make_stack: MakeStack) -> None:
    group = by_hand.group(zone, "network")
    rules = {"location": "eastus", "properties": {}}
    of_subnets = f"{group}/providers/Microsoft.Network/networkSecurityGroups/spoke"
    zone.made(of_subnets, rules, NETWORKS)
    zones = [
        f"{group}/providers/Microsoft.Network/privateDnsZones/{name}"
        for name in ("privatelink.eastus.azmk8s.io", "privatelink.batch.azure.com")
    ]
    for each in zones:
        zone.made(each, {"location": "global", "properties": {}}, "2024-06-01")
    ranges = {
        "endpoints": "10.20.0.0/24",
        "jobs": "10.20.1.0/27",
        "pools": "10.20.2.0/24",
        "clusters": "10.20.3.0/24",
        "machines": "10.20.4.0/27",
    }
    delegated = [{"name": "jobs", "properties": {"serviceName": "Microsoft.App/environments"}}]
    subnets = [
        {
            "name": name,
            "properties": {
                "addressPrefix": prefix,
                "networkSecurityGroup": {"id": of_subnets},
                "delegations": delegated if name == "jobs" else [],
            },
        }
        for name, prefix in ranges.items()
    ]
    network = {
        "addressSpace": {"addressPrefixes": ["10.20.0.0/16"]},
        "dhcpOptions": {"dnsServers": ["10.1.0.4"]},
        "subnets": subnets,
    }
    spoke = f"{group}/providers/Microsoft.Network/virtualNetworks/spoke"
    zone.made(spoke, {"location": "eastus", "properties": network}, NETWORKS)
    scope = f"{group}/providers/Microsoft.Insights/privateLinkScopes/company"
    modes = {"ingestionAccessMode": "Open", "queryAccessMode": "Open"}
    zone.made(scope, {"location": "global", "properties": {"accessModeSettings": modes}}, "2023-06-01-preview")
    settings = settings_of("spoke", zone.tenant_id)
    settings["foundation"]["log_workspace"] = {"create": True, "private_link_scope": {"existing": scope}}
    settings["foundation"]["network"]["private_dns_zones"] = zones
    settings["foundation"]["network"]["subnets"] = {name: f"{spoke}/subnets/{name}" for name in ranges}
    _comes_and_goes(make_stack(zone, settings), zone, settings)
    assert zone.get(spoke, NETWORKS).json()["properties"]["dhcpOptions"] == {"dnsServers": ["10.1.0.4"]}
    assert zone.delete(group, by_hand.GROUPS).is_success
