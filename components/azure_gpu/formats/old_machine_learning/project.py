"""What was found in the files of a project for one of the retired clients.

`Setting`, `Machine`, `Run`, `Packages`, `Cluster`, `Model`, `Service`, `ScoringScript`, and `OldProject`, which is
all of them together. No password or key is in any of them.
"""

from typing import Any, NamedTuple

from azure_gpu.catalog.services.machine_learning.old_settings import OldSetting
from azure_gpu.formats.conda_file import CondaFile


class Setting(NamedTuple):
    """One setting that a file has, and what it meant."""

    at: str  # file:line: name
    name: str
    value: str  # as a person would write it; "" where it is a secret
    old: OldSetting

    def __str__(self) -> str:
        shown = f" {self.value}" if self.value else ""
        today = f" Today: {self.old.today}." if self.old.today else ""
        return f"{self.at}{shown}: {self.old.meaning}.{today}"


class Machine(NamedTuple):
    """A `.compute` file, or the command that wrote one."""

    at: str
    name: str
    kind: str  # local, docker, remotedocker, cluster; "" if the file has none
    gpu: bool  # nvidiaDocker
    settings: tuple[Setting, ...]


class Run(NamedTuple):
    """A `.runconfig` file, or the command that submitted a script."""

    at: str
    target: str  # the machine's name; "" if unknown
    script: str  # "" where it is given on the command line
    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]  # without what is likely a secret
    secrets: tuple[str, ...]  # names of variables and options that are
    framework: str  # "" if missing, which means PySpark; of a command "Python"
    conda_file: str  # "" if missing
    settings: tuple[Setting, ...]


class Packages(NamedTuple):
    """A conda file."""

    file: str
    conda: CondaFile
    lines: tuple[int, ...]  # of each package


class Cluster(NamedTuple):
    """An AksCompute that a script made or attached."""

    at: str
    name: str  # "" where it isn't in the script
    size: str
    nodes: int
    existing: str  # its resource id, or name, where it was attached
    settings: tuple[Setting, ...]


class Model(NamedTuple):
    """A registered model that a script names."""

    at: str
    name: str
    version: str  # "" is the latest
    path: str  # what was registered; "" where the script registers nothing


class Service(NamedTuple):
    """A web service that a script deployed."""

    at: str
    name: str  # "" where it isn't in the script
    cluster: str  # "" where it isn't in the script
    models: tuple[Model, ...]
    deployment: dict[str, Any]  # arguments of AksWebservice.deploy_configuration, by name
    inference: dict[str, Any]  # arguments of InferenceConfig, by name
    settings: tuple[Setting, ...]


class ScoringScript(NamedTuple):
    """A score.py: what in it has another name today."""

    file: str
    raw: bool  # takes the request itself
    calls: tuple[Setting, ...]


class OldProject(NamedTuple):
    """All of a project."""

    machines: tuple[Machine, ...] = ()
    runs: tuple[Run, ...] = ()
    packages: tuple[Packages, ...] = ()
    clusters: tuple[Cluster, ...] = ()
    services: tuple[Service, ...] = ()
    models: tuple[Model, ...] = ()
    scripts: tuple[ScoringScript, ...] = ()
