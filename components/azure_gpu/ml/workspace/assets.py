"""Versions of models, environments and code in a workspace: their defaults and their validation.

`read_conda` adds the content of conda files. Whether a model exists at its path is left to the service: nothing here accesses a
storage account.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from azure_gpu.catalog import names
from azure_gpu.catalog.container_cuda import image_cuda
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.machine_learning import deployments, packages
from azure_gpu.formats import azure_types, conda_file
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.formats.conda_file import CondaFileError
from azure_gpu.formats.likely_secrets import check_login
from azure_gpu.ml.dependencies import AssetOfEndpoint
from azure_gpu.ml.workspace.args import CodeArgs, EnvironmentArgs, MlWorkspaceSettings, ModelArgs, RoutesArgs
from azure_gpu.shared.context import check_tags
from azure_gpu.shared.installation import COMMAND
from azure_gpu.shared.workloads import Workload, image_problems

PROJECT = Path()  # paths in a stack file are relative to the project's folder, in which the engine runs the program
SERVES = ("scoring", "digits")  # workloads whose image has a server
WITHOUT_MODEL = ("scoring",)  # those without a model in their image
MODEL_TYPES = {"custom": "custom_model", "triton": "triton_model", "mlflow": "mlflow_model"}
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}")
_URI = re.compile(r"(?:azureml|https)://\S+")
_CODE_URI = re.compile(r"https://\S+")
_WITHOUT_LOGIN = {
    "allowed": "an address that the workspace reads by its identity",
    "fix": "give the identity Storage Blob Data Reader on the account",
}
_PATH = re.compile(r"[^/\\?#*\x00-\x1f][^\\?#*\x00-\x1f]*")


class Routes(NamedTuple):
    """Resolved `RoutesArgs`."""

    port: int
    scoring: str
    liveness: str
    readiness: str


_Settings = TypeVar("_Settings", ModelArgs, EnvironmentArgs, CodeArgs)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetSpec(Generic[_Settings]):
    """A version of a model, of an environment or of code, with its place. Of code it is all."""

    path: str  # of its settings
    name: str  # in the workspace
    settings: _Settings

    @property
    def version(self) -> str:
        """Empty: the tag of the workload's image."""
        return str(self.settings.get("version", ""))

    @property
    def offered(self) -> AssetOfEndpoint:
        """What endpoints see of it."""
        return AssetOfEndpoint(id="", type="", gpu=False, serves=False, needs_model=False)


CodeSpec: TypeAlias = AssetSpec[CodeArgs]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec(AssetSpec[ModelArgs]):
    """A model."""

    @property
    def stored(self) -> str:
        """Its path in the container of models; empty: it is at its `uri`."""
        return self.settings.get("path", "").strip("/")

    @property
    def offered(self) -> AssetOfEndpoint:
        kind = self.settings.get("type", "custom")
        return AssetOfEndpoint(id="", type=kind, gpu=False, serves=False, needs_model=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSpec(AssetSpec[EnvironmentArgs]):
    """An environment."""

    workload: Workload | None
    conda: str  # the text of the conda file; empty before it is read
    routes: Routes | None
    gpu: bool

    @property
    def offered(self) -> AssetOfEndpoint:
        serves, needs_model = self.routes is not None, self.workload in WITHOUT_MODEL
        return AssetOfEndpoint(id="", type="", gpu=self.gpu, serves=serves, needs_model=needs_model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assets:
    """All assets, by their names in the stack file."""

    models: dict[str, ModelSpec]
    environments: dict[str, EnvironmentSpec]
    code: dict[str, CodeSpec]

    @property
    def stores_models(self) -> bool:
        """Whether a model is in the stack's own container."""
        return any(model.stored for model in self.models.values())


def resolve(settings: MlWorkspaceSettings, path: str) -> tuple[Assets, list[Problem]]:
    """Resolves the assets, with their problems. Pure: conda files aren't read."""
    models = {
        name: ModelSpec(path=f"{path}.models.{name}", name=each.get("model_name", name), settings=each)
        for name, each in settings.get("models", {}).items()
    }
    environments = {
        name: _environment(name, each, f"{path}.environments.{name}") for name, each in settings.get("environments", {}).items()
    }
    code = {
        name: AssetSpec(path=f"{path}.code.{name}", name=each.get("code_name", name), settings=each)
        for name, each in settings.get("code", {}).items()
    }
    problems = [
        *(problem for spec in models.values() for problem in _model_problems(spec)),
        *(problem for spec in environments.values() for problem in _environment_problems(spec)),
        *(problem for spec in code.values() for problem in _code_problems(spec)),
        *_duplicates("model", models.values()),
        *_duplicates("environment", environments.values()),
        *_duplicates("code", code.values()),
    ]
    return Assets(models=models, environments=environments, code=code), problems


def workloads(settings: MlWorkspaceSettings) -> set[Workload]:
    """The workloads that the registry has to build for the environments."""
    return {each["workload"] for each in settings.get("environments", {}).values() if "workload" in each}


def _model_problems(spec: ModelSpec) -> Iterator[Problem]:
    settings, uri = spec.settings, spec.settings.get("uri", "")
    yield from _named(azure_types.ML_MODEL_CONTAINER, spec, "model_name")
    if ("path" in settings) == ("uri" in settings):
        upload = "set `path` to the folder that was uploaded, such as mnist/1"
        value, fix = ("path, uri", "remove one of them") if "path" in settings else (None, upload)
        yield refused("workspace.model_place", spec.path, value, fix=fix)
    if "path" in settings and _PATH.fullmatch(spec.stored) is None:
        yield refused("workspace.bad_model_path", f"{spec.path}.path", settings["path"], command=COMMAND)
    login = [*check_login(uri, f"{spec.path}.uri", **_WITHOUT_LOGIN)]
    yield from login
    if "uri" in settings and _URI.fullmatch(uri) is None and not login:
        yield refused("workspace.bad_model_uri", f"{spec.path}.uri", uri, command=COMMAND)
    elif uri.startswith("https://") and not login:
        yield refused("workspace.https_model", f"{spec.path}.uri", uri)
    yield from check_tags(settings.get("tags", {}), f"{spec.path}.tags")


def _environment(name: str, settings: EnvironmentArgs, path: str) -> EnvironmentSpec:
    workload = settings.get("workload")
    own = RoutesArgs() if workload in SERVES else None
    routes = settings.get("routes", own)
    image = settings.get("image", "")
    return EnvironmentSpec(
        path=path,
        name=settings.get("environment_name", name),
        settings=settings,
        workload=workload,
        conda="",
        routes=_routes(routes) if routes is not None else None,
        gpu=settings.get("gpu", isinstance(image, str) and image_cuda(image) is not None),
    )


def _routes(settings: RoutesArgs) -> Routes:
    return Routes(
        port=int(settings.get("port", deployments.PORT)),
        scoring=settings.get("scoring", deployments.SCORING_ROUTE),
        liveness=settings.get("liveness", deployments.LIVENESS_ROUTE),
        readiness=settings.get("readiness", deployments.LIVENESS_ROUTE),
    )


def _environment_problems(spec: EnvironmentSpec) -> Iterator[Problem]:
    settings = spec.settings
    yield from _named(azure_types.ML_ENVIRONMENT_CONTAINER, spec, "environment_name", needs_version=spec.workload is None)
    yield from image_problems(settings.get("image"), spec.workload, spec.path)
    if spec.workload is not None and settings.get("conda_file"):
        yield refused("workspace.conda_of_workload", f"{spec.path}.conda_file", settings.get("conda_file"))
    if spec.routes is not None:
        yield from _route_problems(spec.routes, f"{spec.path}.routes")
    yield from check_tags(settings.get("tags", {}), f"{spec.path}.tags")


def _route_problems(routes: Routes, path: str) -> Iterator[Problem]:
    if not 1 <= routes.port <= 65535:
        yield refused("workspace.bad_port", f"{path}.port", routes.port, usual=deployments.PORT)
    for key in ("scoring", "liveness", "readiness"):
        value = str(getattr(routes, key))
        if not value.startswith("/"):
            yield refused("workspace.bad_route", f"{path}.{key}", value)


def _code_problems(spec: CodeSpec) -> Iterator[Problem]:
    uri, path = spec.settings["uri"], f"{spec.path}.uri"
    yield from _named(azure_types.ML_CODE_CONTAINER, spec, "")
    login = [*check_login(uri, path, **_WITHOUT_LOGIN)]
    yield from login
    if _CODE_URI.fullmatch(uri) is None and not login:
        yield refused("workspace.bad_code_uri", path, uri)


def _named(azure_type: AzureType, spec: AssetSpec[Any], key: str, *, needs_version: bool = True) -> Iterator[Problem]:
    """Problems of its name and version. `key`: of the name, where that can be set."""
    path, version = spec.path, spec.version
    yield from names.check(azure_type.arm_type, spec.name, f"{path}.{key}" if key in spec.settings else path)
    if not version and needs_version:
        yield refused("workspace.no_version", f"{path}.version")
    elif version and _VERSION.fullmatch(version) is None:
        yield refused("workspace.bad_version", f"{path}.version", version)


def _duplicates(what: str, specs: Iterable[AssetSpec[Any]]) -> Iterator[Problem]:
    first: dict[tuple[str, str], str] = {}
    for spec in specs:
        taken = first.setdefault((spec.name.lower(), spec.version), spec.path)
        if taken != spec.path:
            yield refused("workspace.same_version", spec.path, f"{spec.name}:{spec.version}", what=what, taken=taken)


def read_conda(specs: Mapping[str, EnvironmentSpec], root: Path = PROJECT) -> tuple[dict[str, EnvironmentSpec], list[Problem]]:
    """The environments with the texts of their conda files, and the files' problems."""
    read: dict[str, EnvironmentSpec] = {}
    problems: list[Problem] = []
    for name, spec in specs.items():
        read[name] = spec
        file, path = spec.settings.get("conda_file", ""), f"{spec.path}.conda_file"
        if not file:
            continue
        try:
            text = (root / file).read_text(encoding="utf-8")
            found = conda_file.read(text)
        except CondaFileError as error:
            problems.append(refused("workspace.bad_conda_file", path, file, error=error))
            continue
        except (OSError, ValueError) as error:  # ValueError: not a text, or an invalid character in the name
            reason_without_errno = "not a text file" if isinstance(error, UnicodeDecodeError) else "not a valid file name"
            reason = error.strerror if isinstance(error, OSError) else reason_without_errno
            problems.append(refused("workspace.no_conda_file", path, file, reason=reason))
            continue
        requested = [each for each in found if each.name]
        gpu = spec.gpu if "gpu" in spec.settings else spec.gpu or packages.need_gpu(requested)
        read[name] = replace(spec, conda=text, gpu=gpu)
        if gpu:
            problems += packages.problems(requested, path)
    return read, problems
