"""Validates a workspace's settings: contradictions, and what this program or its API version doesn't support."""

import re
from collections.abc import Iterator, Sequence

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.machine_learning import compute
from azure_gpu.formats import arm_ids
from azure_gpu.ml.workspace.args import KeyVaultArgs, ManagedNetwork, MlWorkspaceSettings, OutboundRuleArgs
from azure_gpu.ml.workspace.assets import EnvironmentSpec
from azure_gpu.ml.workspace.spec import PATH, MlWorkspaceSpec
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


def problems_of(settings: MlWorkspaceSettings, path: str) -> list[Problem]:
    """Problems of the workspace itself."""
    if "existing" in settings:
        return [*_existing(settings, path), *_names(settings, path)]
    vault = written(settings.get("key_vault", KeyVaultArgs()))
    network = [*_network(settings, path), *_zones(settings, path), *_outbound(settings, path)]
    return [*network, *_key_vault(vault, f"{path}.key_vault"), *_names(settings, path)]


def _existing(settings: MlWorkspaceSettings, path: str) -> Iterator[Problem]:
    for key in _OF_A_NEW_WORKSPACE:
        if key in settings:
            yield Problem(
                path=f"{path}.{key}",
                message="can't be set on an existing workspace, which is never changed",
                allowed="computes, models, environments and code, which are added to it",
                fix="remove it, or have the workspace's owner set it",
            )


def _network(settings: MlWorkspaceSettings, path: str) -> Iterator[Problem]:
    network = settings.get("network", "public")
    if network == "restricted":
        yield Problem(
            path=f"{path}.network",
            message="restricting a workspace to address ranges is not supported by this API",
            value=network,
            allowed="public, private",
            fix="set private with a `private_endpoint`, or public, which requires a login by Entra",
            source=str(compute.PROVIDER),
            code=Code.IMPOSSIBLE,
        )
    if network == "private" and "private_endpoint" not in settings:
        yield Problem(
            path=f"{path}.network",
            message="a private workspace is reachable only through a private endpoint, and `private_endpoint` is not set",
            value=network,
            allowed="with private_endpoint, or with one that is created elsewhere",
            fix="set `private_endpoint: {subnet_id: <id>}`",
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )


def _zones(settings: MlWorkspaceSettings, path: str) -> Iterator[Problem]:
    """Problems of the private DNS zones, as far as their ids are known: outputs aren't."""
    if "private_endpoint" not in settings:
        return
    path = f"{path}.private_endpoint.private_dns_zones"
    zones: Sequence[object] = settings["private_endpoint"].get("private_dns_zones", ())
    if not zones:
        yield Problem(
            path=path,
            message="`private_dns_zones` is not set, so the workspace's names resolve to its public address in this network too",
            allowed=f"ids of the zones {' and '.join(compute.PRIVATE_ZONES)}",
            fix="add the ids, unless a policy writes the addresses into zones",
            source=str(compute.PRIVATE_ZONES_PAGE),
            severity=Severity.WARNING,
        )
        return
    known = [zone if isinstance(zone, str) else None for zone in zones]
    for index, zone in enumerate(known):
        found = arm_ids.parse(zone) if zone is not None else None
        if zone is not None and (found is None or not found.is_type(_PRIVATE_DNS_ZONE)):
            allowed = f"/subscriptions/<id>/resourceGroups/<name>/providers/{_PRIVATE_DNS_ZONE}/<name>"
            fix = "`az network private-dns zone show --query id` prints it"
            yield Problem(f"{path}[{index}]", "not a valid private DNS zone", zone, allowed, fix)
    names = [zone.rsplit("/", 1)[-1].lower() for zone in known if zone is not None]
    missing = [zone for zone in compute.PRIVATE_ZONES if zone not in names]
    if missing and None not in known:
        yield Problem(
            path=path,
            message=f"zone {' and '.join(missing)} is missing, so some of the workspace's names resolve to public addresses",
            value=", ".join(names),
            allowed=" and ".join(compute.PRIVATE_ZONES),
            fix="add its id",
            source=str(compute.PRIVATE_ZONES_PAGE),
            severity=Severity.WARNING,
        )


def _outbound(settings: MlWorkspaceSettings, path: str) -> Iterator[Problem]:
    managed = settings.get("managed_network", "none")
    rules = settings.get("outbound_rules", {})
    if rules and managed == "none":
        yield Problem(
            path=f"{path}.outbound_rules",
            message="`outbound_rules` requires `managed_network`",
            allowed="only with `managed_network`",
            fix="set `managed_network: approved_outbound`, or remove them",
        )
    for name, rule in rules.items():
        yield from _rule(name, rule, managed, f"{path}.outbound_rules.{name}")
    if "firewall" in settings and not any("fqdn" in rule for rule in rules.values()):
        yield Problem(
            path=f"{path}.firewall",
            message="`firewall` requires an outbound rule with `fqdn`",
            value=str(settings["firewall"]),
            allowed="only with a rule that has `fqdn`",
            fix="remove it",
            source=str(compute.MANAGED_NETWORK),
        )


def _rule(name: str, rule: OutboundRuleArgs, managed: ManagedNetwork, path: str) -> Iterator[Problem]:
    if _RULE_NAME.fullmatch(name) is None:
        allowed = "letters, digits, hyphens and underscores, a letter or digit at either end"
        yield Problem(path=path, message="not a valid rule name", value=name, allowed=allowed, fix="choose another name")
    given = [key for key in _TARGETS if key in rule]
    if len(given) != 1:
        yield Problem(
            path=path,
            message="a rule requires exactly one target",
            value=", ".join(given) or None,
            allowed=f"exactly one of {', '.join(_TARGETS)}",
            fix="keep one",
        )
        return
    [target] = given
    if managed == "internet_outbound" and target != "resource_id":
        yield Problem(
            path=f"{path}.{target}",
            message="with internet_outbound machines may go anywhere, and rules can only add private endpoints",
            allowed="with managed_network: approved_outbound",
            fix="remove it, or set `managed_network: approved_outbound`",
            source=str(compute.MANAGED_NETWORK),
            code=Code.IMPOSSIBLE,
        )
    for key, of in (("protocol", "service_tag"), ("ports", "service_tag"), ("subresource", "resource_id")):
        if key in rule and target != of:
            yield Problem(path=f"{path}.{key}", message=f"requires `{of}`", allowed=f"only with `{of}`", fix="remove it")
    if target == "resource_id" and "subresource" not in rule:
        allowed = "such as blob of a storage account, vault of a key vault, registry of a container registry"
        yield Problem(
            path=f"{path}.subresource",
            message="`subresource` is required with `resource_id`",
            allowed=allowed,
            fix="set `subresource`, such as blob",
        )
    if "fqdn" in rule and _HOST.fullmatch(rule["fqdn"]) is None:
        allowed = "such as pypi.org or *.pypi.org, without https:// and without a path"
        yield Problem(
            path=f"{path}.fqdn", message="not a valid host name", value=rule["fqdn"], allowed=allowed, fix="write pypi.org"
        )
    if rule.get("protocol", "TCP") not in _PROTOCOLS:
        yield Problem(
            path=f"{path}.protocol",
            message="not a supported protocol",
            value=rule.get("protocol"),
            allowed=", ".join(_PROTOCOLS),
            fix="write TCP",
        )
    if _PORTS.fullmatch(rule.get("ports", "443")) is None:
        yield Problem(
            path=f"{path}.ports",
            message="not valid ports",
            value=rule.get("ports"),
            allowed='such as "443, 8080-8089"',
            fix='write "443"',
        )


def _key_vault(settings: KeyVaultArgs, path: str) -> Iterator[Problem]:
    if "existing" in settings:
        for key in _OF_A_NEW_VAULT:
            if key in settings:
                yield Problem(
                    path=f"{path}.{key}",
                    message="can't be set on an existing vault, which is never changed",
                    value=settings.get(key),
                    allowed="only with `create`",
                    fix="remove it",
                )
    shortest, longest = compute.VAULT_KEPT_DAYS
    days = settings.get("retention_days", shortest)
    if not shortest <= days <= longest:
        yield Problem(
            path=f"{path}.retention_days",
            message="retention is too long" if days > longest else "retention is too short",
            value=days,
            allowed=f"{shortest} to {longest}",
            fix=f"write {shortest}",
            source=str(compute.VAULT),
        )


def _names(settings: MlWorkspaceSettings, path: str) -> Iterator[Problem]:
    """Azure ignores letter case in a compute's name."""
    first: dict[str, str] = {}
    for name in settings.get("computes", {}):
        taken = first.setdefault(name.lower(), name)
        if taken != name:
            yield Problem(
                path=f"{path}.computes.{name}",
                message=f"Azure ignores letter case, so this is the same name as {path}.computes.{taken}",
                value=name,
                allowed="a name that no other compute has",
                fix="rename one of the two",
            )


def missing_dependencies(spec: MlWorkspaceSpec, *, identity: bool, storage: bool, logs: bool, registry: bool) -> list[Problem]:
    """Problems of parts of the foundation that the workspace requires and that are missing."""
    path = spec.context.path(PATH)
    needs: list[tuple[str, str]] = []
    if spec.existing is None and not storage:
        needs.append(("storage", "a workspace requires a storage account, and there is none"))
    if spec.existing is not None and spec.assets.stores_models and not storage:
        needs.append(("storage", f"models require {stacks(path, 'storage account')}, and there is none"))
    if spec.computes and not identity:
        needs.append(("identity", f"computes require {stacks(path, 'identity')}, and there is none"))
    if spec.existing is None and spec.insights is None and not logs:
        why = "a workspace requires Application Insights, which require a log workspace, and there is none"
        needs.append(("log_workspace", why))
    found = [spec.context.missing_part(part, why) for part, why in needs]
    if spec.existing is None and not registry:
        built = (each for each in spec.assets.environments.values() if each.settings.get("conda_file") and not each.workload)
        found += map(_no_registry, built)
    return found


def public_parts(settings: MlWorkspaceSettings, path: str, *, storage: bool, registry: bool) -> list[Problem]:
    """A warning for the storage account and registry of a private workspace, which stay on the internet if the stack creates
    them."""
    created = [what for what, is_created in (("storage account", storage), ("registry", registry)) if is_created]
    if "existing" in settings or settings.get("network") != "private" or not created:
        return []
    return [
        Problem(
            path=f"{path}.network",
            message=f"the workspace is private, but the {' and the '.join(created)} of this stack, with its data and images,"
            " can be reached from the internet by anyone with a role on them",
            value="private",
            fix="use existing private ones in the foundation, or make these private by `overrides` and private endpoints",
            source=str(compute.PRIVATE_LINK_PAGE),
            severity=Severity.WARNING,
        )
    ]


def _no_registry(environment: EnvironmentSpec) -> Problem:
    return Problem(
        path=f"{environment.path}.conda_file",
        message="the service builds an image of it in the workspace's registry, and the stack has none; the service may create"
        " one, whose administrator logs in with a password",
        value=environment.settings.get("conda_file"),
        allowed=with_part(environment.path, "registry"),
        fix=give_part(environment.path, "registry"),
        source=str(compute.IDENTITY),
        code=Code.UNKNOWN,
        severity=Severity.WARNING,
    )
