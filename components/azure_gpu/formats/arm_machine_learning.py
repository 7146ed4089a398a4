"""Workspaces, computes, online endpoints and deployments of Azure Machine Learning in ARM."""

from azure_gpu.formats.arm_values import identity, last, variables
from azure_gpu.formats.body_keys import take
from azure_gpu.formats.body_reader import BodyReader, PartInFile, mapping
from azure_gpu.formats.gpu_mentions import is_gpu_size

_PARTS = (("storage", "storageAccount"), ("registry", "containerRegistry"))


def workspace(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    name, friendly = last(head.text("name")), of.text("friendlyName")
    own_name = friendly if friendly != name else None
    settings = take("ARM ML workspace", of, head, workspace_name=name, friendly_name=own_name)
    parts = [
        PartInFile("foundation", key, {"existing": found}, of.at(member)) for key, member in _PARTS if (found := of.text(member))
    ]
    return [*parts, *identity(head, "a workspace"), PartInFile("ml_workspace", "", settings, head.at())]


def compute(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    name = last(head.text("name")) or "gpu"
    inner = of.inside("properties")
    of.skip("provisioningErrors", "createdOn", "modifiedOn", "isAttachedCompute")
    kind, size = of.text("computeType") or "", inner.text("vmSize")
    if kind.lower() != "amlcompute" or not is_gpu_size(size or ""):
        for one in (of, inner):
            one.skip(*one.names())
        message = f"{size or kind or 'its machine'} is left out: a stack declares only clusters of machines with GPUs"
        of.reading.leave(
            head.path or "name", f"the compute {name}: {message}", "see ml_workspace.computes, or create it with az ml"
        )
        return []
    settings = take("ARM ML compute", of, head, told={"location": head.peek("location")})
    part = PartInFile("ml_workspace", "computes", {name: settings}, head.at(), {f"{name}.size": inner.at("vmSize")})
    return [*identity(head, "a compute"), part]


def endpoint(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    name = last(head.text("name")) or "model"
    own = identity(head, "an endpoint") if "userAssignedIdentities" in mapping(head.peek("identity")) else []
    if not own:
        identified = head.inside("identity")
        identified.default("type", "SystemAssigned", message="an endpoint has an identity of its own, or the stack's")
        identified.skip("principalId", "tenantId", "userAssignedIdentities")
    settings = take("ARM ML endpoint", of, head, identity="stack" if own else "system")
    return [*own, PartInFile("ml_endpoints", name, settings, head.at())]


def deployment(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    names = (head.text("name") or "blue").split("/")
    owner = names[-2] if len(names) > 1 else "model"
    why = "likely a secret, and whoever reads a deployment reads its variables"
    plain = variables(of, "environmentVariables", why, "use a key vault")
    settings = take("ARM ML deployment", of, head, environment_variables=plain)
    written = {f"deployments.{names[-1]}.instance_type": of.at("instanceType")}
    return [PartInFile("ml_endpoints", owner, {"deployments": {names[-1]: settings}}, head.at(), written)]
