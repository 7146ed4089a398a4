"""Batch accounts and pools, in the form of ARM, of `az batch pool`, of the SDKs and of Batch's own data plane."""

from collections.abc import Callable
from typing import Any

from azure_gpu.formats.arm_values import AZURE_REGISTRIES, identity, last, minutes, size_of
from azure_gpu.formats.body_keys import take
from azure_gpu.formats.body_reader import BodyReader, PartInFile, given
from azure_gpu.formats.likely_secrets import is_secret_name

_EXTENSION = "nvidiagpudriver"
# The keys of a mount, with the body's names and what each requires.
_MOUNTS = {
    "azure_blob": ("azureBlobFileSystem", "container"),
    "azure_file": ("azureFileShare", "url"),
    "nfs": ("nfsMount", "source"),
}
Put = Callable[[str, Any, BodyReader, str], None]


def account(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    name, at = last(head.text("name")), head.at()
    settings = take("ARM account", of, head, account_name=name)
    storage = of.inside("autoStorage")
    parts: list[PartInFile] = []
    held = storage.text("storageAccountId")
    if held and held.startswith("/"):
        parts.append(PartInFile("foundation", "storage", {"existing": held}, storage.at("storageAccountId")))
    elif held:
        storage.leave("storageAccountId", "not an ARM id", "set foundation.storage to existing: <its ARM id>")
    if of.choice("poolAllocationMode", {"BatchService": False, "UserSubscription": True}):
        of.leave("poolAllocationMode", "UserSubscription: accounts of a stack allocate pools in Batch's own subscription")
    return [*parts, *identity(head, "an account"), PartInFile("batch_account", "", settings, at)]


def pool(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    part = PartInFile("pools", last(head.text("name") or head.text("id")) or "pool", {}, head.at())
    settings, written = part.settings, part.written
    written[""] = part.at

    def put(key: str, value: Any, reader: BodyReader, source: str) -> None:
        if value is not None and value not in ("", [], {}):
            settings[key] = value
            written[key] = reader.at(source)

    put("size", size_of(of, "vmSize"), of, "vmSize")
    _machines(of, put)
    _nodes(of, put)
    slots = next((key for key in ("taskSlotsPerNode", "maxTasksPerNode") if key in of), "taskSlotsPerNode")
    put("task_slots", count if (count := of.whole(slots)) != 1 else None, of, slots)
    talk = of.choice("interNodeCommunication", {"Enabled": True, "Disabled": False})
    key = "interNodeCommunication" if talk is not None else "enableInterNodeCommunication"
    put("inter_node", True if talk or of.flag("enableInterNodeCommunication") else None, of, key)
    if "startTask" in of:
        task = _start_task(of.inside("startTask"), part.secrets)
        if "command" in task:
            put("start_task", task, of, "startTask")
        else:
            of.leave("startTask", "a start task requires a command", "set start_task: {command: …}")
            part.secrets = [secret for secret in part.secrets if not secret.startswith("start_task.")]
    _network(of, put)
    put("metadata", _named(of, "metadata", ("name",), "value", "no value"), of, "metadata")
    put("mounts", _mounts(of, part.secrets), of, "mountConfiguration")
    for listed in ("applicationPackages", "applicationPackageReferences"):
        put("packages", _named(of, listed, ("id", "applicationId"), "version", ""), of, listed)
    take("Batch pool", of, told={"name": part.name})
    scheduling = of.inside("taskSchedulingPolicy")
    if scheduling.choice("nodeFillType", {"Spread": None, "Pack": True}):
        scheduling.change("nodeFillType", "it has no key, and is set by overrides, which Azure alone judges")
        put("overrides", {"taskSchedulingPolicy": {"nodeFillType": "Pack"}}, scheduling, "nodeFillType")
    put("tags", {**head.pairs("tags"), **of.pairs("resourceTags")}, head, "tags")
    return [*identity(head, "a pool"), part]


def _named(of: BodyReader, listed: str, names: tuple[str, ...], value: str, lacking: str) -> dict[str, str]:
    """A list of names and values as a mapping. `lacking`: what is told of a name without a value, which else has none."""
    found: dict[str, str] = {}
    for one in of.items(listed):
        name, text = last(next((name for key in names if (name := one.text(key))), "")), one.text(value) or ""
        if not name:
            one.leave_given(value, "it has no name")
        elif lacking and not text:
            one.leave(names[0], f"{name} has {lacking}")
        else:
            found[name] = text
    return found


def _machines(of: BodyReader, put: Put) -> None:
    """Image, containers and extensions of the nodes."""
    configuration = of.inside("deploymentConfiguration") if "deploymentConfiguration" in of else of
    configuration.leave_given(
        "cloudServiceConfiguration", "pools of Cloud Services ended on 2024-02-29", "the pool gets an image"
    )
    machines = configuration.inside("virtualMachineConfiguration")
    image = machines.inside("imageReference")
    words = [image.text(key) for key in ("publisher", "offer", "sku")]
    version = image.text("version")
    image.skip("exactVersion")
    if image_id := image.text("id") or image.text("virtualMachineImageId"):
        put("image_id", image_id, machines, "imageReference")
    elif all(words):
        version = [version] if version and version.lower() != "latest" else []
        put("image", ":".join([*map(str, words), *version]), machines, "imageReference")
    agent = machines.text("nodeAgentSkuId")
    put("node_agent", agent, machines, "nodeAgentSkuId")
    windows = machines.inside("windowsConfiguration")
    windows.default("enableAutomaticUpdates", True)
    if "windows" in (agent or "").lower() or "windowsConfiguration" in machines:
        put("os_type", "Windows", machines, "nodeAgentSkuId")
    if "containerConfiguration" in machines:
        containers = machines.inside("containerConfiguration")
        containers.default("type", "DockerCompatible", message="nodes run Docker")
        _registries(containers)
        put("containers", given(images=containers.texts("containerImageNames")) or True, machines, "containerConfiguration")
    for extension in machines.items("extensions"):
        if str(extension.peek("type")).lower().startswith(_EXTENSION):
            put("driver", "extension", machines, "extensions")
            extension.skip(*extension.names())
            extension.reading.change(extension.path, "set as driver: extension, whose version and settings are the stack's")


def _registries(containers: BodyReader) -> None:
    """Registries of the images. Nodes of a stack sign in as its identity alone."""
    for registry in containers.items("containerRegistries"):
        server = registry.text("registryServer") or "docker.io"
        take("Batch registry", registry, told={"server": server})
        if server.lower().endswith(AZURE_REGISTRIES):
            role = "that identity needs the role AcrPull on it, if it isn't the stack's own"
            registry.change("registryServer", f"{server} is used as the stack's identity", role)
        else:
            registry.leave("registryServer", f"{server}: nodes sign in to registries of Azure only", "copy its images to one")


def _network(of: BodyReader, put: Put) -> None:
    network = of.inside("networkConfiguration")
    put("subnet_id", take("Batch network", network).get("subnet_id"), network, "subnetId")
    addresses = network.inside("publicIPAddressConfiguration")
    closed = addresses.choice("provision", {"NoPublicIPAddresses": True, "BatchManaged": False, "UserManaged": None})
    put("public_addresses", False if closed else None, network, "publicIPAddressConfiguration")
    if closed is None:
        addresses.leave_given("provision", "public addresses are Batch's own")
    mode = of.choice("targetNodeCommunicationMode", {one: one for one in ("Simplified", "Classic", "Default")})
    put("communication", mode if mode != "Simplified" else None, of, "targetNodeCommunicationMode")


def _nodes(of: BodyReader, put: Put) -> None:
    """A fixed number of nodes, or a formula, in ARM's form or that of Batch's data plane."""
    scale = of.inside("scaleSettings")
    automatic = scale.inside("autoScale") if "autoScale" in scale else of
    formula = automatic.text("formula", free=True) or automatic.text("autoScaleFormula", free=True)
    interval = minutes(automatic, "evaluationInterval") or minutes(automatic, "autoScaleEvaluationInterval")
    scaled = of.flag("enableAutoScale")
    if scaled and not formula:
        of.leave("enableAutoScale", "the file has no formula", "set autoscale")
    if scaled is False and formula:
        automatic.leave("autoScaleFormula", "enableAutoScale is false: the pool has a fixed number of nodes")
        formula = None
    fixed = scale.inside("fixedScale") if "fixedScale" in scale else of
    dedicated, spot = fixed.whole("targetDedicatedNodes"), fixed.whole("targetLowPriorityNodes")
    resize = minutes(fixed, "resizeTimeout")
    fixed.default("nodeDeallocationOption", "Requeue")
    if formula:
        put("autoscale", given(formula=formula, interval_minutes=interval), automatic, "formula")
        return
    put("dedicated_nodes", dedicated or 0, fixed, "targetDedicatedNodes")
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
    files = [take("Batch file", one, use_identity=_uses_identity(one)) for one in task.items("resourceFiles")]
    wait = task.flag("waitForSuccess")
    settings = take("Batch task", task, environment=environment, resource_files=[one for one in files if one])
    return settings | ({"wait_for_success": False} if wait is False else {})


def _uses_identity(file: BodyReader) -> bool | None:
    if not file.inside("identityReference").text("resourceId"):
        return None
    file.change("identityReference", "files are downloaded as the stack's identity")
    return True


def _mounts(of: BodyReader, secrets: list[str]) -> dict[str, Any]:
    mounts: dict[str, Any] = {}
    for one in of.items("mountConfiguration"):
        paths = [one.inside(f"{wire}Configuration").text("relativeMountPath") for wire, _ in _MOUNTS.values()]
        found = take("Batch mount", one)
        for kind, (wire, required) in _MOUNTS.items():
            if kind in found and required not in found[kind]:
                del found[kind]
                one.leave(f"{wire}Configuration", f"it has no {required}")
        blob, share = found.get("azure_blob", {}), found.get("azure_file", {})
        name = next(filter(None, paths), None) or blob.get("container") or last(share.get("url")) or "nfs"
        if found:
            mounts[name] = found
        if share:
            secrets.append(f"mounts.{name}.azure_file.key")
    return mounts
