"""The keys of a stack file that declare what an ARM body shows, with notes about the rest. Pure.

`overrides` set what has no key, once a plan shows what the program would send.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.azure_types import AzureType

Body = Mapping[str, Any]
Settings = dict[str, Any]
PROTECTED: Body = {"protect": True}  # what ran before the stack isn't deleted or replaced by a slip


@dataclass(frozen=True, slots=True)
class ExistingResource:
    """An Azure resource, with the children that the stack file declares with it."""

    id: ArmId
    azure_type: AzureType
    body: Body
    within: tuple["ExistingResource", ...] = ()

    @property
    def name(self) -> str:
        return str(self.body.get("name", self.id.name)).rsplit("/", 1)[-1]

    @property
    def properties(self) -> Body:
        return self.body.get("properties") or {}


@dataclass(slots=True)
class Part:
    """The stack file's sections for the existing resources."""

    sections: dict[str, Settings] = field(default_factory=dict[str, Settings])
    notes: list[str] = field(default_factory=list[str])
    taken: list[ExistingResource] = field(default_factory=list[ExistingResource])  # imported into the state

    def put(self, section: str, name: str, settings: object) -> None:
        self.sections.setdefault(section, {})[name] = settings


def part_of(found: Sequence[ExistingResource], last_day: str) -> Part:
    """`last_day`: of everything with a GPU, which is nowhere to be read."""
    part = Part()
    for one in found:
        _GROUPS[one.azure_type](one, part, last_day)
    return part


def _needs(part: Part, key: str, settings: object) -> None:
    """Sets a part of the foundation, unless it is set already."""
    part.sections.setdefault("foundation", {}).setdefault(key, settings)


def _existing(part: Part, key: str, text: str) -> None:
    """A part of the foundation that is used as it is, unless the stack takes it over."""
    _needs(part, key, {"existing": text})


def _uses_stack_identity(one: ExistingResource, part: Part) -> bool:
    """Whether it has an identity of a user's, which is the stack's then."""
    identities = list((one.body.get("identity") or {}).get("userAssignedIdentities") or {})
    if identities:
        _existing(part, "identity", identities[0])
    return bool(identities)


def _use_group_of(one: ExistingResource, part: Part) -> None:
    """Its resource group becomes `existing`."""
    _existing(part, "resource_group", f"/subscriptions/{one.id.subscription}/resourceGroups/{one.id.resource_group}")


def _tags(body: Body) -> Settings:
    return {"tags": dict(body["tags"])} if body.get("tags") else {}


def _given(**settings: Any) -> Settings:
    """The settings without empty values."""
    return {key: value for key, value in settings.items() if value is not None and value not in ("", [], {})}


# Clusters

_OUTBOUND = ("loadBalancer", "managedNATGateway", "userAssignedNATGateway", "userDefinedRouting")
_POLICIES = ("azure", "calico")


def _cluster(one: ExistingResource, part: Part, last_day: str) -> None:
    _use_group_of(one, part)
    of, network = one.properties, one.properties.get("networkProfile") or {}
    api = of.get("apiServerAccessProfile") or {}
    upgrades = of.get("autoUpgradeProfile") or {}
    pools = {each.name: each for each in one.within}
    inside: list[Body] = [each for each in of.get("agentPoolProfiles") or [] if each["name"] not in pools or not _has_gpu(each)]
    system = next((each for each in inside if each.get("mode") == "System"), None)
    apart = [each for each in one.within if _has_gpu(each.properties)]
    ranges = list(api.get("authorizedIPRanges") or [])
    private = bool(api.get("enablePrivateCluster"))
    reach = "private" if private else "restricted" if ranges else ""
    part.put(
        "clusters",
        one.name,
        _given(
            cluster_name=one.name,
            location=one.body["location"],
            tier=(tier if (tier := str((one.body.get("sku") or {}).get("tier", "Free")).lower()) != "free" else None),
            long_term_support=of.get("supportPlan") == "AKSLongTermSupport" or None,
            system_pool=_system_pool(system) if system else None,
            gpu_pools={each.name: _gpu_pool(each.body) for each in apart},
            access=_given(
                network=reach,
                authorized_ranges=ranges,
                private_dns_zone=api.get("privateDNSZone") if private else None,
                local_accounts=None if of.get("disableLocalAccounts") else True,
            ),
            subnet_id=system.get("vnetSubnetID") if system else None,
            pod_cidr=network.get("podCidr"),
            service_cidr=network.get("serviceCidr"),
            outbound=each if (each := network.get("outboundType")) in _OUTBOUND[1:] else None,
            network_policy=each if (each := network.get("networkPolicy")) in _POLICIES else None,
            maintenance=_given(upgrades=upgrades.get("upgradeChannel"), node_images=upgrades.get("nodeOSUpgradeChannel")),
            **_tags(one.body),
            expires_after=last_day,
        )
        # What is on the cluster already is somebody's; nothing is put there until this is taken out.
        | {"on_cluster": False, "opts": dict(PROTECTED)},
    )
    part.notes += [
        f"{one.name}: the pool {each['name']} of {each['vmSize']} has no GPU, so it stays in the cluster's body"
        for each in inside
        if each.get("mode") != "System"
    ]
    part.notes.append(
        f"{one.name}: nothing is installed on the cluster, such as a device plugin; remove `on_cluster: false` and the "
        "labels in a pool's `overrides` to install it"
    )
    part.taken += [one, *apart]


def _has_gpu(pool: Body) -> bool:
    size = SIZES.find(pool["vmSize"])
    return size.gpu is not None if size is not None else str(pool["vmSize"]).lower().startswith("standard_n")


def _system_pool(pool: Body) -> Settings:
    scaled = bool(pool.get("enableAutoScaling"))
    return _given(
        size=pool["vmSize"],
        nodes=pool.get("minCount") if scaled else pool.get("count"),
        max_nodes=pool.get("maxCount") if scaled else None,
        zones=list(pool.get("availabilityZones") or []),
        os_sku=pool.get("osSKU"),
        dedicated="CriticalAddonsOnly=true:NoSchedule" in (pool.get("nodeTaints") or []) or None,
        max_surge=(pool.get("upgradeSettings") or {}).get("maxSurge"),
    )


def _gpu_pool(body: Body) -> Settings:
    pool: Body = body["properties"]
    spot = None
    if pool.get("scaleSetPriority") == "Spot":
        spot = _given(
            max_price=each if (each := pool.get("spotMaxPrice", -1)) != -1 else None,
            eviction=str(pool.get("scaleSetEvictionPolicy", "Delete")).lower(),
        )
    scaled = bool(pool.get("enableAutoScaling"))
    taints = [each for each in pool.get("nodeTaints") or [] if not each.startswith("kubernetes.azure.com/")]
    labels = {key: value for key, value in (pool.get("nodeLabels") or {}).items() if not key.split("/")[0].endswith(".azure.com")}
    upgrade = pool.get("upgradeSettings") or {}
    return {
        **_given(
            size=pool["vmSize"],
            min_nodes=pool.get("minCount") if scaled else pool.get("count"),
            max_nodes=pool.get("maxCount") if scaled else pool.get("count"),
            spot=spot,
            labels={key: value for key, value in labels.items() if key != "azure-gpu/pool"},
            zones=list(pool.get("availabilityZones") or []),
            os_sku=pool.get("osSKU"),
            driver="none" if (pool.get("gpuProfile") or {}).get("driver") == "None" else None,
            max_surge=upgrade.get("maxSurge"),
            drain_minutes=upgrade.get("drainTimeoutInMinutes"),
            os_disk_gb=pool.get("osDiskSizeGB"),
            max_pods=pool.get("maxPods"),
            sharing={"strategy": "mig", "profile": pool["gpuInstanceProfile"]} if pool.get("gpuInstanceProfile") else None,
            tags=dict(pool.get("tags") or {}),
        ),
        "taints": taints,
        "replace": "drain-first",  # keeps its name, which has no room for a hash
    }


# Batch


def _account(one: ExistingResource, part: Part, last_day: str) -> None:
    _use_group_of(one, part)
    storage = one.properties.get("autoStorage") or {}
    if storage.get("storageAccountId"):
        _existing(part, "storage", storage["storageAccountId"])
    else:
        _needs(part, "storage", "create")
    if not _uses_stack_identity(one, part):
        _identity_of_stack(part)
    for key, value in _given(account_name=one.name, location=one.body["location"], opts=dict(PROTECTED)).items():
        part.put("batch_account", key, value)
    part.taken.append(one)
    if not any(each.azure_type is azure_types.BATCH_POOL for each in one.within):
        part.notes.append(f"{one.name}: no pool; give the ids of the pools to adopt")
    for pool in one.within:
        _pool(pool, part, last_day)


def _pool(one: ExistingResource, part: Part, last_day: str) -> None:
    _use_group_of(one, part)
    if "batch_account" not in part.sections:
        part.put("batch_account", "existing", one.id.scope)
    of = one.properties
    _uses_stack_identity(one, part)
    machines: Body = of["deploymentConfiguration"]["virtualMachineConfiguration"]
    image: Body = machines["imageReference"]
    network = of.get("networkConfiguration") or {}
    addresses = network.get("publicIPAddressConfiguration") or {}
    containers = machines.get("containerConfiguration")
    extensions = [str(each.get("type", "")) for each in machines.get("extensions") or []]
    settings = _given(
        pool_name=one.name,
        size=_size(of["vmSize"]),
        image=None if image.get("id") else ":".join(str(image[key]) for key in ("publisher", "offer", "sku", "version")),
        image_id=image.get("id"),
        node_agent=machines.get("nodeAgentSkuId"),
        os_type="Windows" if "windows" in str(machines.get("nodeAgentSkuId")).lower() else None,
        driver="extension" if any(each.startswith("NvidiaGpuDriver") for each in extensions) else None,
        **_scale(of.get("scaleSettings") or {}),
        task_slots=each if (each := of.get("taskSlotsPerNode", 1)) != 1 else None,
        inter_node=True if of.get("interNodeCommunication") == "Enabled" else None,
        start_task=_start_task(of["startTask"]) if of.get("startTask") else None,
        containers=_given(images=list(containers.get("containerImageNames") or [])) or True if containers else None,
        subnet_id=network.get("subnetId"),
        public_addresses=False if addresses.get("provision") == "NoPublicIPAddresses" else None,
        communication=each if (each := of.get("targetNodeCommunicationMode")) != "Simplified" else None,
        metadata={each["name"]: each["value"] for each in of.get("metadata") or [] if each["name"] != "logical-name"},
        packages={each["id"].rsplit("/", 1)[-1]: each.get("version") or "" for each in of.get("applicationPackages") or []},
        **_tags(one.body),
        expires_after=last_day,
        replace="drain-first",  # keeps its name, which has no room for a hash
        opts=dict(PROTECTED),
    )
    part.put("pools", one.name, settings)
    if (of.get("startTask") or {}).get("environmentSettings"):
        part.notes.append(f"{one.name}: the file contains the variables of its start task; move secrets to `secret_environment`")
    part.taken.append(one)


def _size(text: str) -> str:
    """The size in the catalog's spelling, if known: Batch shows capital letters."""
    size = SIZES.find(text)
    return size.name if size is not None else text


def _scale(settings: Body) -> Settings:
    automatic, fixed = settings.get("autoScale"), settings.get("fixedScale") or {}
    if automatic:
        return {"autoscale": _given(formula=automatic["formula"], interval_minutes=_minutes(automatic.get("evaluationInterval")))}
    nodes = {"dedicated_nodes": fixed.get("targetDedicatedNodes") or 0}
    if fixed.get("targetLowPriorityNodes"):
        nodes["spot_nodes"] = fixed["targetLowPriorityNodes"]
    minutes = _minutes(fixed.get("resizeTimeout"))
    return {**nodes, **({"resize_timeout_minutes": minutes} if minutes not in (None, 15) else {})}


_DURATION = re.compile(r"PT(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?")


def _seconds(duration: object) -> float | int | None:
    """Seconds of an ISO 8601 duration, such as PT5S, PT1M30S or PT0.5S; None for other texts."""
    found = _DURATION.fullmatch(str(duration))
    if found is None:
        return None
    number = 3600 * int(found["hours"] or 0) + 60 * int(found["minutes"] or 0) + float(found["seconds"] or 0)
    return int(number) if number == int(number) else number


def _minutes(duration: object) -> int | None:
    """Whole minutes of an ISO 8601 duration; None for other durations."""
    seconds = _seconds(duration)
    return int(seconds // 60) if seconds is not None and seconds % 60 == 0 else None


def _start_task(task: Body) -> Settings:
    user = (task.get("userIdentity") or {}).get("autoUser") or {}
    return _given(
        command=task["commandLine"],
        elevated=True if user.get("elevationLevel") == "Admin" else None,
        retries=task.get("maxTaskRetryCount"),
        environment={each["name"]: each.get("value", "") for each in task.get("environmentSettings") or []},
        resource_files=[
            _given(
                url=each.get("httpUrl"),
                container_url=each.get("storageContainerUrl"),
                auto_storage_container=each.get("autoStorageContainerName"),
                prefix=each.get("blobPrefix"),
                path=each.get("filePath"),
                mode=each.get("fileMode"),
                use_identity=True if each.get("identityReference") else None,
            )
            for each in task.get("resourceFiles") or []
        ],
    ) | ({"wait_for_success": False} if task.get("waitForSuccess") is False else {})


# Azure Machine Learning


def _workspace(one: ExistingResource, part: Part, last_day: str) -> None:
    _use_group_of(one, part)
    of = one.properties
    settings = _given(
        workspace_name=one.name,
        location=one.body["location"],
        network="private" if of.get("publicNetworkAccess") == "Disabled" else None,
        managed_network=_MANAGED.get((of.get("managedNetwork") or {}).get("isolationMode", "")),
        key_vault={"existing": of["keyVault"]} if of.get("keyVault") else None,
        insights={"existing": of["applicationInsights"]} if of.get("applicationInsights") else None,
        high_business_impact=of.get("hbiWorkspace") or None,
        friendly_name=each if (each := of.get("friendlyName")) != one.name else None,
        description=of.get("description"),
        computes={each.name: _compute(each.body, last_day) for each in one.within if _is_gpu_cluster(each)},
        **_tags(one.body),
        opts=dict(PROTECTED),
    )
    for key, value in settings.items():
        part.put("ml_workspace", key, value)
    for key, member in (("storage", "storageAccount"), ("registry", "containerRegistry")):
        if of.get(member):
            _existing(part, key, of[member])
    if of.get("containerRegistry"):
        _identity_of_stack(part)
    part.notes += [
        f"{one.name}: the compute {each.name} ({each.properties.get('computeType')}) is left out: a stack declares only clusters "
        "of machines with GPUs"
        for each in one.within
        if each.azure_type is azure_types.ML_COMPUTE and not _is_gpu_cluster(each)
    ]
    part.taken += [one, *(each for each in one.within if _is_gpu_cluster(each))]


_MANAGED = {"AllowInternetOutbound": "internet_outbound", "AllowOnlyApprovedOutbound": "approved_outbound"}


def _identity_of_stack(part: Part) -> None:
    """The identity that pulls images; a new one unless it is set already."""
    _needs(part, "identity", "create")


def _is_gpu_cluster(one: ExistingResource) -> bool:
    if one.azure_type is not azure_types.ML_COMPUTE or one.properties.get("computeType") != "AmlCompute":
        return False
    size = SIZES.find(one.properties["properties"]["vmSize"])
    return size is not None and size.gpu is not None


def _compute(body: Body, last_day: str) -> Settings:
    machines: Body = body["properties"]["properties"]
    scale = machines.get("scaleSettings") or {}
    return {
        **_given(
            size=_size(machines["vmSize"]),
            min_nodes=scale.get("minNodeCount"),
            max_nodes=scale.get("maxNodeCount"),
            idle_minutes=_minutes(scale.get("nodeIdleTimeBeforeScaleDown")),
            spot=True if machines.get("vmPriority") == "LowPriority" else None,
            subnet_id=(machines.get("subnet") or {}).get("id"),
            description=body["properties"].get("description"),
            **_tags(body),
            expires_after=last_day,
            replace="drain-first",
        ),
        "public_addresses": machines.get("enableNodePublicIp", True) is not False,
    }


_AUTH = {"aadtoken": "entra", "key": "key", "amltoken": "aml_token"}


def _endpoint(one: ExistingResource, part: Part, last_day: str) -> None:
    _use_group_of(one, part)
    of = one.properties
    if "ml_workspace" not in part.sections:
        part.put("ml_workspace", "existing", one.id.scope)
    uses_stack_identity = _uses_stack_identity(one, part)
    deployments = {each.name: _deployment(each.body) for each in one.within}
    settings = _given(
        endpoint_name=one.name,
        auth=_AUTH[str(of["authMode"]).lower()],
        network="private" if of.get("publicNetworkAccess") == "Disabled" else "public",
        identity="stack" if uses_stack_identity else "system",
        description=of.get("description"),
        deployments=deployments,
        traffic={name: share for name, share in (of.get("traffic") or {}).items() if share},
        mirror={name: share for name, share in (of.get("mirrorTraffic") or {}).items() if share},
        **_tags(one.body),
        expires_after=last_day,
        opts=dict(PROTECTED),
    )
    if not deployments:
        part.notes.append(f"{one.name}: a stack can't declare an endpoint without a deployment; deploy a model first")
        return
    part.put("ml_endpoints", one.name, settings)
    part.notes.append(
        f"{one.name}: an update creates the deployment {one.name}-traffic, a template that sends the endpoint's body again"
    )
    part.taken += [one, *one.within]


def _deployment(body: Body) -> Settings:
    of: Body = body["properties"]
    code, requests = of.get("codeConfiguration") or {}, of.get("requestSettings") or {}
    return _given(
        model=of.get("model"),
        environment=of.get("environmentId"),
        code={"code": code["codeId"], "script": code["scoringScript"]} if code else None,
        instance_type=of.get("instanceType"),
        instances=(body.get("sku") or {}).get("capacity"),
        probes=_given(**{key: _probe(of.get(f"{key}Probe") or {}) for key in ("liveness", "readiness", "startup")}),
        requests=_given(
            timeout_seconds=_seconds(requests.get("requestTimeout")),
            concurrent=requests.get("maxConcurrentRequestsPerInstance"),
            queue_seconds=_seconds(requests.get("maxQueueWait")),
        ),
        environment_variables=dict(of.get("environmentVariables") or {}),
        model_mount_path=of.get("modelMountPath"),
        egress="private" if of.get("egressPublicNetworkAccess") == "Disabled" else None,
        app_insights=of.get("appInsightsEnabled") or None,
        description=of.get("description"),
        **_tags(body),
    )


def _probe(probe: Body) -> Settings:
    return _given(
        initial_delay_seconds=_seconds(probe.get("initialDelay")),
        period_seconds=_seconds(probe.get("period")),
        timeout_seconds=_seconds(probe.get("timeout")),
        success_threshold=probe.get("successThreshold"),
        failure_threshold=probe.get("failureThreshold"),
    )


# The foundation


def _group(one: ExistingResource, part: Part, _: str) -> None:
    _existing(part, "resource_group", one.id.text)
    part.notes.append(f"{one.name}: the resource group stays `existing`, so that destroying the stack doesn't delete it")


def _of_foundation(key: str) -> Callable[[ExistingResource, Part, str], None]:
    def take(one: ExistingResource, part: Part, _: str) -> None:
        _use_group_of(one, part)
        part.put("foundation", key, {"name": one.name})
        if key == "registry":
            _identity_of_stack(part)
        part.taken.append(one)

    return take


_FOUNDATION = {
    azure_types.USER_ASSIGNED_IDENTITY: "identity",
    azure_types.STORAGE_ACCOUNT: "storage",
    azure_types.REGISTRY: "registry",
    azure_types.LOG_WORKSPACE: "log_workspace",
}
_GROUPS: Mapping[AzureType, Callable[[ExistingResource, Part, str], None]] = {
    azure_types.RESOURCE_GROUP: _group,
    **{azure_type: _of_foundation(key) for azure_type, key in _FOUNDATION.items()},
    azure_types.MANAGED_CLUSTER: _cluster,
    azure_types.BATCH_ACCOUNT: _account,
    azure_types.BATCH_POOL: _pool,
    azure_types.ML_WORKSPACE: _workspace,
    azure_types.ML_ONLINE_ENDPOINT: _endpoint,
}
ADOPTED = tuple(_GROUPS)
"""The types whose ids `adopt` takes."""


def overrides_of(token: str, component: str, name: str) -> tuple[str, ...] | None:
    """The path of a resource's `overrides` in a stack file, by type, component and logical name; None if it has none."""
    within = {
        **{azure_type.token: ("foundation", key) for azure_type, key in _FOUNDATION.items() if component == "foundation"},
        azure_types.BUDGET.token: ("budget",),
        azure_types.BATCH_ACCOUNT.token: ("batch_account",),
        azure_types.MANAGED_CLUSTER.token: ("clusters", component),
        azure_types.AGENT_POOL.token: ("clusters", component, "gpu_pools", name.removeprefix(f"{component}-pool-")),
        azure_types.BATCH_POOL.token: ("pools", component),
        azure_types.ML_WORKSPACE.token: ("ml_workspace",),
        azure_types.ML_COMPUTE.token: ("ml_workspace", "computes", name.removeprefix(f"{component}-compute-")),
        azure_types.ML_ONLINE_ENDPOINT.token: ("ml_endpoints", component),
        azure_types.ML_ONLINE_DEPLOYMENT.token: (
            "ml_endpoints",
            component,
            "deployments",
            name.removeprefix(f"{component}-deployment-"),
        ),
    }.get(token)
    return (*within, "overrides") if within is not None else None


def read_id(text: str) -> ArmId | None:
    """The id that a command line spells."""
    return arm_ids.parse(text)
