"""Validates a workspace's settings: contradictions, and what this program or its API version doesn't support."""

import re
from collections.abc import Iterable, Iterator, Sequence

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.machine_learning import compute
from azure_gpu.formats import arm_ids
from azure_gpu.ml.workspace.args import KeyVaultArgs, ManagedNetwork, MlWorkspaceSettings, OutboundRuleArgs
from azure_gpu.ml.workspace.spec import MlWorkspaceSpec
from azure_gpu.shared.validation import written
from azure_gpu.shared.wording import give_part, stacks, with_part

# Settings of the workspace itself; an existing one isn't changed.
_OF_A_NEW_WORKSPACE = (
    "workspace_name",
    "network",
    "private_endpoint",
    "managed_network",
    "outbound_rules",
    "firewall",
    "key_vault",
    "insights",
    "high_business_impact",
    "friendly_name",
    "description",
)
_OF_A_NEW_VAULT = ("purge_protection", "retention_days")
_PRIVATE_DNS_ZONE = "Microsoft.Network/privateDnsZones"
_TARGETS = ("fqdn", "service_tag", "resource_id")
_PROTOCOLS = ("TCP", "UDP", "ICMP", "*")
_HOST = re.compile(r"(?:\*\.)?(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}")
_PORTS = re.compile(r"(?:\d{1,5}(?:-\d{1,5})?)(?:\s*,\s*\d{1,5}(?:-\d{1,5})?)*|\*")
_RULE_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?")


def problems_of(settings: MlWorkspaceSettings, path: str) -> Iterator[Problem]:
    """Problems of the workspace itself."""
    if "existing" in settings:
        yield from (refused("workspace.existing", f"{path}.{key}") for key in _OF_A_NEW_WORKSPACE if key in settings)
    else:
        yield from _network(settings, path)
        yield from _zones(settings, path)
        yield from _outbound(settings, path)
        yield from _key_vault(written(settings.get("key_vault", KeyVaultArgs())), f"{path}.key_vault")
    below = f"{path}.computes"
    yield from same_names(settings.get("computes", {}), below, "compute", f"{below}.")


def same_names(names: Iterable[str], below: str, what: str, shown: str = "") -> Iterator[Problem]:
    """Azure ignores letter case in the names of computes and deployments. `shown`: before the other's name in the message."""
    first: dict[str, str] = {}
    for name in names:
        taken = first.setdefault(name.lower(), name)
        if taken != name:
            yield refused("ml.same_name", f"{below}.{name}", name, taken=f"{shown}{taken}", what=what)


def _network(settings: MlWorkspaceSettings, path: str) -> Iterator[Problem]:
    network = settings.get("network", "public")
    if network == "restricted":
        yield refused("workspace.restricted", f"{path}.network", network)
    if network == "private" and "private_endpoint" not in settings:
        yield refused("workspace.no_private_endpoint", f"{path}.network", network)


def _zones(settings: MlWorkspaceSettings, path: str) -> Iterator[Problem]:
    """Problems of the private DNS zones, as far as their ids are known: outputs aren't."""
    if "private_endpoint" not in settings:
        return
    path, required = f"{path}.private_endpoint.private_dns_zones", " and ".join(compute.PRIVATE_ZONES)
    zones: Sequence[object] = settings["private_endpoint"].get("private_dns_zones", ())
    if not zones:
        yield refused("workspace.no_zones", path, zones=required)
        return
    known = [zone if isinstance(zone, str) else None for zone in zones]
    for index, zone in enumerate(known):
        found = arm_ids.parse(zone) if zone is not None else None
        if zone is not None and (found is None or not found.is_type(_PRIVATE_DNS_ZONE)):
            yield refused("workspace.bad_zone", f"{path}[{index}]", zone)
    names = [zone.rsplit("/", 1)[-1].lower() for zone in known if zone is not None]
    missing = [zone for zone in compute.PRIVATE_ZONES if zone not in names]
    if missing and None not in known:
        yield refused("workspace.zone_missing", path, ", ".join(names), missing=" and ".join(missing), zones=required)


def _outbound(settings: MlWorkspaceSettings, path: str) -> Iterator[Problem]:
    managed = settings.get("managed_network", "none")
    rules = settings.get("outbound_rules", {})
    if rules and managed == "none":
        yield refused("workspace.no_managed_network", f"{path}.outbound_rules")
    for name, rule in rules.items():
        yield from _rule(name, rule, managed, f"{path}.outbound_rules.{name}")
    if "firewall" in settings and not any("fqdn" in rule for rule in rules.values()):
        yield refused("workspace.firewall_without_host", f"{path}.firewall", str(settings["firewall"]))


def _rule(name: str, rule: OutboundRuleArgs, managed: ManagedNetwork, path: str) -> Iterator[Problem]:
    if _RULE_NAME.fullmatch(name) is None:
        yield refused("workspace.bad_rule_name", path, name)
    given = [key for key in _TARGETS if key in rule]
    if len(given) != 1:
        yield refused("workspace.rule_targets", path, ", ".join(given) or None)
        return
    [target] = given
    if managed == "internet_outbound" and target != "resource_id":
        yield refused("workspace.rule_without_effect", f"{path}.{target}")
    for key, of in (("protocol", "service_tag"), ("ports", "service_tag"), ("subresource", "resource_id")):
        if key in rule and target != of:
            yield refused("workspace.key_of_other_target", f"{path}.{key}", of=of)
    if target == "resource_id" and "subresource" not in rule:
        yield refused("workspace.no_subresource", f"{path}.subresource")
    if "fqdn" in rule and _HOST.fullmatch(rule["fqdn"]) is None:
        yield refused("workspace.bad_host", f"{path}.fqdn", rule["fqdn"])
    if rule.get("protocol", "TCP") not in _PROTOCOLS:
        yield refused("workspace.bad_protocol", f"{path}.protocol", rule.get("protocol"))
    if _PORTS.fullmatch(rule.get("ports", "443")) is None:
        yield refused("workspace.bad_ports", f"{path}.ports", rule.get("ports"))


def _key_vault(settings: KeyVaultArgs, path: str) -> Iterator[Problem]:
    for key in _OF_A_NEW_VAULT:
        if "existing" in settings and key in settings:
            yield refused("workspace.existing_vault", f"{path}.{key}", settings.get(key))
    shortest, longest = compute.VAULT_KEPT_DAYS
    days = settings.get("retention_days", shortest)
    if not shortest <= days <= longest:
        what = "long" if days > longest else "short"
        yield refused("workspace.vault_retention", f"{path}.retention_days", days, what=what, shortest=shortest, longest=longest)


def missing_dependencies(
    spec: MlWorkspaceSpec, *, identity: bool, storage: bool, logs: bool, registry: bool
) -> Iterator[Problem]:
    """Problems of parts of the foundation that the workspace requires and that are missing."""
    missing = spec.context.missing_part
    if spec.existing is None and not storage:
        yield missing("storage", "a workspace requires a storage account, and there is none")
    if spec.existing is not None and spec.assets.stores_models and not storage:
        yield missing("storage", f"models require {stacks(spec.path, 'storage account')}, and there is none")
    if spec.computes and not identity:
        yield missing("identity", f"computes require {stacks(spec.path, 'identity')}, and there is none")
    if spec.existing is None and spec.insights is None and not logs:
        why = "a workspace requires Application Insights, which require a log workspace, and there is none"
        yield missing("log_workspace", why)
    for each in spec.assets.environments.values():
        file, path = each.settings.get("conda_file"), each.path
        if spec.existing is None and not registry and file and not each.workload:
            allowed, fix = with_part(path, "registry"), give_part(path, "registry")
            yield refused("workspace.no_registry", f"{path}.conda_file", file, allowed=allowed, fix=fix)


def public_parts(spec: MlWorkspaceSpec, *, storage: bool, registry: bool) -> Iterator[Problem]:
    """A warning for the storage account and registry of a private workspace, which stay on the internet if the stack creates
    them."""
    created = [what for what, is_created in (("storage account", storage), ("registry", registry)) if is_created]
    if "existing" not in spec.settings and spec.settings.get("network") == "private" and created:
        yield refused("workspace.public_parts", f"{spec.path}.network", "private", parts=" and the ".join(created))
