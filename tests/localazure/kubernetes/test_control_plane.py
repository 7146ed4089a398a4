"""A control plane as its users meet it: kubectl, who is let in, what AKS's admission does to pods that ask for GPUs."""

import json
import ssl

import httpx
import pytest
import yaml

from tests.support.kubernetes import ControlPlane
from tests.support.patience import SECONDS


@pytest.fixture(scope="module")
def stranger(control_plane: ControlPlane) -> httpx.Client:
    """Knows the cluster's authority and has no certificate."""
    trust = ssl.create_default_context(cafile=control_plane.folder / "pki" / "ca.crt")
    return httpx.Client(base_url=control_plane.server, verify=trust, trust_env=False, timeout=SECONDS)


def test_without_a_name_nobody_gets_further_than_whether_it_is_ready(stranger: httpx.Client) -> None:
    assert stranger.get("/readyz").text == "ok"
    for path in ("/version", "/api/v1/namespaces", "/openapi/v2"):
        assert stranger.get(path).status_code == 401, path


def test_the_stores_port_talks_to_the_control_plane_alone(control_plane: ControlPlane) -> None:
    ports = json.loads((control_plane.folder / "cluster.json").read_text())["ports"]
    trust = ssl.create_default_context(cafile=control_plane.folder / "pki" / "ca.crt")
    for name in ("etcd", "etcd_peer"):
        with httpx.Client(verify=trust, trust_env=False) as client, pytest.raises((httpx.HTTPError, ssl.SSLError)):
            client.get(f"https://127.0.0.1:{ports[name]}/health").raise_for_status()


def test_every_file_with_a_key_or_a_secret_is_its_owners_alone(control_plane: ControlPlane) -> None:
    folder = control_plane.folder
    secret = [
        *folder.glob("pki/*.key"),
        folder / "cluster.json",
        folder / "agent.json",
        *folder.glob("control-plane/*/*/spec.json"),
    ]
    assert {oct(path.stat().st_mode & 0o777) for path in secret} == {"0o600"}
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_pod_that_asks_for_gpus_tolerates_the_taint_of_their_name_and_no_other(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.kubectl("wait", "serviceaccount/default", "-n", namespace, "--for=create", f"--timeout={SECONDS}s")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "gpu", "namespace": namespace},
        "spec": {"containers": [{"name": "main", "image": "cuda", "resources": {"limits": {"nvidia.com/gpu": 1}}}]},
    }
    made = control_plane.kubectl("create", "-f", "-", "-o", "json", input=json.dumps(pod))
    assert made.returncode == 0, made.stderr
    keys = {toleration["key"] for toleration in json.loads(made.stdout)["spec"]["tolerations"]}
    assert "nvidia.com/gpu" in keys
    assert "sku" not in keys


def test_what_an_administrator_is_handed_out_has_aks_names_and_works(control_plane: ControlPlane) -> None:
    text = control_plane.clusters.kubeconfig(control_plane.key, "admin")
    found = yaml.safe_load(text)
    assert found["clusters"][0]["name"] == "aks-test"
    assert found["current-context"] == "aks-test"
    assert found["users"][0]["name"] == "clusterAdmin_rg-aks-test_aks-test"
    handed_out = control_plane.folder / "handed-out"
    handed_out.write_text(text)
    assert control_plane.kubectl("--kubeconfig", str(handed_out), "auth", "can-i", "*", "*").stdout == "yes\n"


def test_a_user_of_a_cluster_without_entra_gets_a_certificate_too(control_plane: ControlPlane) -> None:
    found = yaml.safe_load(control_plane.clusters.kubeconfig(control_plane.key, "user"))
    assert found["current-context"] == "aks-test"
    assert found["users"][0]["name"] == "clusterUser_rg-aks-test_aks-test"
    assert set(found["users"][0]["user"]) == {"client-certificate-data", "client-key-data"}
