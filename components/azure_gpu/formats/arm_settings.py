"""Batch accounts and pools, AKS clusters and agent pools of Azure Resource Manager, as entries of a stack file.

A body may be an entry of a template, what a GET answers, or what `az … show -o json` prints, which has no `properties`. A setting
without a key in the stack file, a placeholder and an expression without a value are reported with their lines; secrets are never
copied.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats.body_reader import BodyReader, Reading, given, mapping
from azure_gpu.formats.gpu_mentions import is_gpu_size
from azure_gpu.formats.likely_secrets import is_secret_name
from azure_gpu.formats.part_in_file import PartInFile

ACCOUNT = "Microsoft.Batch/batchAccounts"
POOL = "Microsoft.Batch/batchAccounts/pools"
CLUSTER = "Microsoft.ContainerService/managedClusters"
AGENT_POOL = "Microsoft.ContainerService/managedClusters/agentPools"

# Types that aren't read, with the section of a stack file that has the same.
SECTIONS: Mapping[str, str] = {
    "microsoft.compute/virtualmachines": "vms",
    "microsoft.compute/virtualmachinescalesets": "pools, or gpu_pools of clusters",
    "microsoft.compute/galleries": "gallery_images",
    "microsoft.containerinstance/containergroups": "container_groups",
    "microsoft.app/jobs": "jobs",
    "microsoft.app/managedenvironments": "job_environment",
    "microsoft.app/containerapps": "jobs, or services of clusters",
    "microsoft.machinelearningservices/workspaces": "ml_workspace",
    "microsoft.machinelearningservices/workspaces/computes": "ml_workspace.computes",
    "microsoft.machinelearningservices/workspaces/onlineendpoints": "ml_endpoints",
    "microsoft.machinelearningservices/workspaces/onlineendpoints/deployments": "deployments of ml_endpoints",
    "microsoft.managedidentity/userassignedidentities": "foundation.identity",
    "microsoft.storage/storageaccounts": "foundation.storage",
    "microsoft.containerregistry/registries": "foundation.registry",
    "microsoft.operationalinsights/workspaces": "foundation.log_workspace",
    "microsoft.batch/batchaccounts/applications": "batch_account.applications",
    "microsoft.consumption/budgets": "budget",
}
_ANSWERED = (  # by Azure, about a resource that exists
    *("id", "type", "apiVersion", "etag", "eTag", "resourceGroup", "provisioningState", "powerState", "systemData", "url"),
    *("creationTime", "lastModified", "state", "stateTransitionTime", "allocationState", "allocationStateTransitionTime"),
    *("currentNodeCommunicationMode", "currentDedicatedNodes", "currentLowPriorityNodes", "resizeOperationStatus", "stats"),
    *("provisioningStateTransitionTime", "autoScaleRun", "resizeErrors", "poolStatistics", "dependsOn"),
)
_OF_CLUSTER = (
    *("fqdn", "privateFqdn", "azurePortalFqdn", "nodeResourceGroup", "currentKubernetesVersion", "maxAgentPools", "resourceUid"),
    *("identityProfile", "dnsPrefix", "fqdnSubdomain", "servicePrincipalProfile", "windowsProfile", "kind", "status"),
)
_OF_ACCOUNT = (
    *("accountEndpoint", "nodeManagementEndpoint", "dedicatedCoreQuota", "lowPriorityCoreQuota", "poolQuota"),
    *("dedicatedCoreQuotaPerVMFamily", "dedicatedCoreQuotaPerVMFamilyEnforced", "activeJobAndJobScheduleQuota"),
)
_OF_AGENT_POOL = (
    *("currentOrchestratorVersion", "nodeImageVersion", "typePropertiesType", "artifactStreamingProfile", "status"),
)
_DURATION = re.compile(r"PT(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)(?:\.\d+)?S)?")
_CLOCK = re.compile(r"(?P<hours>\d+):(?P<minutes>\d{1,2}):(?P<seconds>\d{1,2})(?:\.\d+)?")
_OUTBOUND = ("managedNATGateway", "userAssignedNATGateway", "userDefinedRouting")
_GPU_OS = ("Ubuntu", "Ubuntu2204", "AzureLinux", "AzureLinux3")
_EXTENSION = "NvidiaGpuDriver"


def kind_of(body: Mapping[str, Any]) -> str:
    """The type of a body, by its `type` or, of what `az` prints without one, by its keys. "" if it is none of Azure's."""
    by_lower = {str(key).lower(): value for key, value in body.items()}
    declared = by_lower.get("type")
    if isinstance(declared, str) and declared.lower().startswith("microsoft."):
        return next((one for one in READERS if one.lower() == declared.lower()), declared)
    keys = {*by_lower, *(str(key).lower() for key in mapping(by_lower.get("properties")))}
    if "agentpoolprofiles" in keys:
        return CLUSTER
    if "vmsize" in keys and keys & {
        "deploymentconfiguration",
        "virtualmachineconfiguration",
        "targetdedicatednodes",
        "scalesettings",
    }:
        return POOL
    if "vmsize" in keys and keys & {"nodetaints", "orchestratorversion", "ossku", "scalesetpriority", "mode"}:
        return AGENT_POOL
    if "poolallocationmode" in keys or "accountendpoint" in keys:
        return ACCOUNT
    if "hardwareprofile" in keys:
        return "Microsoft.Compute/virtualMachines"
    return ""


def read(kind: str, body: Mapping[str, Any], path: str, reading: Reading) -> list[PartInFile]:
    """The entries that one body becomes. `path`: of the body in the document."""
    reader = BodyReader(body, path, reading)
    inside = reader.inside("properties") if "properties" in reader else reader
    reader.skip(*_ANSWERED)
    inside.skip(*_ANSWERED)
    parts = READERS[kind](reader, inside)
    reader.rest()
    return parts


def exists_as(body: Mapping[str, Any]) -> str:
    """The ARM id of a body that Azure answered; "" for one that is still to be deployed."""
    text = next((str(value) for key, value in body.items() if str(key).lower() == "id"), "")
    return text if text.lower().startswith("/subscriptions/") else ""


def minutes(text: str | None) -> int | None:
    """A duration in whole minutes, rounded up: ISO 8601, or hh:mm:ss."""
    found = (_DURATION.fullmatch(text) or _CLOCK.fullmatch(text)) if text else None
    if found is None:
        return None
    seconds = 3600 * int(found["hours"] or 0) + 60 * int(found["minutes"] or 0) + int(found["seconds"] or 0)
    return -(-seconds // 60)


def _last(name: str | None) -> str:
    return (name or "").rsplit("/", 1)[-1]


def _minutes(reader: BodyReader, key: str) -> int | None:
    text = reader.text(key)
    if text is not None and minutes(text) is None:
        reader.leave(key, "expected a duration, such as PT15M")
    return minutes(text)


# Batch


def _account(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    name, at = _last(head.text("name")), head.at()
    head.skip("properties")
    settings = given(account_name=name, location=head.text("location"))
    of.skip(*_OF_ACCOUNT)
    storage = of.inside("autoStorage")
    parts: list[PartInFile] = []
    account = storage.text("storageAccountId")
    if account and account.startswith("/"):
        parts.append(PartInFile("foundation", "storage", {"existing": account}, storage.at("storageAccountId")))
    elif account:
        storage.leave("storageAccountId", "not an ARM id", "set foundation.storage to existing: <its ARM id>")
    storage.skip("lastKeySync", "authenticationMode")
    if (mode := of.text("poolAllocationMode")) not in (None, "BatchService"):
        of.leave("poolAllocationMode", f"{mode}: accounts of a stack allocate pools in Batch's own subscription")
    of.leave_given("encryption", "the account's keys are Microsoft's", "set overrides of batch_account")
    _tags(head, "batch_account")
    head.leave_given("identity", "an account uses the stack's identity", "set foundation.identity to existing: <its ARM id>")
    return [*parts, PartInFile("batch_account", "", settings, at)]


def _tags(head: BodyReader, what: str) -> dict[str, str]:
    tags = head.pairs("tags")
    if tags and what == "batch_account":
        head.leave("tags", "an account has the stack's tags", "set tags of the stack")
    return tags


def _pool(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    name = _last(head.text("name") or head.text("id"))
    part = PartInFile("pools", name or "pool", {}, head.at())
    settings, written = part.settings, part.written
    written[""] = part.at

    def put(key: str, value: Any, reader: BodyReader, source: str) -> None:
        if value is not None and value not in ("", [], {}):
            settings[key] = value
            written[key] = reader.at(source)

    if size := of.text("vmSize"):
        found = SIZES.find(size)
        put("size", found.name if found else size, of, "vmSize")
    configuration = of.inside("deploymentConfiguration") if "deploymentConfiguration" in of else of
    configuration.leave_given(
        "cloudServiceConfiguration", "pools of Cloud Services ended on 2024-02-29", "the pool gets an image"
    )
    machines = configuration.inside("virtualMachineConfiguration")
    image = machines.inside("imageReference")
    words = [image.text(key) for key in ("publisher", "offer", "sku")]
    image_id = image.text("id") or image.text("virtualMachineImageId")
    image.skip("exactVersion", "id", "virtualMachineImageId")
    if image_id:
        put("image_id", image_id, machines, "imageReference")
    elif all(words):
        version = image.text("version")
        put(
            "image",
            ":".join([str(word) for word in words] + ([version] if version and version != "latest" else [])),
            machines,
            "imageReference",
        )
    image.skip("version")
    put("node_agent", machines.text("nodeAgentSkuId"), machines, "nodeAgentSkuId")
    if "windows" in (settings.get("node_agent") or "").lower() or "windowsConfiguration" in machines:
        put("os_type", "Windows", machines, "nodeAgentSkuId")
        machines.skip("windowsConfiguration")
    if "containerConfiguration" in machines:
        containers = machines.inside("containerConfiguration")
        containers.skip("type")
        for registry in containers.items("containerRegistries"):
            registry.leave_given("password", "passwords aren't copied: nodes fetch images as the stack's identity")
        put("containers", given(images=containers.texts("containerImageNames")) or True, machines, "containerConfiguration")
    extensions = machines.items("extensions")
    for extension in extensions:
        if (extension.text("type") or "").startswith(_EXTENSION):
            put("driver", "extension", machines, "extensions")
            extension.skip("name", "publisher", "typeHandlerVersion", "autoUpgradeMinorVersion", "enableAutomaticUpgrade")
    _nodes(of, put)
    slots = of.whole("taskSlotsPerNode") or of.whole("maxTasksPerNode")
    put("task_slots", slots if slots != 1 else None, of, "taskSlotsPerNode")
    talk = of.text("interNodeCommunication") == "Enabled" or bool(of.flag("enableInterNodeCommunication"))
    put(
        "inter_node",
        talk or None,
        of,
        "interNodeCommunication" if "interNodeCommunication" in of else "enableInterNodeCommunication",
    )
    if "startTask" in of:
        task = _start_task(of.inside("startTask"), part.secrets)
        if "command" in task:
            put("start_task", task, of, "startTask")
        else:
            of.leave("startTask", "a start task requires a command", "set start_task: {command: …}")
            part.secrets = [secret for secret in part.secrets if not secret.startswith("start_task.")]
    network = of.inside("networkConfiguration")
    put("subnet_id", network.text("subnetId"), network, "subnetId")
    addresses = network.inside("publicIPAddressConfiguration")
    provision = addresses.text("provision")
    put("public_addresses", False if provision == "NoPublicIPAddresses" else None, network, "publicIPAddressConfiguration")
    if provision not in (None, "NoPublicIPAddresses", "BatchManaged"):
        addresses.leave("provision", "public addresses are Batch's own")
    network.skip("dynamicVNetAssignmentScope")
    mode = of.text("targetNodeCommunicationMode")
    put("communication", mode if mode != "Simplified" else None, of, "targetNodeCommunicationMode")
    found = {one.text("name"): one.text("value") for one in of.items("metadata")}
    put("metadata", {key: value for key, value in found.items() if key and value}, of, "metadata")
    put("mounts", _mounts(of, part.secrets), of, "mountConfiguration")
    packages = {}
    for one in [*of.items("applicationPackages"), *of.items("applicationPackageReferences")]:
        if application := one.text("id") or one.text("applicationId"):
            packages[_last(application)] = one.text("version") or ""
    put("packages", packages, of, "applicationPackages" if "applicationPackages" in of else "applicationPackageReferences")
    of.leave_given("userAccounts", "nodes get no users with passwords")
    of.leave_given(
        "certificates", "Batch's certificates ended on 2024-02-29", "let programs fetch secrets with the stack's identity"
    )
    of.skip("displayName", "targetDedicatedNodes", "targetLowPriorityNodes")
    scheduling = of.inside("taskSchedulingPolicy")
    if (spread := scheduling.text("nodeFillType")) not in (None, "Spread"):
        scheduling.leave("nodeFillType", f"{spread}: tasks are spread over the nodes")
    head.leave_given("identity", "a pool uses the stack's identity", "set foundation.identity to existing: <its ARM id>")
    put("tags", head.pairs("tags"), head, "tags")
    return [part]


def _nodes(of: BodyReader, put: Callable[[str, Any, BodyReader, str], None]) -> None:
    """A fixed number of nodes, or a formula, in ARM's form or that of Batch's data plane."""
    scale = of.inside("scaleSettings")
    automatic = scale.inside("autoScale") if "autoScale" in scale else of
    formula = automatic.text("formula", free=True) or automatic.text("autoScaleFormula", free=True)
    interval = _minutes(automatic, "evaluationInterval") or _minutes(automatic, "autoScaleEvaluationInterval")
    of.skip("enableAutoScale")
    fixed = scale.inside("fixedScale") if "fixedScale" in scale else of
    dedicated, spot = fixed.whole("targetDedicatedNodes"), fixed.whole("targetLowPriorityNodes")
    resize = _minutes(fixed, "resizeTimeout")
    fixed.skip("nodeDeallocationOption")
    if formula:
        put("autoscale", given(formula=formula, interval_minutes=interval), automatic, "formula")
        return
    put("dedicated_nodes", dedicated if dedicated or spot is None or spot == 0 else None, fixed, "targetDedicatedNodes")
    put("spot_nodes", spot or None, fixed, "targetLowPriorityNodes")
    put("resize_timeout_minutes", resize if resize != 15 else None, fixed, "resizeTimeout")


def _start_task(task: BodyReader, secrets: list[str]) -> dict[str, Any]:
    environment: dict[str, str] = {}
    for one in task.items("environmentSettings"):
        name = one.text("name") or ""
        if is_secret_name(name):
            one.leave("value", f"{name} is likely a secret, which isn't copied", "set it by the command below")
            secrets.append(f"start_task.secret_environment.{name}")
        elif name:
            environment[name] = one.text("value", free=True) or ""
    user = task.inside("userIdentity").inside("autoUser")
    elevated = user.text("elevationLevel") == "Admin"
    user.skip("scope")
    files = [
        given(
            url=one.text("httpUrl"),
            container_url=one.text("storageContainerUrl"),
            auto_storage_container=one.text("autoStorageContainerName"),
            prefix=one.text("blobPrefix"),
            path=one.text("filePath"),
            mode=one.text("fileMode"),
            use_identity=bool(one.inside("identityReference").text("resourceId")) or None,
        )
        for one in task.items("resourceFiles")
    ]
    wait = task.flag("waitForSuccess")
    return given(
        command=task.text("commandLine", free=True),
        elevated=elevated or None,
        retries=task.whole("maxTaskRetryCount") or None,
        environment=environment,
        resource_files=[one for one in files if one],
    ) | ({"wait_for_success": False} if wait is False else {})


def _mounts(of: BodyReader, secrets: list[str]) -> dict[str, Any]:
    mounts: dict[str, Any] = {}
    for one in of.items("mountConfiguration"):
        blob, share = one.inside("azureBlobFileSystemConfiguration"), one.inside("azureFileShareConfiguration")
        nfs = one.inside("nfsMountConfiguration")
        if container := blob.text("containerName"):
            name = blob.text("relativeMountPath") or container
            mounts[name] = {
                "azure_blob": given(container=container, account=blob.text("accountName"), options=blob.text("blobfuseOptions"))
            }
            for key in ("accountKey", "sasKey"):
                blob.leave_given(key, "keys aren't copied: the mount uses the stack's identity")
            blob.skip("identityReference")
        elif url := share.text("azureFileUrl"):
            name = share.text("relativeMountPath") or _last(url)
            mounts[name] = {"azure_file": given(url=url, account=share.text("accountName"), options=share.text("mountOptions"))}
            share.skip("accountKey")
            secrets.append(f"mounts.{name}.azure_file.key")
        elif source := nfs.text("source"):
            name = nfs.text("relativeMountPath") or "nfs"
            mounts[name] = {"nfs": given(source=source, options=nfs.text("mountOptions"))}
        one.leave_given("cifsMountConfiguration", "a CIFS mount has no key in the stack file", "use azure_file or nfs")
    return mounts


# AKS


def _cluster(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    part = PartInFile("clusters", _last(head.text("name")) or "gpu", {}, head.at())
    of.skip(*_OF_CLUSTER)
    head.skip("kind")
    sku = head.inside("sku")
    tier = (sku.text("tier") or "free").lower()
    sku.skip("name")
    pools = of.items("agentPoolProfiles")
    gpu_pools: dict[str, Any] = {}
    system: BodyReader | None = None
    for pool in pools:
        if _has_gpus(pool):
            gpu_pools[pool.text("name") or f"gpu{len(gpu_pools) + 1}"] = _gpu_pool(pool, part, f"gpu_pools.{pool.text('name')}")
        elif system is None and (pool.text("mode") or "System") == "System":
            system = pool
        else:
            pool.skip(*pool.names())
            size, count = pool.text("vmSize"), pool.whole("count") or pool.whole("minCount")
            nodes = f"{count or 'several'} nodes of {size or 'a size that is not given'} without a GPU"
            message = f"{nodes}: a cluster here has one pool without GPUs"
            pool.leave("name" if "name" in pool else "vmSize", message, "set overrides of the cluster, or leave it out")
    network, api = of.inside("networkProfile"), of.inside("apiServerAccessProfile")
    ranges, private = api.texts("authorizedIPRanges"), bool(api.flag("enablePrivateCluster"))
    zone = api.text("privateDNSZone")
    api.skip("enablePrivateClusterPublicFqdn", "disableRunCommand")
    subnet = system.text("vnetSubnetID") if system else None
    local = of.flag("disableLocalAccounts")
    upgrades = of.inside("autoUpgradeProfile")
    outbound, policy = network.text("outboundType"), network.text("networkPolicy")
    network.skip("networkPlugin", "networkPluginMode", "loadBalancerSku", "loadBalancerProfile", "dnsServiceIP", "podCidrs")
    network.skip("serviceCidrs", "ipFamilies", "networkDataplane")
    part.settings = given(
        location=head.text("location"),
        kubernetes_version=of.text("kubernetesVersion"),
        tier=tier if tier in ("standard", "premium") else None,
        long_term_support=True if of.text("supportPlan") == "AKSLongTermSupport" else None,
        system_pool=_system_pool(system) if system else None,
        gpu_pools=gpu_pools,
        access=given(
            network="private" if private else "restricted" if ranges else None,
            authorized_ranges=ranges if not private else None,
            private_dns_zone=zone if private else None,
            local_accounts=None if local else True,
        ),
        subnet_id=subnet,
        pod_cidr=network.text("podCidr"),
        service_cidr=network.text("serviceCidr"),
        outbound=outbound if outbound in _OUTBOUND else None,
        network_policy=policy if policy in ("azure", "calico") else None,
        maintenance=given(upgrades=_channel(upgrades), node_images=upgrades.text("nodeOSUpgradeChannel")),
        tags=head.pairs("tags"),
    )
    if policy not in (None, "none", "azure", "calico"):
        network.leave("networkPolicy", f"{policy} has no key in the stack file", "set overrides of the cluster")
    of.leave_given("addonProfiles", "add-ons have no keys in the stack file", "set overrides of the cluster")
    head.leave_given("identity", "a cluster uses the stack's identity", "set foundation.identity to existing: <its ARM id>")
    of.skip("enableRBAC")
    return [part]


def _channel(upgrades: BodyReader) -> str | None:
    channel = upgrades.text("upgradeChannel")
    if channel == "node-image":
        upgrades.change("upgradeChannel", "set as maintenance.node_images", "set node_images: NodeImage")
        return None
    return channel if channel != "none" else None


def _has_gpus(pool: BodyReader) -> bool:
    return is_gpu_size(pool.text("vmSize") or "")


def _system_pool(pool: BodyReader) -> dict[str, Any]:
    scaled = bool(pool.flag("enableAutoScaling"))
    count, low, high = pool.whole("count"), pool.whole("minCount"), pool.whole("maxCount")
    taints = pool.texts("nodeTaints")
    sku = pool.text("osSKU")
    pool.skip("name", "mode", "osType", "type", "osDiskSizeGB", "osDiskType", "maxPods", "enableFIPS", "kubeletDiskType")
    pool.skip(*_OF_AGENT_POOL, *_ANSWERED, "orchestratorVersion", "scaleDownMode", "securityProfile")
    pool.skip("enableEncryptionAtHost", "enableUltraSSD", "enableNodePublicIP", "workloadRuntime", "upgradeStrategy")
    upgrades = pool.inside("upgradeSettings")
    upgrades.skip(*upgrades.names())
    return given(
        size=pool.text("vmSize"),
        nodes=low if scaled and low is not None else count,
        max_nodes=high if scaled else None,
        zones=pool.texts("availabilityZones"),
        os_sku=sku if sku in ("AzureLinux",) else None,
        dedicated="CriticalAddonsOnly=true:NoSchedule" in taints or None,
        max_surge=upgrades.text("maxSurge"),
    )


def _agent_pool(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    names = (head.text("name") or "gpu").split("/")
    found = re.search(r"/managedclusters/([^/]+)/", head.text("id") or "", re.IGNORECASE)
    cluster = names[0] if len(names) > 1 else found[1] if found else "gpu"
    part = PartInFile("clusters", cluster, {}, head.at())
    if of is not head:
        head.skip("name")
    if not _has_gpus(of):
        size = of.text("vmSize")
        of.skip(*of.names())
        of.leave("vmSize", f"{size or 'its size'} has no GPU: a cluster here has one pool without GPUs, its system_pool")
        return []
    part.settings = {"gpu_pools": {names[-1]: _gpu_pool(of, part, f"gpu_pools.{names[-1]}")}}
    return [part]


def _gpu_pool(pool: BodyReader, part: PartInFile, key: str) -> dict[str, Any]:
    """`key`: of the pool's settings in those of the cluster."""
    pool.skip("name", "mode", "type", "properties", *_OF_AGENT_POOL, *_ANSWERED)
    pool.skip("osDiskType", "kubeletDiskType", "scaleDownMode", "enableFIPS", "enableEncryptionAtHost", "enableUltraSSD")
    pool.skip("enableNodePublicIP", "securityProfile", "workloadRuntime", "upgradeStrategy", "vnetSubnetID")
    scaled = bool(pool.flag("enableAutoScaling"))
    count, low, high = pool.whole("count"), pool.whole("minCount"), pool.whole("maxCount")
    most = high if scaled else count
    if most == 0:
        pool.change("maxCount" if scaled else "count", "a pool has 1 node at most, or more, where it had 0")
    if "orchestratorVersion" in pool:
        pool.skip("orchestratorVersion")  # the cluster's, but for the time of an upgrade
    if (system := pool.text("osType")) not in (None, "Linux"):
        pool.leave("osType", f"{system}: GPU pools here run Linux")
    sku = pool.text("osSKU")
    if sku is not None and sku not in _GPU_OS:
        pool.leave("osSKU", f"{sku} isn't available for GPU pools here", f"set os_sku to one of {', '.join(_GPU_OS)}")
    labels = {name: value for name, value in pool.pairs("nodeLabels").items() if not name.split("/")[0].endswith(".azure.com")}
    taints = [taint for taint in pool.texts("nodeTaints") if not taint.startswith("kubernetes.azure.com/")]
    spot = None
    priority, price, eviction = pool.text("scaleSetPriority"), pool.number("spotMaxPrice"), pool.text("scaleSetEvictionPolicy")
    if priority == "Spot":
        spot = given(max_price=price if price != -1 else None, eviction=(eviction or "Delete").lower())
    profile = pool.text("gpuInstanceProfile")
    gpu = pool.inside("gpuProfile")
    driver = gpu.text("driver")
    gpu.skip("driverType")
    upgrades = pool.inside("upgradeSettings")
    size = pool.text("vmSize") or ""
    found = SIZES.find(size)
    part.written[f"{key}.size"] = pool.at("vmSize")
    return given(
        size=found.name if found else size,
        min_nodes=low if scaled else count,
        max_nodes=max(1, most) if most is not None else None,
        spot=spot,
        labels=labels,
        zones=pool.texts("availabilityZones"),
        os_sku=sku if sku in _GPU_OS and sku != "Ubuntu" else None,
        driver="none" if driver == "None" else None,
        max_surge=upgrades.text("maxSurge"),
        drain_minutes=upgrades.whole("drainTimeoutInMinutes"),
        os_disk_gb=pool.whole("osDiskSizeGB") or None,
        max_pods=pool.whole("maxPods"),
        sharing={"strategy": "mig", "profile": profile} if profile else None,
        tags=pool.pairs("tags"),
    ) | {"taints": taints}


READERS: Mapping[str, Callable[[BodyReader, BodyReader], list[PartInFile]]] = {
    ACCOUNT: _account,
    POOL: _pool,
    CLUSTER: _cluster,
    AGENT_POOL: _agent_pool,
}
"""The types that are read."""
