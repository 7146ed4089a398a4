"""The files of two of Microsoft's pages on GPUs in Azure Machine Learning, of 2017 (Workbench) and 2019 (version 1 of the SDK).

What the pages call becomes one document of the calls and their arguments, each with its line, which is read as any other: what
isn't taken is reported. A password is never read.
"""

import re
from pathlib import PurePath
from typing import Any, cast

from azure_gpu.formats import located_yaml
from azure_gpu.formats.body_keys import take
from azure_gpu.formats.body_reader import BodyReader, PartInFile, Reading, mapping
from azure_gpu.formats.document import Document
from azure_gpu.formats.likely_secrets import is_secret_name
from azure_gpu.formats.ml_yaml import Command, Found

KEY = "retired"  # of the document's value, by which it is known
PROPOSED_SIZE = "Standard_NC4as_T4_v3"
_AZ = re.compile(r"^[^\n|]*\baz ml (?P<call>computetarget attach|experiment submit)[ \t]+(?P<rest>[^\n]*)", re.MULTILINE)
_CALLS = re.compile(
    r"\b(?P<call>AksCompute\.provisioning_configuration|AksWebservice\.deploy_configuration|InferenceConfig|Model(?:\.deploy)?)"
    r"\((?P<rest>[^()]*)\)"
)
_OPTION = re.compile(r"--?(\w+)[ =]+(\"[^\"]*\"|[^\s\"]+)")
_ARGUMENT = re.compile(r"(\w+)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s,]+)|(\"[^\"]*\"|'[^']*')")
_LINE = re.compile(r"^\"?(baseDockerImage|nvidiaDocker|Framework)\"?:[ \t]*(\S+)", re.MULTILINE)
_NAMED = re.compile(r"^[ \t]*(aks(?:_service)?_name)[ \t]*=[ \t]*[\"']([^\"'\n]+)[\"']", re.MULTILINE)
_SCORING = re.compile(r"^def init\(.*^def run\(", re.MULTILINE | re.DOTALL)


def document_of(text: str, file: str) -> Document | None:
    """The calls of a script or page, or one of Workbench's two files; None if it has neither."""
    suffix = PurePath(file).suffix.lower()
    if suffix in (".compute", ".runconfig"):
        document, _ = located_yaml.read(text, file)
        if document is None or not mapping(document.value):
            return None
        lines = {f"{suffix[1:]}{'' if path[:1] == '[' else '.'}{path}": line for path, line in document.lines.items()}
        return Document(file, {KEY: True, suffix[1:]: mapping(document.value)}, lines)
    calls: dict[str, Any] = {}
    lines: dict[str, int] = {}

    def put(call: str, name: str, value: str, at: int) -> None:
        calls.setdefault(call, {})[name] = value.strip("\"'")
        lines.setdefault(call, text.count("\n", 0, at) + 1)
        lines[f"{call}.{name}"] = text.count("\n", 0, at) + 1

    for found in _AZ.finditer(text):
        call, rest = found["call"].replace(" ", "-"), found["rest"]
        call = f"{call}-{'local' if '-c local' in rest else 'machine'}" if "submit" in call else call
        for option in _OPTION.finditer(rest):
            put(call, option[1], option[2], found.start())
        if "submit" in call:
            put(call, "script", rest.split()[-1], found.start())
    for found in _CALLS.finditer(text):
        for argument in _ARGUMENT.finditer(found["rest"]):
            name, value = (argument[1], argument[2]) if argument[1] else ("name", argument[3])
            put(found["call"].replace(".", "-"), name, value, found.start("rest") + argument.start())
    for found in _LINE.finditer(text) if calls else ():
        put("runconfig" if found[1] == "Framework" else "compute", found[1], found[2], found.start())
    for found in _NAMED.finditer(text) if calls else ():
        put("names", found[1], found[2], found.start())
    if _SCORING.search(text):
        put("score", "init", "run", 0)
    return Document(file, {KEY: True, **calls}, lines) if calls else None


def read(body: dict[str, Any], reading: Reading) -> Found:
    of = BodyReader({name: value for name, value in body.items() if name != KEY}, "", reading)
    found: Found = []
    if "compute" in of or "computetarget-attach" in of:
        found += _machine(of)
    if "runconfig" in of or "experiment-submit-local" in of or "experiment-submit-machine" in of:
        found += _runs(of)
    if "AksCompute-provisioning_configuration" in of or "AksWebservice-deploy_configuration" in of:
        found += _service(of)
    of.leave_given("score", "a scoring script: the workload scoring answers as it did", "see examples/documents")
    of.rest("it went with the tool; see examples/documents/machine-learning.md")
    return found


def _machine(of: BodyReader) -> list[PartInFile]:
    """A machine that was attached by SSH: one of the stack, attached to the workspace."""
    attached, compute = of.inside("computetarget-attach"), of.inside("compute")
    name = attached.text("name") or PurePath(of.reading.document.file).stem
    for one in (attached, compute):
        take("retired target", one)
    machine = PartInFile("vms", name, {"size": PROPOSED_SIZE, "image": "dsvm"}, of.at("compute"))
    machine.notes.append(f"{machine.at}: the file doesn't contain the machine's size; {PROPOSED_SIZE} is a proposal, with one T4")
    key = name.lower().replace("_", "-")
    return [machine, PartInFile("ml_workspace", "computes", {key: {"vm": key}}, machine.at, secrets=[f"{key}.private_key"])]


def _runs(of: BodyReader) -> list[Command]:
    run = of.inside("runconfig")
    if (run.text("Framework") or "PySpark").lower() != "python":
        run.change("Framework", "the script was started with Spark, or not named so; here it is Python")
    variables = run.inside("EnvironmentVariables")
    words: list[str] = []
    for name in variables.names():
        secret = is_secret_name(name)
        words += ["--secret-env", name] if secret else ["--env", f"{name}={variables.text(name, free=True) or ''}"]
        if secret:
            variables.leave(name, "likely a secret, which isn't copied", "set the variable before the run")
    words_of = run.raw("ArgumentVector")
    vector = [str(word) for word in cast(list[Any], words_of)] if isinstance(words_of, list) else []
    commands: list[Command] = []
    for where in ("local", "machine"):
        submitted = of.inside(f"experiment-submit-{where}")
        _on_machine(submitted, "c")
        script = submitted.text("script") or (vector[0] if vector and where == "machine" else None)
        if script is not None:
            script = "SCRIPT" if script == "$file" else script  # that of the command line
            after = ["--", *vector[1:]] if len(vector) > 1 and where == "machine" else []
            on = ["--on", "local" if where == "local" else "vm"]
            commands.append(Command((f"./{script}", *on, *words, "--stack", "STACK", *after), ()))
    run.leave_given("CondaDependenciesFile", "a run installs requirements", "write requirements.txt, and add --requirements")
    _on_machine(run, "Target")
    return commands


def _on_machine(of: BodyReader, key: str) -> None:
    if (name := of.text(key)) not in (None, "local"):
        of.change(key, f"{name}: runs are on the stack's only machine, and --vm chooses among several")


def _service(of: BodyReader) -> list[PartInFile]:
    """A web service on a cluster with GPUs."""
    names = of.inside("names")
    cluster, name = names.text("aks_name") or "gpu", names.text("aks_service_name") or "model"
    size = of.inside("AksCompute-provisioning_configuration")
    service = of.inside("AksWebservice-deploy_configuration")
    model = of.inside("Model").text("name") or "model"
    replicas = service.whole("num_replicas") or 1
    pool = {
        "size": size.text("vm_size") or PROPOSED_SIZE,
        "max_nodes": replicas,
        "taints": ["ml.azure.com/amlarc=true:NoSchedule"],
    }
    instance = {"cpu": service.text("cpu_cores") or "1", "memory": f"{service.whole('memory_gb') or 4}000M", "gpus": 1}
    service.default("autoscale_enabled", False, message="an endpoint on a cluster has a number of instances")
    inference = of.inside("InferenceConfig")
    inference.leave_given("entry_script", "the workload scoring answers as the page's script did")
    deployment = {"model": model, "environment": "scoring", "instance_type": "gpu", "instances": replicas}
    written = {"gpu_pools.gpu.size": size.at("vm_size")}
    compute = {"cluster": cluster, "instance_types": {"gpu": instance}, "extension": {"insecure": True}}
    settings = {"compute": cluster, "auth": "key", "deployments": {"blue": deployment}, "traffic": {"blue": 100}}
    at = service.at()
    models = PartInFile("ml_workspace", "models", {model: {"version": "1", "path": f"{model}/1"}}, at)
    models.notes.append(f"{of.at('Model')}: upload it with `python -m operations upload model FOLDER`")
    return [
        PartInFile("clusters", cluster, {"gpu_pools": {"gpu": pool}, "access": {"local_accounts": True}}, size.at(), written),
        PartInFile("ml_workspace", "computes", {cluster: compute}, at),
        models,
        PartInFile("ml_workspace", "environments", {"scoring": {"workload": "scoring"}}, at),
        PartInFile("ml_endpoints", name, settings, at),
    ]
