"""JobSet and Kueue on the tests' control plane: their charts as a release makes them, their controllers on a node."""

import os
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from localazure.kubernetes.programs import GROUPS_TOLD
from localazure.kubernetes_plugin import releases
from localazure.kubernetes_plugin.api import Api
from localazure.kubernetes_plugin.cluster import Cluster
from localazure.kubernetes_plugin.settings import read_settings
from localazure.kubernetes_plugin.waiter import Waiting
from tests.support.kubernetes import ControlPlane
from tests.support.node_agent import NodeAgent

SKIPPED = "this machine has no build of JobSet and Kueue: `make groups` makes one"


def told() -> Path:
    """The file that names the folder of controllers and charts; the test is skipped where there is none."""
    given = os.environ.get(GROUPS_TOLD)
    file = Path(given) if given else Path(__file__).parents[3] / ".local" / "groups-bin"
    if not file.exists() or not file.read_text(encoding="utf-8").strip():
        pytest.skip(SKIPPED)
    return file


def released(control_plane: ControlPlane, file: Path, chart: str, version: str, values: Mapping[str, Any]) -> None:
    """A release of the chart in the namespace `<chart>-system`, waited for."""
    environment = {GROUPS_TOLD: str(file)}
    settings = read_settings({"kubeconfig": control_plane.kubeconfig.read_text()}, environment)
    assert settings.access is not None, settings.problem
    waiting = Waiting(Cluster(Api(settings.access), ""), Event(), lambda *_: None)
    inputs = {
        "chart": f"oci://registry.k8s.io/{chart}/charts/{chart}",
        "version": version,
        "name": chart,
        "namespace": f"{chart}-system",
        "createNamespace": True,
        "values": dict(values),
    }
    assert releases.problems(inputs, environment) == []
    releases.Releases(waiting, environment).apply(f"urn:pulumi:t::t::{releases.TYPE}::{chart}", inputs)


def jobset(agent: NodeAgent, file: Path) -> None:
    """JobSet as the library's component releases it."""
    image = {"repository": "registry.k8s.io/jobset/jobset", "tag": "v0.10.1"}
    released(agent.control_plane, file, "jobset", "0.10.1", {"image": image})


def kueue(agent: NodeAgent, file: Path) -> None:
    """Kueue, likewise. After JobSet, whose kind it looks for."""
    image = {"repository": "registry.k8s.io/kueue/kueue", "tag": "v0.14.0"}
    released(agent.control_plane, file, "kueue", "0.14.0", {"controllerManager": {"manager": {"image": image}}})
