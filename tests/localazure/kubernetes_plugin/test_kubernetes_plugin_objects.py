"""What only a real control plane shows of the life of objects: its schema, owners of fields, definitions, garbage collection."""

import json
import re
from typing import Any

import grpc
import pytest

from localazure.plugin.wire import from_struct
from tests.localazure.kubernetes_plugin.conftest import CONFIG_MAP, KubernetesEngine, with_kind
from tests.localazure.plugin.conftest import failure
from tests.support.kubernetes import ControlPlane
from tests.support.patience import SECONDS
from tests.support.provider_calls import details_of, left_behind

DEPLOYMENT, NAMESPACE = "kubernetes:apps/v1:Deployment", "kubernetes:core/v1:Namespace"
POD = {"containers": [{"name": "c", "image": "x", "args": [], "resources": {"requests": {"cpu": 0.5, "memory": "1024Mi"}}}]}
SKIP = {"pulumi.com/skipAwait": "true"}


def deployment(namespace: str, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {**POD, "hostNetwork": False}}
    found = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template, **spec}
    return {"metadata": {"name": "web", "namespace": namespace, "annotations": SKIP}, "spec": found}


def settings(namespace: str, name: str = "settings", **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, "data": data}


def test_fields_are_owned_by_one_manager_that_applies(
    engine: KubernetesEngine, control_plane: ControlPlane, namespace: str
) -> None:
    made = engine.made(CONFIG_MAP, settings(namespace, a="1"))
    live = control_plane.asked("get", "configmap", "settings", "-n", namespace, "--show-managed-fields")
    (entry,) = live["metadata"]["managedFields"]
    assert entry["operation"] == "Apply"
    assert re.fullmatch("pulumi-kubernetes-[0-9a-f]{8}", entry["manager"])
    assert made.state["__fieldManager"] == entry["manager"]
    named = {**settings(namespace, "named"), "metadata": {"name": "named", "namespace": namespace}}
    # pyrefly: ignore[unsupported-operation]
    named["metadata"]["annotations"] = {"pulumi.com/patchFieldManager": "ours"}
    assert engine.made(CONFIG_MAP, named).state["__fieldManager"] == "ours"


@pytest.mark.slow
def test_a_namespace_is_gone_with_all_that_is_in_it(engine: KubernetesEngine, namespace: str) -> None:
    made = engine.made(NAMESPACE, {"metadata": {"name": f"{namespace}-b"}})
    inside = engine.made(CONFIG_MAP, settings(f"{namespace}-b", a="1"))
    made.delete()
    assert not made.refresh()
    assert not inside.refresh()


@pytest.mark.parametrize("preview", [True, False], ids=["preview", "for real"])
def test_a_field_that_the_server_does_not_know_is_refused(engine: KubernetesEngine, namespace: str, preview: bool) -> None:
    body = deployment(namespace)
    body["spec"]["template"]["spec"]["gpuCount"] = 1
    checked, _ = engine.check(DEPLOYMENT, with_kind(DEPLOYMENT, body))
    with pytest.raises(grpc.RpcError, match=r"\.spec\.template\.spec\.gpuCount: field not declared in schema"):
        engine.create(DEPLOYMENT, checked, preview=preview)
    with pytest.raises(grpc.RpcError, match="must be greater than or equal to 0"):
        engine.planned(DEPLOYMENT, deployment(namespace, replicas=-1))


def test_a_field_of_another_manager_is_a_conflict_unless_force_was_asked(
    engine: KubernetesEngine, control_plane: ControlPlane, namespace: str
) -> None:
    made = engine.made(DEPLOYMENT, deployment(namespace))
    theirs = {**with_kind(DEPLOYMENT, {}), "metadata": {"name": "web", "namespace": namespace}, "spec": {"replicas": 5}}
    done = control_plane.kubectl(
        "apply", "--server-side", "--force-conflicts", "--field-manager=scaler", "-f", "-", input=json.dumps(theirs)
    )
    assert done.returncode == 0, done.stderr
    changed = deployment(namespace, replicas=2)
    for preview in (True, False):
        refused = failure(lambda preview=preview: made.update(changed, preview=preview))
        assert "Server-Side Apply field conflict detected" in details_of(refused)
        assert '"scaler"' in details_of(refused)
    kept = from_struct(left_behind(refused).properties)
    assert kept["__inputs"]["spec"]["replicas"] == 2, "the next `up` tries again"

    changed["metadata"]["annotations"] = {**SKIP, "pulumi.com/patchForce": "true"}
    assert made.update(changed)["spec"]["replicas"] == 2


def test_a_custom_kind_waits_for_its_definition(engine: KubernetesEngine, namespace: str) -> None:
    kind = f"Thing{namespace[-6:]}"
    plural, group = f"{kind.lower()}s", f"{namespace}.example.com"
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    schema["properties"]["spec"]["x_kubernetes_preserve_unknown_fields"] = True  # as the SDK spells it
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = engine.made(
        "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition",
        {
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural}, "versions": [version]},
        },
    )
    shown = definition.state["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert shown["x_kubernetes_preserve_unknown_fields"] is True
    token = f"kubernetes:{group}/v1:{kind}"
    made = engine.made(token, {"metadata": {"name": "one", "namespace": namespace}, "spec": {"size": 1, "more": "x"}})
    changed = {"metadata": {"name": "one", "namespace": namespace}, "spec": {"size": 2}}
    assert set(made.diff(changed).detailedDiff) == {"spec.more", "spec.size"}
    definition.delete()
    assert not made.refresh(), "its definition is gone, and it with it"
    made.delete()


def test_deletion_passes_on_or_leaves_what_an_object_owns(
    engine: KubernetesEngine, control_plane: ControlPlane, namespace: str
) -> None:
    body = deployment(namespace, replicas=0)
    body["metadata"]["annotations"] = {**SKIP, "pulumi.com/deletionPropagationPolicy": "orphan"}
    made = engine.made(DEPLOYMENT, body)
    owned = ("get", "replicasets", "-n", namespace, "-o", "name")
    assert control_plane.kubectl("rollout", "status", "deployment/web", "-n", namespace, f"--timeout={SECONDS}s").returncode == 0
    made.delete()
    assert control_plane.kubectl(*owned).stdout.startswith("replicaset.apps/web-"), "left behind, as asked"
