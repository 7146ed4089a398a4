"""Versions of models, environments and code in a workspace: their defaults and their validation.

`read_conda` adds the content of conda files. Whether a model exists at its path is left to the service: nothing here accesses a
storage account.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog import names
from azure_gpu.catalog.container_cuda import image_cuda
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.machine_learning import deployments, packages
from azure_gpu.catalog.services.machine_learning.packages import Package
from azure_gpu.catalog.sources import observed
from azure_gpu.formats import azure_types, conda_file
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.formats.conda_file import CondaFileError
from azure_gpu.formats.likely_secrets import check_login
from azure_gpu.ml.workspace.args import CodeArgs, EnvironmentArgs, MlWorkspaceSettings, ModelArgs, RoutesArgs
from azure_gpu.shared.context import check_tags
from azure_gpu.shared.installation import COMMAND
from azure_gpu.shared.workloads import Workload, image_problems

PROJECT = Path()  # paths in a stack file are relative to the project's folder, in which the engine runs the program
SERVES = (Workload.SCORING, Workload.DIGITS)  # workloads whose image has a server
WITHOUT_MODEL = (Workload.SCORING,)  # those without a model in their image
MODEL_TYPES = {"custom": "custom_model", "triton": "triton_model", "mlflow": "mlflow_model"}
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}")
_URI = re.compile(r"(?:azureml|https)://\S+")
_MODEL_URIS = observed("Azure/azureml-examples, requests that register models", 2026, 7, 31)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model, with its place."""

    path: str  # of its settings
    name: str  # in the workspace
    settings: ModelArgs

    @property
    def version(self) -> str:
        return self.settings["version"]

    @property
    def stored(self) -> str:
        """Its path in the container of models; empty: it is at its `uri`."""
        return self.settings.get("path", "").strip("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSpec:
    """An environment, with its place."""

    path: str
    name: str
    settings: EnvironmentArgs
    workload: Workload | None
    conda: str  # the text of the conda file; empty before it is read
    routes: Routes | None
    gpu: bool

    @property
    def version(self) -> str:
        """Empty: the tag of the workload's image."""
        return self.settings.get("version", "")

    @property
    def needs_model(self) -> bool:
        """Whether its image has a server, and is known to have no model."""
        return self.workload in WITHOUT_MODEL


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeSpec:
    """Code, with its place."""

    path: str
    name: str
    settings: CodeArgs

    @property
    def version(self) -> str:
        return self.settings["version"]


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
        name: CodeSpec(path=f"{path}.code.{name}", name=each.get("code_name", name), settings=each)
        for name, each in settings.get("code", {}).items()
    }
    problems = [
        *(problem for spec in models.values() for problem in _model_problems(spec)),
        *(problem for spec in environments.values() for problem in _environment_problems(spec)),
        *(problem for spec in code.values() for problem in _code_problems(spec)),
        *_duplicates("model", list(models.values())),
        *_duplicates("environment", list(environments.values())),
        *_duplicates("code", list(code.values())),
    ]
    return Assets(models=models, environments=environments, code=code), problems


def workloads(settings: MlWorkspaceSettings) -> set[Workload]:
    """The workloads that the registry has to build for the environments."""
    return {Workload(each["workload"]) for each in settings.get("environments", {}).values() if "workload" in each}


def _model_problems(spec: ModelSpec) -> Iterator[Problem]:
    settings, uri = spec.settings, spec.settings.get("uri", "")
    yield from _named(azure_types.ML_MODEL_CONTAINER, spec.name, spec.version, spec.path, "model_name" in settings, "model_name")
    if ("path" in settings) == ("uri" in settings):
        yield Problem(
            path=spec.path,
            message="exactly one of path and uri is required",
            value="path, uri" if "path" in settings else None,
            allowed="exactly one of path and uri",
            fix="remove one of them" if "path" in settings else "set `path` to the folder that was uploaded, such as mnist/1",
        )
    if "path" in settings and _PATH.fullmatch(spec.stored) is None:
        yield Problem(
            path=f"{spec.path}.path",
            message="not a valid path of a folder of blobs",
            value=settings["path"],
            allowed="names with / between them, such as mnist/1",
            fix=f"set the path that `{COMMAND} upload model` used",
        )
    login = [*check_login(uri, f"{spec.path}.uri", **_WITHOUT_LOGIN)]
    yield from login
    if "uri" in settings and _URI.fullmatch(uri) is None and not login:
        yield Problem(
            path=f"{spec.path}.uri",
            message="not a supported address of a model",
            value=uri,
            allowed="azureml://…, or https://… of a blob storage account",
            fix=f"upload it with `{COMMAND} upload model`, and set `path`",
        )
    elif uri.startswith("https://") and not login:
        yield Problem(
            path=f"{spec.path}.uri",
            message="it isn't known whether Azure Machine Learning registers a model by its https:// address: every published "
            "request has azureml://",
            value=uri,
            allowed="azureml://datastores/<datastore>/paths/<folder>",
            fix="make the container a datastore of the workspace, and give the address by it",
            source=str(_MODEL_URIS),
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )
    yield from check_tags(settings.get("tags", {}), f"{spec.path}.tags")


def _environment(name: str, settings: EnvironmentArgs, path: str) -> EnvironmentSpec:
    workload = Workload(settings["workload"]) if "workload" in settings else None
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
    settings, key = spec.settings, "environment_name"
    if spec.version or spec.workload is None:
        yield from _named(azure_types.ML_ENVIRONMENT_CONTAINER, spec.name, spec.version, spec.path, key in settings, key)
    else:
        yield from names.check(azure_types.ML_ENVIRONMENT_CONTAINER.arm_type, spec.name, _at(spec.path, key in settings, key))
    yield from image_problems(settings.get("image"), spec.workload, spec.path)
    if spec.workload is not None and settings.get("conda_file"):
        yield Problem(
            path=f"{spec.path}.conda_file",
            message="can't be combined with `workload`, whose image is complete",
            value=settings.get("conda_file"),
            allowed="only with `image`",
            fix="remove it",
        )
    if spec.routes is not None:
        yield from _route_problems(spec.routes, f"{spec.path}.routes")
    yield from check_tags(settings.get("tags", {}), f"{spec.path}.tags")


def _route_problems(routes: Routes, path: str) -> Iterator[Problem]:
    if not 1 <= routes.port <= 65535:
        yield Problem(
            path=f"{path}.port",
            message="not a valid port",
            value=routes.port,
            allowed="1 to 65535",
            fix=f"write {deployments.PORT}",
        )
    for key in ("scoring", "liveness", "readiness"):
        value = str(getattr(routes, key))
        if not value.startswith("/"):
            yield Problem(
                path=f"{path}.{key}",
                message="must start with a slash",
                value=value,
                allowed="such as /score",
                fix=f"write /{value}",
            )


def _code_problems(spec: CodeSpec) -> Iterator[Problem]:
    uri = spec.settings["uri"]
    yield from _named(azure_types.ML_CODE_CONTAINER, spec.name, spec.version, spec.path, False, "code_name")
    login = [*check_login(uri, f"{spec.path}.uri", **_WITHOUT_LOGIN)]
    yield from login
    if _CODE_URI.fullmatch(uri) is None and not login:
        yield Problem(
            path=f"{spec.path}.uri",
            message="not a supported address of code",
            value=uri,
            allowed="https://… of a blob storage account",
            fix="upload the folder, and set its address",
        )


def _at(path: str, is_set: bool, key: str) -> str:
    return f"{path}.{key}" if is_set else path


def _named(azure_type: AzureType, name: str, version: str, path: str, is_set: bool, key: str) -> Iterator[Problem]:
    yield from names.check(azure_type.arm_type, name, _at(path, is_set, key))
    if not version:
        yield Problem(
            path=f"{path}.version",
            message="`version` is required: the content of a version never changes",
            allowed='such as "1"',
            fix='set `version: "1"`',
        )
    elif _VERSION.fullmatch(version) is None:
        yield Problem(
            path=f"{path}.version",
            message="not a valid version",
            value=version,
            allowed="at most 255 letters, digits, dots, underscores and hyphens, a letter or digit first",
            fix='write "1"',
        )


def _duplicates(what: str, specs: Sequence[ModelSpec | EnvironmentSpec | CodeSpec]) -> Iterator[Problem]:
    first: dict[tuple[str, str], str] = {}
    for spec in specs:
        taken = first.setdefault((spec.name.lower(), spec.version), spec.path)
        if taken != spec.path:
            yield Problem(
                path=spec.path,
                message=f"same {what} and version as {taken}",
                value=f"{spec.name}:{spec.version}",
                allowed="each version once",
                fix="set another version, or remove one of the two",
            )


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
            problems.append(_unreadable(path, file, f"not a valid conda file: {error}", Code.INVALID))
            continue
        except (OSError, ValueError) as error:  # ValueError: not a text, or an invalid character in the name
            reason_without_errno = "not a text file" if isinstance(error, UnicodeDecodeError) else "not a valid file name"
            reason = error.strerror if isinstance(error, OSError) else reason_without_errno
            problems.append(_unreadable(path, file, f"this file can't be read: {reason}", Code.NOT_FOUND))
            continue
        requested = [Package(each.name, each.extras, each.constraint, each.pip) for each in found.packages if each.name]
        gpu = spec.gpu if "gpu" in spec.settings else spec.gpu or packages.need_gpu(requested)
        read[name] = replace(spec, conda=text, gpu=gpu)
        if gpu:
            problems += packages.problems(requested, path)
    return read, problems


def _unreadable(path: str, value: str, message: str, code: Code) -> Problem:
    return Problem(
        path=path,
        message=message,
        value=value,
        allowed="the path of a conda file, relative to the program's folder",
        fix="set its path, such as environments/train.yml",
        code=code,
    )
