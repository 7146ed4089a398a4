"""Parts that are off: nothing of them is declared, their keys and types are checked, and what needs them is refused."""

from collections.abc import Iterator
from typing import Any, is_typeddict

from azure_gpu.shared.validation import below, form, is_map, key_docstrings, key_hints
from azure_gpu.stack.file import StackFile, Switched
from azure_gpu.stack.settings import Settings, read
from tests.components.recording import PROJECT, STACK
from tests.components.settings_of import TODAY, configuration, pure_problems
from tests.support.tables import of_table

OFF = {"enabled": False}
END = {"expires_after": "2026-12-31"}
T4 = {"size": "Standard_NC4as_T4_v3"}
FOUNDATION = {"foundation": dict.fromkeys(["resource_group", "identity", "registry", "log_workspace", "storage"], "create")}
CLUSTER: dict[str, Any] = {"gpu_pools": {"t4": T4}, **END}
POOL = {**T4, **END}
MACHINE = {
    **T4,
    "admin": {"ssh_public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk6m2Yv6kq1cD1a1cD1a1cD1a1cD1a1cD1a1cD1a1cD x"},
    **END,
}
SERVING = {"environments": {"own": {"version": "1", "image": "docker.io/library/python:3.12", "routes": {}}}}
BLUE = {"environment": "own", "instance_type": "Standard_NC4as_T4_v3"}
ENDPOINT: dict[str, Any] = {"deployments": {"blue": BLUE}, **END}


def settings(**said: Any) -> Settings:
    return read(configuration({**FOUNDATION, **said}), TODAY)


def problems(**said: Any) -> dict[str, str]:
    """By their paths."""
    return {each.path: str(each) for each in pure_problems(settings(**said), PROJECT, STACK) if each.severity == "error"}


def switched(annotation: Any, path: str = "") -> Iterator[str]:
    """Every path at which a part can be switched off; names of the user's are `*`."""
    kind = form(annotation)
    if is_map(annotation):
        yield from switched(below(annotation, "name"), f"{path}.*")
    elif is_typeddict(kind):
        hints = key_hints(kind)
        if key_docstrings(kind).get("enabled") == key_docstrings(Switched)["enabled"]:
            yield path
        for key in hints:
            yield from switched(hints[key], f"{path}.{key}" if path else key)


def test_every_part_but_the_foundation_can_be_switched_off() -> None:
    assert set(switched(StackFile)) == {
        *(f"{section}.*" for section in ("container_groups", "jobs", "gallery_images", "pools", "clusters", "edges", "vms")),
        *("batch_account", "budget", "clusters.*.gpu_pools.*"),
        *(
            "ml_workspace",
            "ml_workspace.computes.*",
            "ml_workspace.environments.*",
            "ml_endpoints.*",
            "ml_endpoints.*.deployments.*",
        ),
    }


def test_a_part_that_is_on_is_as_one_without_the_switch() -> None:
    on = {"enabled": True}
    said: dict[str, Any] = {"batch_account": "create", "pools": {"train": POOL}, "clusters": {"shared": CLUSTER}}
    switched_on: dict[str, Any] = {
        "batch_account": on,
        "pools": {"train": {**POOL, **on}},
        "clusters": {"shared": {**CLUSTER, **on, "gpu_pools": {"t4": {**T4, **on}}}},
    }
    one, other = settings(**said), settings(**switched_on)
    assert {**one.parts, "batch_account": {}} == {**other.parts, "batch_account": {}}
    assert other.parts["batch_account"]
    assert other.off == ()
    assert other.problems == []


def test_a_section_whose_parts_are_all_off_is_as_one_that_is_not_there() -> None:
    without, off = settings(), settings(vms={"trainer": {**MACHINE, **OFF}}, container_groups={"check": OFF})
    assert off.parts == without.parts  # whose roles and keys are for what is declared
    assert set(off.off) == {"container_groups.check", "vms.trainer"}


def test_a_part_that_is_off_is_refused_for_its_keys_and_types_alone() -> None:
    # Not sold any more, without an end date, of a size that nobody knows, with a workload but no registry.
    parts: dict[str, Any] = {
        "container_groups": {"old": {"image": "a.io/b:1", "gpu": {"count": 1, "sku": "K80"}, **OFF}},
        "jobs": {"late": {"gpu": "T4", "expires_after": "2019-01-01", **OFF}},
        "pools": {"odd": {"size": "Standard_Nothing", **OFF}},
        "clusters": {"shared": {**CLUSTER, "jobs": {"add": {"workload": "vector_add"}}, "kubernetes_version": "1.7", **OFF}},
        "foundation": {"resource_group": "create"},
    }
    assert problems(**parts) == {}
    parts["jobs"]["late"] |= {"timeout_minutes": "long", "gpus": 1}
    parts["pools"]["odd"]["opts"] = {"ignore_changes": ["nothing"]}
    assert problems(**parts).keys() == {"jobs.late.timeout_minutes", "jobs.late.gpus", "pools.odd.opts.ignore_changes[0]"}
    assert "true or false" in problems(jobs={"late": {"gpu": "T4", "enabled": "no"}})["jobs.late.enabled"]


def test_what_is_in_a_part_that_is_off_is_refused_with_two_fixes() -> None:
    account = problems(batch_account=OFF, pools={"train": POOL, "other": {**POOL, **OFF}})
    assert account.keys() == {"batch_account.enabled"}
    assert "required by pools.train" in account["batch_account.enabled"]
    assert "enabled: false for pools.train too" in account["batch_account.enabled"]
    assert problems(batch_account=OFF, pools={"train": {**POOL, **OFF}}) == {}
    assert problems(batch_account={"create": True}, pools={"train": {**POOL, **OFF}}) == {}

    workspace = problems(ml_workspace={**SERVING, **OFF}, ml_endpoints={"digits": ENDPOINT})
    assert workspace.keys() == {"ml_workspace.enabled"}
    assert problems(ml_workspace={**SERVING, **OFF}, ml_endpoints={"digits": {**ENDPOINT, **OFF}}) == {}


@of_table(
    "said",
    "path",
    "needed",
    more=[
        (
            {
                "vms": {"trainer": {**MACHINE, **OFF}},
                "ml_workspace": {"computes": {"bench": {"vm": "trainer", "private_key": "key"}}},
            },
            "ml_workspace.computes.bench.vm",
            "vms.trainer",
        ),
        (
            {
                "ml_workspace": {**SERVING, "computes": {"aks": {"cluster": "shared", **OFF}}},
                "clusters": {"shared": CLUSTER},
                "ml_endpoints": {"digits": {"compute": "aks", "deployments": {}}},
            },
            "ml_endpoints.digits.compute",
            "ml_workspace.computes.aks",
        ),
        (
            {
                "ml_workspace": {"environments": {"own": {**SERVING["environments"]["own"], **OFF}}},
                "ml_endpoints": {"digits": ENDPOINT},
            },
            "ml_endpoints.digits.deployments.blue.environment",
            "ml_workspace.environments.own",
        ),
    ],
)
def test_what_names_a_part_that_is_off_is_refused_in_one_line(said: dict[str, Any], path: str, needed: str) -> None:
    found = problems(**said)
    assert found.keys() == {path}
    assert f"requires {needed}, which is switched off" in found[path]
    assert f"remove enabled: false from {needed}" in found[path]


def test_an_endpoint_keeps_the_deployments_that_are_on_and_their_shares() -> None:
    said = {"deployments": {"blue": BLUE, "green": {**BLUE, **OFF}}, **END}
    part = {"ml_workspace": SERVING}
    assert problems(**part, ml_endpoints={"digits": said}) == {}  # all requests go to the only one left
    parked = {**said, "traffic": {"blue": 100, "green": 0}}
    assert problems(**part, ml_endpoints={"digits": parked}) == {}
    assert settings(**part, ml_endpoints={"digits": parked}).parts["ml_endpoints"]["digits"].get("traffic") == {"blue": 100}
    shared = problems(**part, ml_endpoints={"digits": {**said, "traffic": {"blue": 90, "green": 10}}})
    assert "ml_endpoints.digits.deployments.green, which is switched off" in shared["ml_endpoints.digits.traffic.green"]
    none = settings(**part, ml_endpoints={"digits": {**ENDPOINT, "deployments": {"blue": {**BLUE, **OFF}}}})
    assert none.parts["ml_endpoints"]["digits"]["deployments"] == {}
    assert none.off == ("ml_endpoints.digits.deployments.blue",)
