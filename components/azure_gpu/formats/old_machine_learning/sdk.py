"""Reads a script for version 1 of the SDK, without running it: the clusters, models and web services that it creates.

Names are followed to constants and to the SDK's own configurations. What is wrong in the script itself is a warning."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from azure_gpu.catalog import spelling
from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.services.machine_learning.old_settings import AKS_COMPUTE, AKS_SERVICE, INFERENCE, OldSetting
from azure_gpu.catalog.sources import INFERENCE_ARTICLE
from azure_gpu.formats.likely_secrets import holds_secret
from azure_gpu.formats.old_machine_learning.project import Cluster, Model, Service, Setting

DEFAULT_NODES = 3  # azureml-core 1.61.0, AksCompute.provisioning_configuration
DEFAULT_SIZE = "Standard_D3_v2"  # the same
_KEYS = ("primary_key", "secondary_key", "ssl_key_pem_file")
_MOST = 1e9
_MOST_NODES = 1000
_DEPLOYMENT = "AksWebservice.deploy_configuration"
_INFERENCE = "InferenceConfig"
_PROVISIONING = "AksCompute.provisioning_configuration"
_ATTACHING = "AksCompute.attach_configuration"
_POSITIONS = {  # the arguments that the SDK takes by position, in its order
    _INFERENCE: ("entry_script", "runtime", "conda_file"),
    "ComputeTarget.create": ("workspace", "name", "provisioning_configuration"),
    "ComputeTarget.attach": ("workspace", "name", "attach_configuration"),
    "AksCompute": ("workspace", "name"),
    "Model": ("workspace", "name", "id", "tags", "properties", "version"),
    "Model.register": ("workspace", "model_path", "model_name"),
    "Model.deploy": ("workspace", "name", "models", "inference_config", "deployment_config", "deployment_target"),
}
_MISTAKES = {"gpu_enabled": "enable_gpu"}  # as the article writes an argument, and as the SDK has it


class _Call(NamedTuple):
    """One of the SDK's calls, with its arguments by name."""

    name: str
    arguments: Mapping[str, Any]
    nodes: Mapping[str, ast.expr]
    at: str


class Script:
    """What scripts make, gathered over all of their pieces."""

    def __init__(self) -> None:
        self.clusters: list[Cluster] = []
        self.services: list[Service] = []
        self.models: list[Model] = []
        self.problems: list[Problem] = []
        self._names: dict[str, Any] = {}

    def take(self, tree: ast.Module, file: str) -> None:
        """Reads one piece. What earlier ones bind is known in it."""
        for statement in tree.body:
            self._names |= {name.id: None for name in _bound(statement) if name.id not in self._names}
            for node in ast.walk(statement):
                if isinstance(node, ast.Call):
                    self._call(node, file)
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
                self._names[statement.targets[0].id] = self._value(statement.value, file)

    def _call(self, node: ast.Call, file: str) -> None:
        at = f"{file}:{node.lineno}"
        if isinstance(node.func, ast.Call) and _last(node.func.func) in ("get_key", "get_keys"):
            message = "this calls what get_key() answers; version 1 of the SDK has get_keys(), and it answers a list of two"
            fix = "write get_keys()[0]; today `operations query` fetches the key itself"
            self._warn(at, message, f"{_dotted(node.func.func)}()(…)", fix)
        known = self._known(node, file)
        if known is None:
            return
        if known.name == "Model.deploy":
            self._deploy(known)
        elif known.name in ("ComputeTarget.create", "ComputeTarget.attach"):
            self._compute(known)
        elif known.name == "Model.register":
            self.models.append(self._model(known, "model_name", str(known.arguments.get("model_path") or "")))

    def _known(self, node: ast.Call, file: str) -> _Call | None:
        """The call with its arguments by name, where it is one of the SDK's."""
        name = _dotted(node.func)
        name = next((one for one in (_DEPLOYMENT, _PROVISIONING, _ATTACHING, *_POSITIONS) if name.endswith(one)), "")
        if not name or any(isinstance(argument, ast.Starred) for argument in node.args):
            return None
        nodes = dict(zip(_POSITIONS.get(name, ()), node.args, strict=False))
        nodes |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        arguments = {argument: self._value(value, file) for argument, value in nodes.items()}
        return _Call(name, arguments, nodes, f"{file}:{node.lineno}")

    def _value(self, node: ast.expr, file: str) -> Any:
        """A constant, a list, one of the SDK's calls; None for all else."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.List | ast.Tuple):
            return [self._value(element, file) for element in node.elts]
        if isinstance(node, ast.Name):
            return self._names.get(node.id)
        if isinstance(node, ast.Call) and (call := self._known(node, file)):
            return call
        return None

    def _compute(self, call: _Call) -> None:
        name = _text(call.arguments.get("name"))
        making = call.arguments.get("provisioning_configuration") or call.arguments.get("attach_configuration")
        if not isinstance(making, _Call) or making.name not in (_PROVISIONING, _ATTACHING):
            return
        arguments = making.arguments
        existing = _text(arguments.get("resource_id")) or _text(arguments.get("cluster_name"))
        self.clusters.append(
            Cluster(
                at=making.at,
                name=name,
                size=_text(arguments.get("vm_size")) or DEFAULT_SIZE,
                nodes=arguments["agent_count"] if arguments.get("agent_count") in range(1, _MOST_NODES + 1) else DEFAULT_NODES,
                existing=existing or ("?" if making.name == _ATTACHING else ""),
                settings=tuple(_settings(making, AKS_COMPUTE)),
            )
        )

    def _deploy(self, call: _Call) -> None:
        deployment = self._configuration(call, "deployment_config", _DEPLOYMENT)
        inference = self._configuration(call, "inference_config", _INFERENCE)
        target = call.arguments.get("deployment_target")
        models = call.arguments.get("models")
        listed = cast(list[Any], models) if isinstance(models, list) else []
        settings = [*_settings(deployment, AKS_SERVICE), *_settings(inference, INFERENCE)]
        for wrong, right in _MISTAKES.items():
            if inference and wrong in inference.arguments:
                message = f"version 1 of the SDK calls this argument {right}, and refuses {wrong}"
                self._warn(f"{inference.at}: {wrong}", message, wrong, f"write {right}")
        self.services.append(
            Service(
                at=call.at,
                name=_text(call.arguments.get("name")),
                cluster=_text(target.arguments.get("name")) if isinstance(target, _Call) else "",
                models=tuple(self._model(one, "name", "") for one in listed if isinstance(one, _Call)),
                deployment=_plain(deployment),
                inference=_plain(inference),
                settings=tuple(settings),
            )
        )

    def _configuration(self, call: _Call, argument: str, wanted: str) -> _Call | None:
        """The configuration that a deployment is given; where it names one that isn't there, the only one that is."""
        value, written = call.arguments.get(argument), call.nodes.get(argument)
        if isinstance(value, _Call) and value.name == wanted:
            return value
        there = {name: one for name, one in self._names.items() if isinstance(one, _Call) and one.name == wanted}
        if not there or not isinstance(written, ast.Name) or written.id in self._names:
            return None
        near = spelling.nearest(written.id, there, 1) or (tuple(there) if len(there) == 1 else ())
        if not near:
            return None
        message = f"nothing in the script is called {written.id}; {near[0]} is what it makes, and is taken"
        self._warn(f"{call.at}: {argument}", message, written.id, f"write {argument}={near[0]}")
        return there[near[0]]

    def _model(self, call: _Call, argument: str, path: str) -> Model:
        version = call.arguments.get("version")
        return Model(call.at, _text(call.arguments.get(argument)), _word(version), path)

    def _warn(self, at: str, message: str, value: str, fix: str) -> None:
        source = str(INFERENCE_ARTICLE)
        self.problems.append(Problem(at, message, value, fix=fix, source=source, severity=Severity.WARNING))


def _bound(statement: ast.stmt) -> Iterator[ast.Name]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node


def _settings(call: _Call | None, table: Mapping[str, OldSetting]) -> Iterator[Setting]:
    """The arguments that the table has, each where it is written. Keys are never shown."""
    if call is None:
        return
    for written, value in call.arguments.items():
        name = _MISTAKES.get(written, written)
        if name in table:
            yield Setting(f"{call.at}: {name}", name, "" if name in _KEYS else _word(value), table[name])


def _plain(call: _Call | None) -> dict[str, Any]:
    """The arguments that are constants, and no keys."""
    arguments: Mapping[str, Any] = call.arguments if call else {}
    return {_MISTAKES.get(name, name): value for name, value in arguments.items() if name not in _KEYS and _word(value)}


def _dotted(node: ast.expr) -> str:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([*([node.id] if isinstance(node, ast.Name) else []), *reversed(names)])


def _last(node: ast.expr) -> str:
    return _dotted(node).rpartition(".")[2]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _word(value: Any) -> str:
    """A constant as a person would write it; "" for all else, for what may be a secret, and for numbers that mean nothing."""
    if isinstance(value, int | float) and not abs(value) <= _MOST:
        return ""
    return str(value) if isinstance(value, str | int | float) and not holds_secret(str(value)) else ""


def scripts(trees: Iterable[tuple[ast.Module, str]]) -> Script:
    """All pieces, each a tree and its file, in their order."""
    script = Script()
    for tree, file in trees:
        script.take(tree, file)
    return script
