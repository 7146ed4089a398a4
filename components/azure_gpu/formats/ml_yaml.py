"""YAML of Azure Machine Learning's CLI, version 2: online endpoints and deployments, computes, environments, models and command
jobs, as entries of a stack file and command lines.

The kind is read from `$schema`; a file without one is recognised by its keys. A setting without a key in the stack file and a
placeholder are reported with their lines. Source: Microsoft Learn, machine-learning/reference-yaml-*, 2026-01.
"""

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from azure_gpu.formats.arm_values import asset, variables
from azure_gpu.formats.body_keys import take
from azure_gpu.formats.body_reader import BodyReader, PartInFile, Reading, given
from azure_gpu.formats.gpu_mentions import is_gpu_size
from azure_gpu.formats.likely_secrets import holds_secret

_DEPLOYMENT, _ENDPOINT, _CLUSTER, _JOB = "managedonlinedeployment", "managedonlineendpoint", "amlcompute", "commandjob"
_TYPES = {
    "amlcompute": _CLUSTER,
    "computeinstance": "computeinstance",
    "kubernetes": "kubernetescompute",
    "virtualmachine": "vmcompute",
    "command": _JOB,
}
_OTHER_TYPES = {"pipeline": "pipelinejob", "sweep": "sweepjob", "automl": "automljob", "finetuning": "finetuningjob"}
_INPUT = re.compile(r"\$\{\{\s*(inputs|outputs)\.([\w.-]+)\s*\}\}")
_OPTIONAL = re.compile(r"\$\[\[(.*?)\]\]", re.DOTALL)  # of a component's command: there if its inputs have values
_LITERALS = (str, int, float, bool)


class Command(NamedTuple):
    """A command job, as arguments of `operations run`."""

    words: tuple[str, ...]
    notes: tuple[str, ...]


Found = list[PartInFile | Command]


def kind_of(body: Mapping[str, Any]) -> str:
    """The name of a schema, or "" if the document isn't Azure Machine Learning's."""
    schema = str(body.get("$schema") or "")
    if "azureml" in schema.lower() or ".schema.json" in schema.lower():
        return schema.rsplit("/", 1)[-1].split(".", 1)[0].lower()
    keys = {str(key) for key in body}
    declared = str(body.get("type") or "").lower()
    if "kind" in keys or "properties" in keys:
        return ""
    if "endpoint_name" in keys and keys & {"model", "environment", "instance_type", "instance_count", "code_configuration"}:
        return _DEPLOYMENT
    if "auth_mode" in keys:
        return _ENDPOINT
    if declared == "kubernetes" and "resource_id" not in keys:
        return ""
    if declared in _OTHER_TYPES:
        return _OTHER_TYPES[declared]
    if declared in _TYPES and keys & {"size", "resource_id", "min_instances", "max_instances", "command", "ssh_settings"}:
        return _TYPES[declared]
    if "command" in keys and "environment" in keys and keys & {"compute", "code", "experiment_name", "resources", "$schema"}:
        return _JOB
    if "size" in keys and keys & {"min_instances", "max_instances", "idle_time_before_scale_down"}:
        return _CLUSTER
    return ""


def read(kind: str, body: Mapping[str, Any], path: str, reading: Reading, folder: str) -> Found:
    """`folder`: in which the file is, for what it names by a relative path."""
    reader = BodyReader(body, path, reading)
    reader.skip("$schema", "type")
    found = READERS[kind](reader, folder)
    reader.rest()
    return found


# Endpoints


def _endpoint(of: BodyReader, folder: str) -> Found:
    name = of.text("name") or "model"
    part = PartInFile("ml_endpoints", name, take("ML YAML endpoint", of), of.at())
    found: Found = [part]
    listed = of.items("deployments") if isinstance(of.raw("deployments"), list) else []
    for deployment in listed:
        found += _deployment(deployment, folder, name)
    return found


def _deployment(of: BodyReader, folder: str, endpoint: str = "") -> Found:
    name = of.text("name") or "blue"
    endpoint = endpoint or of.text("endpoint_name") or "model"
    extra: Found = []
    part = PartInFile("ml_endpoints", endpoint, {}, of.at())
    scale = of.inside("scale_settings")
    kinds = {"default": False, "target_utilization": True}
    scaled = scale.choice("type", kinds) or scale.choice("scale_type", kinds)
    low, high = scale.whole("min_instances"), scale.whole("max_instances")
    percent = scale.whole("target_utilization_percentage")
    instances = of.whole("instance_count") or scale.whole("instance_count")
    why = "likely a secret, and whoever reads a deployment reads its variables"
    settings = take(
        "ML YAML deployment",
        of,
        model=_asset_of(of, "model", _model_part, extra, f"{endpoint}-{name}", folder),
        environment=_asset_of(of, "environment", _environment_part, extra, f"{endpoint}-{name}", folder),
        instances=instances,
        autoscale=given(min=low, max=high, utilization_percent=percent) if scaled else None,
        environment_variables=variables(of, "environment_variables", why, "let the program fetch it from a key vault"),
    )
    if not scaled and (low is not None or high is not None):
        scale.leave("min_instances" if low is not None else "max_instances", "these count only with type: target_utilization")
    if "code_configuration" in of:
        code = of.inside("code_configuration")
        local = code.inside("code").text("local_path") if isinstance(code.raw("code"), dict) else code.text("code")
        script = code.text("scoring_script") or "score.py"
        fix = "upload the folder to a blob container, set ml_workspace.code.<name> to its version and uri, and "
        code.leave(
            "code", f"{script} in {local or 'a local folder'}: code is a version in the workspace", f"{fix}code of the deployment"
        )
    resources = of.inside("resources")
    limits, asked = resources.inside("limits"), resources.inside("requests")
    if "resources" in of:
        extra += _instance_type(of, name, settings, limits, asked, endpoint)
    part.settings = {"deployments": {name: settings}}
    part.written[f"deployments.{name}.instance_type"] = of.at("instance_type")
    return [*extra, part]


def _instance_type(
    of: BodyReader, name: str, settings: dict[str, Any], limits: BodyReader, requests: BodyReader, endpoint: str
) -> list[PartInFile]:
    """On Kubernetes: the resources of a pod, which an instance type of the compute has here. The compute is the endpoint's, which
    may be in another file, so that its name is filled in later: it is under "", and `written` has the endpoint."""
    cpu = limits.text("cpu") or requests.text("cpu")
    memory = limits.text("memory") or requests.text("memory")
    counts = [(one, key) for one in (limits, requests) for key in one.names() if key == "nvidia.com/gpu"]
    gpus = next((count for one, key in counts if (count := one.whole(key)) is not None), None)
    requests.default("cpu", cpu, message="an instance type here has one number, that of its limits")
    requests.default("memory", memory, message="an instance type here has one number, that of its limits")
    if not (cpu or memory or gpus):
        return []
    instance = given(cpu=cpu, memory=memory, gpus=gpus)
    if "instance_type" in settings:
        listed = ", ".join(f"{key} {value}" for key, value in instance.items())
        fix = "set them in the instance type of the compute"
        of.leave("resources", f"{listed}: the instance type decides what a pod gets", fix)
        return []
    settings["instance_type"] = name
    types = {"": {"instance_types": {name: instance}}}
    return [PartInFile("ml_workspace", "computes", types, of.at("resources"), {"endpoint": endpoint})]


def _asset_of(
    of: BodyReader, key: str, part_of: Callable[[BodyReader, str, str], PartInFile], extra: Found, name: str, folder: str
) -> str | None:
    """A model or environment that is named, or written in place. `name`: of one that the file doesn't name."""
    if not isinstance(of.raw(key), dict):
        return asset(of, key)
    inner = of.inside(key)
    name = inner.text("name") or name
    extra.append(part_of(inner, name, folder))
    return name


def _model_part(of: BodyReader, name: str, folder: str) -> PartInFile:
    version = of.text("version") or "1"
    path = of.text("path") or of.text("local_path") or of.text("model_uri") or ""
    remote = path.startswith(("azureml://", "https://"))
    stored = None if remote else f"{name}/{version}"
    settings = take("ML YAML model", of, version=version, uri=path if remote else None, path=stored)
    part = PartInFile("ml_workspace", "models", {name: settings}, of.at())
    if path and not remote:
        part.notes.append(f"{of.at()}: upload it with `python -m operations upload model {_beside(folder, path)}`")
    return part


def _environment_part(of: BodyReader, name: str, folder: str) -> PartInFile:
    docker = of.inside("docker")
    image = of.text("image") or docker.text("image")
    conda = of.text("conda_file") if not isinstance(of.raw("conda_file"), dict) else None
    if isinstance(of.raw("conda_file"), dict):
        of.leave("conda_file", "the conda file is written in place", "put it into a file, and set conda_file to its path")
    routes, inference = {}, of.inside("inference_config")
    port = None
    for key in ("scoring", "liveness", "readiness"):
        route = inference.inside(f"{key}_route")
        own = route.whole("port")
        if port is not None and own not in (None, port):
            route.leave("port", f"{own}: the routes of an environment have one port, here {port}")
        port = port or own
        routes[key] = route.text("path")
    settings = take(
        "ML YAML environment",
        of,
        version=of.text("version") or "1",
        image=image,
        conda_file=_beside(folder, conda) if conda else None,
        routes=given(port=port, **routes),
    )
    return PartInFile("ml_workspace", "environments", {name: settings}, of.at())


def _beside(folder: str, path: str) -> str:
    """A path that the file names, from where the command runs. An absolute one stays, and so does one that leads upwards."""
    return posixpath.normpath(posixpath.join(folder, path.removeprefix("file://").removeprefix("file:")))


# Computes


def _has_gpu(of: BodyReader, what: str, fix: str) -> bool:
    """Whether its size has GPUs, or isn't given; reports another."""
    size = of.text("size")
    if size is None or is_gpu_size(size):
        return True
    of.skip(*of.names())
    of.leave("size", f"{size} has no GPU: {what} of a stack have", fix)
    return False


def _cluster(of: BodyReader, _folder: str) -> Found:
    name = of.text("name") or "gpu"
    if not _has_gpu(of, "computes", "set size to one with a GPU, or create it with `az ml compute`"):
        return []
    network = of.inside("network_settings")
    subnet = network.text("subnet")
    if subnet is not None and not subnet.startswith("/"):
        network.leave("subnet", f"{subnet} is a name", "set subnet_id to the subnet's ARM id")
        subnet = None
    settings = {name: take("ML YAML cluster", of, subnet_id=subnet)}
    return [PartInFile("ml_workspace", "computes", settings, of.at(), {f"{name}.size": of.at("size")})]


def _instance(of: BodyReader, _folder: str) -> Found:
    """A workstation: a virtual machine here."""
    name = of.text("name") or "workstation"
    if not _has_gpu(of, "machines", "create it with `az ml compute`"):
        return []
    part = PartInFile("vms", name, take("ML YAML instance", of, image="dsvm"), of.at(), {"size": of.at("size")})
    part.notes.append(f"{of.at()}: a compute instance is a virtual machine here; its notebooks and user aren't taken")
    return [part]


def _kubernetes(of: BodyReader, _folder: str) -> Found:
    name = of.text("name") or "kubernetes"
    resource = of.text("resource_id") or ""
    cluster = resource.rstrip("/").rsplit("/", 1)[-1] or name
    compute = PartInFile("ml_workspace", "computes", {}, of.at())
    compute.settings = {name: given(cluster=cluster, namespace=of.text("namespace"), description=of.text("description"))}
    of.leave_given("identity", "the extension uses the cluster's identity")
    if "/connectedclusters/" in resource.lower():
        of.leave(
            "resource_id",
            f"{cluster} is a cluster of Azure Arc: a compute here attaches a cluster of AKS",
            "see edges for jobs on it",
        )
        return []
    if not resource:
        compute.notes.append(f"{of.at()}: set clusters.{cluster} to existing: <the cluster's ARM id>")
        return [compute]
    return [PartInFile("clusters", cluster, {"existing": resource}, of.at("resource_id")), compute]


def _machine(of: BodyReader, _folder: str) -> Found:
    name = (of.text("resource_id") or of.text("name") or "machine").rstrip("/").rsplit("/", 1)[-1]
    of.leave(
        "resource_id",
        f"{name} is attached by SSH, and the file doesn't contain its size",
        "declare it under vms, and set ml_workspace.computes.<name> to vm: <its name>",
    )
    take("ML YAML machine", of, told={"name": name})
    return []


# Jobs


def _job(of: BodyReader, folder: str) -> Found:
    parts: Found = []
    inputs, files, missing = _inputs(of, folder)
    command = of.text("command", free=True) or ""
    command = _OPTIONAL.sub(lambda part: "" if missing.intersection(_named_in(part[1])) else part[1], command)
    for name, value in inputs.items():
        if value and name not in _named_in(command):
            of.inside("inputs").leave(name, "the command doesn't name it, and it isn't passed")
    filled = _INPUT.sub(lambda found: inputs.get(found[2], found[2]) if found[1] == "inputs" else found[2], command).strip()
    if holds_secret(filled):
        of.leave("command", "the command contains a secret, which isn't copied")
        filled = ""
    target, notes = _target(of, folder)
    words = [target, "--on", "cluster", *_machines(of, parts)]
    why = "likely a secret, which isn't copied: all readers of the workspace see a job's variables"
    plain = variables(of, "environment_variables", why, "let the program fetch it with the cluster's identity")
    for name, value in plain.items():
        words += ["--env", f"{name}={value}"]
    for path, name in files:
        words += ["--input", f"{path}={name}"]
    limits = of.inside("limits")
    if seconds := limits.whole("timeout"):
        words += ["--timeout", f"{seconds / 60:g}"]
    _distribution(of.inside("distribution"))
    take("ML YAML job", of)
    after = ["--", "sh", "-c", filled]
    return [*parts, Command((*words, "--stack", "STACK", *after), tuple(notes))] if filled else parts


def _named_in(command: str) -> set[str]:
    return {name for kind, name in _INPUT.findall(command) if kind == "inputs"}


def _target(of: BodyReader, folder: str) -> tuple[str, list[str]]:
    """What is run: the folder of the code with a Dockerfile, or without code the image. And notes on what is to be done."""
    image, notes = _image(of)
    code = of.text("code")
    if code is None:
        return image or "IMAGE", notes
    if re.match(r"(?:azureml|https?|git\+|git@|wasbs?|abfss?)", code):
        of.leave(
            "code", f"{code}: the code isn't on this machine, and isn't sent", "clone or download it, and set code to its folder"
        )
        return image or "IMAGE", notes
    target = _beside(folder, code)
    target = target if target.startswith((".", "/")) else f"./{target}"
    why = f"all of {target} is sent, as an image that the stack's registry builds"
    notes.append(f"{of.at('code')}: {why}: write {target.rstrip('/')}/Dockerfile, if there is none, such as")
    notes += [
        f"  {line}" for line in (f"FROM {image or 'IMAGE'}", "WORKDIR /code", "COPY . .", "RUN pip install -r requirements.txt")
    ]
    return target, notes


def _image(of: BodyReader) -> tuple[str | None, list[str]]:
    """The image of the job's environment."""
    if not isinstance(of.raw("environment"), dict):
        name = of.text("environment")
        return None, [f"{of.at('environment')}: IMAGE: {name} is in the workspace; write the image that it has"] if name else []
    environment = of.inside("environment")
    conda = environment.text("conda_file") if not isinstance(environment.raw("conda_file"), dict) else None
    take("ML YAML job environment", environment, told={"conda": conda or "the packages"})
    return environment.text("image"), []


def _machines(of: BodyReader, parts: Found) -> list[str]:
    """Options for the machines. A size that a job brings itself becomes a compute."""
    compute = asset(of, "compute")
    resources = of.inside("resources")
    nodes, size = resources.whole("instance_count"), resources.text("instance_type")
    if size is not None and is_gpu_size(size):
        compute = compute or "gpu"
        settings = {compute: given(size=size, max_nodes=nodes or 1)}
        at = resources.at("instance_type")
        parts.append(PartInFile("ml_workspace", "computes", settings, at, {f"{compute}.size": at}))
    elif size is not None:
        resources.leave("instance_type", f"{size}: the compute decides which machine runs the job")
    if compute == "local":
        of.leave("compute", "local is this machine", "run it with --on local")
    words = ["--compute", posixpath.basename(compute)] if compute and compute != "local" else []
    return words + (["--nodes", str(nodes)] if nodes and nodes > 1 else [])


def _distribution(of: BodyReader) -> None:
    """Processes on several nodes, which a run leaves to the command."""
    key = "process_count_per_instance"
    of.leave_given("process_count_per_node", f"Azure ML has no such key: it is {key}", "start the processes in the command")
    processes = of.whole(key) or of.whole("worker_count")
    if kind := of.text("type"):
        message = f"{kind} with {processes or 1} processes: a run starts the command once on each node"
        of.leave("type", message, "start the processes in the command, such as by torchrun")


def _inputs(of: BodyReader, folder: str) -> tuple[dict[str, str], list[tuple[str, str]], set[str]]:
    """Each value as it stands in the command, files of this machine with the names that the program gets, and inputs without
    either."""
    listed = of.inside("inputs")
    values: dict[str, str] = {}
    missing: set[str] = set()
    files: list[tuple[str, str]] = []
    for name in listed.names():
        raw = listed.raw(name)
        if isinstance(raw, _LITERALS):
            values[name] = listed.text(name, free=True) or ""
            continue
        one = listed.inside(name)
        path = one.text("path") or one.text("file") or one.text("folder")
        if path and ":" not in path:
            files.append((_beside(folder, path), name))
        elif path:
            one.leave(
                "path",
                f"{path}: a run takes files of this machine, or the program fetches it",
                "download it, and add --input PATH",
            )
        elif "default" in one:
            values[name] = one.text("default") or ""
            one.default("type", "integer", "number", "string", "boolean", message="an input without a value")
            one.leave_given("description", "an input of a run has no description")
        else:
            missing.add(name)
            one.skip(*one.names())
            listed.leave(name, "an input without a value", "write it into the command below")
        if path:
            one.default("type", "uri_file", "uri_folder", message="a file or folder is sent as it is")
            one.default("mode", "download", "ro_mount", message="files are copied to the run")
    return values, files, missing


READERS: Mapping[str, Callable[[BodyReader, str], Found]] = {
    _ENDPOINT: _endpoint,
    "kubernetesonlineendpoint": _endpoint,
    _DEPLOYMENT: _deployment,
    "kubernetesonlinedeployment": _deployment,
    _CLUSTER: _cluster,
    "computeinstance": _instance,
    "kubernetescompute": _kubernetes,
    "vmcompute": _machine,
    _JOB: _job,
    "commandcomponent": _job,
    "environment": lambda of, folder: [_environment_part(of, of.text("name") or "environment", folder)],
    "model": lambda of, folder: [_model_part(of, of.text("name") or "model", folder)],
}
