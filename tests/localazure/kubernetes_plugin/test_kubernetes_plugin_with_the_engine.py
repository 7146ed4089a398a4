"""A small program on the real engine and a control plane: what the gRPC tests can't show is whether the engine understands."""

import base64
import json
import sys
from pathlib import Path

import pytest

from localazure.plugin.installation import install
from tests.support import warm_python
from tests.support.embedded import CHECKOUT
from tests.support.kubernetes import ControlPlane
from tests.support.small_stack import RUN, SmallStack

PROGRAM = """
import pulumi
import pulumi_kubernetes as k

config = pulumi.Config()
text = config.require_secret("kubeconfig")
here = pulumi.ResourceOptions(provider=k.Provider("cluster", kubeconfig=text, cluster_identifier="one"))
team = k.core.v1.Namespace("team", opts=here)
inside = {"namespace": team.metadata.name}
settings = k.core.v1.ConfigMap("settings", metadata=inside, data={"a": config.get("a") or "1"}, opts=here)
token = k.core.v1.Secret("token", metadata=inside, string_data={"t": "hush-hush"}, opts=here)
k.core.v1.ResourceQuota("quota", metadata=inside, spec={"hard": {"requests.nvidia.com/gpu": 4, "cpu": "1000m"}}, opts=here)
k.apps.v1.DaemonSet("agent", metadata=inside, spec={
    "selector": {"matchLabels": {"a": "b"}},
    "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
        "nodeSelector": {"no": "where"}, "hostNetwork": False,
        "containers": [{"name": "c", "image": "x", "args": [], "resources": {"requests": {"cpu": 0.5}}}],
    }},
}, opts=here)
k.batch.v1.Job("train", metadata={**inside, "annotations": {"pulumi.com/skipAwait": "true"}}, spec={
    "template": {"spec": {"restartPolicy": "Never", "containers": [
        {"name": "c", "image": "x", "envFrom": [{"configMapRef": {"name": settings.metadata.name}}]},
    ]}},
}, opts=here)
# A cluster that is made in the same run is not known in its first preview.
later = k.Provider("later", kubeconfig=pulumi.Output.all(text, team.metadata.uid).apply(lambda both: both[0]))
k.core.v1.ConfigMap("there", metadata=inside, data={"a": "1"}, opts=pulumi.ResourceOptions(provider=later))
pulumi.export("namespace", team.metadata.name)
pulumi.export("token", token.data)
"""


class Stack(SmallStack):
    """One stack of the program above, with an engine of its own."""

    def __init__(self, folder: Path, engine_bin: Path, kubeconfig: str) -> None:
        install(folder / "home", Path(sys.executable), CHECKOUT, "kubernetes")
        (folder / "backend").mkdir()
        environment = {
            "HOME": str(folder),
            "PATH": f"{Path(sys.executable).parent}:{engine_bin}:/usr/bin:/bin",
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{folder / 'backend'}",
            "PULUMI_CONFIG_PASSPHRASE": "x",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        }
        super().__init__(folder, warm_python.warmed(environment), PROGRAM)
        self.run("config", "set", "--secret", "kubeconfig", kubeconfig)

    def kept(self) -> tuple[str, str]:
        """The state's text, and the name of the namespace."""
        text = self.run("stack", "export")
        (namespace,) = (
            each["outputs"]["metadata"]["name"]
            for each in json.loads(text)["deployment"]["resources"]
            if each["urn"].endswith("::team")
        )
        return text, namespace


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_stack_lives_from_preview_to_destroy(tmp_path: Path, engine_bin: Path, control_plane: ControlPlane) -> None:
    stack = Stack(tmp_path, engine_bin, control_plane.kubeconfig.read_text())
    assert set(stack.operations().values()) == {"create"}
    stack.run("up", *RUN)
    kept, namespace = stack.kept()
    assert not [text for text in ("hush-hush", base64.b64encode(b"hush-hush").decode()) if text in kept]
    assert "client-key-data" not in kept

    stack.run("refresh", "--yes", "--expect-no-changes")
    stack.run("preview", "--expect-no-changes")

    # An autonamed ConfigMap is made anew under another name, and what reads it with it.
    stack.run("config", "set", "a", "2")
    assert stack.operations() == {"settings": "replace", "train": "replace"}
    stack.run("up", *RUN)
    (data,) = [
        each["data"]
        for each in control_plane.asked("get", "configmaps", "-n", namespace)["items"]
        if each["metadata"]["name"].startswith("settings-")
    ]
    assert data == {"a": "2"}

    stack.run("destroy", *RUN)
    assert control_plane.kubectl("get", "namespace", namespace).returncode == 1


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_stack_whose_cluster_died_is_forgotten_without_waiting(
    tmp_path: Path, engine_bin: Path, control_plane: ControlPlane
) -> None:
    kubeconfig = control_plane.kubeconfig.read_text()
    stack = Stack(tmp_path, engine_bin, kubeconfig)
    stack.run("up", *RUN)
    _, namespace = stack.kept()
    stack.run("config", "set", "--secret", "kubeconfig", kubeconfig.replace(control_plane.server, "https://127.0.0.1:1"))
    # The address alone is another: the identifier says that it is the same cluster, the other provider can't tell.
    assert stack.operations() == {"cluster": "update", "later": "replace", "there": "replace"}
    assert "configured Kubernetes cluster is unreachable" in stack.run("up", *RUN, expected=1)
    stack.environment["PULUMI_K8S_DELETE_UNREACHABLE"] = "true"
    stack.run("destroy", *RUN)
    control_plane.kubectl("delete", "namespace", namespace, "--wait=false")
