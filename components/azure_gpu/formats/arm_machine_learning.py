"""Workspaces, computes, online endpoints and deployments of Azure Machine Learning in ARM."""

from typing import Any

from azure_gpu.formats.arm_values import identity, last, minutes, seconds, size_of
from azure_gpu.formats.body_reader import BodyReader, PartInFile, given, mapping
from azure_gpu.formats.gpu_mentions import is_gpu_size
from azure_gpu.formats.likely_secrets import is_secret_name

_OF_WORKSPACE = (  # answered
    *(
        "workspaceId",
        "discoveryUrl",
        "mlFlowTrackingUri",
        "notebookInfo",
        "privateEndpointConnections",
        "tenantId",
        "agentsEndpointUri",
    ),
    *("privateLinkCount", "serviceProvisionedResourceGroup", "storageHnsEnabled", "enableDataIsolation", "associatedWorkspaces"),
)
_PARTS = (("storage", "storageAccount"), ("registry", "containerRegistry"))
_MANAGED = {"AllowInternetOutbound": "internet_outbound", "AllowOnlyApprovedOutbound": "approved_outbound", "Disabled": None}
_PUBLIC = {"Enabled": "public", "Disabled": "private"}
_AUTH = {"AADToken": "entra", "Key": "key", "AMLToken": "aml_token"}


def workspace(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    name, at = last(head.text("name")), head.at()
    of.skip(*_OF_WORKSPACE)
    head.default("kind", "Default", message="the stack's workspaces are plain ones")
    head.default("sku", {"name": "Basic", "tier": "Basic"}, {"name": "Basic"})
    managed = of.inside("managedNetwork")
    managed.skip("status", "changeableIsolationModes", "networkId")
    friendly = of.text("friendlyName")
    access = of.choice("publicNetworkAccess", _PUBLIC)
    settings = given(
        workspace_name=name,
        location=head.text("location"),
        network="private" if access == "private" else None,
        managed_network=managed.choice("isolationMode", _MANAGED),
        key_vault=_existing(of, "keyVault"),
        insights=_existing(of, "applicationInsights"),
        high_business_impact=of.flag("hbiWorkspace") or None,
        friendly_name=friendly if friendly != name else None,
        description=of.text("description"),
        tags=head.pairs("tags"),
    )
    parts = [PartInFile("foundation", key, found, of.at(member)) for key, member in _PARTS if (found := _existing(of, member))]
    return [*parts, *identity(head, "a workspace"), PartInFile("ml_workspace", "", settings, at)]


def _existing(of: BodyReader, key: str) -> dict[str, str] | None:
    """What a workspace uses, by its id."""
    text = of.text(key)
    return {"existing": text} if text else None


def compute(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    name = last(head.text("name")) or "gpu"
    inner = of.inside("properties")
    of.skip("provisioningErrors", "createdOn", "modifiedOn", "isAttachedCompute")
    inner.skip(
        "allocationState", "allocationStateTransitionTime", "errors", "currentNodeCount", "targetNodeCount", "nodeStateCounts"
    )
    kind, size = of.text("computeType") or "", inner.text("vmSize")
    if kind.lower() != "amlcompute" or not is_gpu_size(size or ""):
        for one in (of, inner):
            one.skip(*one.names())
        message = f"{size or kind or 'its machine'} is left out: a stack declares only clusters of machines with GPUs"
        of.reading.leave(
            head.path or "name", f"the compute {name}: {message}", "see ml_workspace.computes, or create it with az ml"
        )
        return []
    scale = inner.inside("scaleSettings")
    inner.default("osType", "Linux", message="nodes of a compute run Linux")
    inner.default("remoteLoginPortPublicAccess", "NotSpecified", "Disabled", "Enabled", message="nodes aren't reached by SSH")
    inner.leave_given("userAccountCredentials", "nodes aren't reached by SSH; passwords aren't copied")
    of.default("disableLocalAuth", True, message="nodes aren't reached by SSH")
    for key in ("location", "computeLocation"):
        of.default(
            key, head.peek("location"), message="computes are in the workspace's region", fix="set location of ml_workspace"
        )
    head.leave_given("location", "computes are in the workspace's region", "set location of ml_workspace")
    settings = given(
        size=size_of(inner, "vmSize"),
        min_nodes=scale.whole("minNodeCount"),
        max_nodes=scale.whole("maxNodeCount"),
        idle_minutes=minutes(scale, "nodeIdleTimeBeforeScaleDown"),
        spot=inner.choice("vmPriority", {"LowPriority": True, "Dedicated": None}),
        subnet_id=inner.inside("subnet").text("id"),
        public_addresses=inner.flag("enableNodePublicIp"),
        description=of.text("description"),
        tags=head.pairs("tags"),
    )
    part = PartInFile("ml_workspace", "computes", {name: settings}, head.at(), {f"{name}.size": inner.at("vmSize")})
    return [*identity(head, "a compute"), part]


def endpoint(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    part = PartInFile("ml_endpoints", last(head.text("name")) or "model", {}, head.at())
    head.default("kind", "Managed")
    head.default("sku", {"name": "Default"})
    of.skip("scoringUri", "swaggerUri", "keys")
    own = identity(head, "an endpoint") if "userAssignedIdentities" in mapping(head.peek("identity")) else []
    if not own:
        identified = head.inside("identity")
        identified.default("type", "SystemAssigned", message="an endpoint has an identity of its own, or the stack's")
        identified.skip("principalId", "tenantId", "userAssignedIdentities")
    part.settings = given(
        auth=of.choice("authMode", _AUTH),
        network=of.choice("publicNetworkAccess", _PUBLIC) or "public",
        identity="stack" if own else "system",
        description=of.text("description"),
        compute=last(of.text("compute")) or None,
        traffic=_shares(of, "traffic"),
        mirror=_shares(of, "mirrorTraffic"),
        tags=head.pairs("tags"),
    )
    of.leave_given("properties", "an endpoint's properties are the service's own")
    head.leave_given("location", "endpoints are in the workspace's region", "set location of ml_workspace")
    return [*own, part]


def _shares(of: BodyReader, key: str) -> dict[str, int]:
    inner = of.inside(key)
    return {name: share for name in inner.names() if (share := inner.whole(name))}


def deployment(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    names = (head.text("name") or "blue").split("/")
    owner = names[-2] if len(names) > 1 else "model"
    head.default("kind", "Managed")
    of.default("endpointComputeType", "Managed", message="the machines are Azure's")
    sku = head.inside("sku")
    sku.default("name", "Default")
    code, requests, scale = of.inside("codeConfiguration"), of.inside("requestSettings"), of.inside("scaleSettings")
    scale.default("scaleType", "Default", message="a number of machines that Azure's monitor changes: set autoscale")
    script = code.text("scoringScript")
    settings = given(
        model=of.text("model"),
        environment=of.text("environmentId"),
        code=given(code=code.text("codeId"), script=script),
        instance_type=of.text("instanceType"),
        instances=sku.whole("capacity"),
        probes=given(**{key: _probe(of.inside(f"{key}Probe")) for key in ("liveness", "readiness", "startup")}),
        requests=given(
            timeout_seconds=seconds(requests, "requestTimeout"),
            concurrent=requests.whole("maxConcurrentRequestsPerInstance"),
            queue_seconds=seconds(requests, "maxQueueWait"),
        ),
        environment_variables=_variables(of.inside("environmentVariables")),
        model_mount_path=of.text("modelMountPath"),
        egress="private" if of.choice("egressPublicNetworkAccess", _PUBLIC) == "private" else None,
        app_insights=of.flag("appInsightsEnabled") or None,
        description=of.text("description"),
        tags=head.pairs("tags"),
    )
    of.leave_given("properties", "a deployment's properties are the service's own")
    of.leave_given("dataCollector", "collecting requests has no key in the stack file", "set overrides of the deployment")
    head.leave_given("location", "deployments are in the workspace's region", "set location of ml_workspace")
    written = {f"deployments.{names[-1]}.instance_type": of.at("instanceType")}
    return [PartInFile("ml_endpoints", owner, {"deployments": {names[-1]: settings}}, head.at(), written)]


def _probe(of: BodyReader) -> dict[str, Any]:
    return given(
        initial_delay_seconds=seconds(of, "initialDelay"),
        period_seconds=seconds(of, "period"),
        timeout_seconds=seconds(of, "timeout"),
        success_threshold=of.whole("successThreshold"),
        failure_threshold=of.whole("failureThreshold"),
    )


def _variables(inner: BodyReader) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in inner.names():
        if is_secret_name(name):
            inner.leave(name, "likely a secret, and whoever reads a deployment reads its variables", "use a key vault")
        elif (value := inner.text(name, free=True)) is not None:
            found[name] = value
    return found
