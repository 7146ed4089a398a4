"""Problems of an online endpoint, reported before anything is created."""

from typing import Any, Literal

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.ml.dependencies import WorkspaceOfEndpoint
from azure_gpu.ml.endpoint.args import MlEndpointSettings
from azure_gpu.ml.endpoint.resolve import resolve
from azure_gpu.ml.endpoint.spec import MlEndpointSpec
from azure_gpu.shared.context import resolve_stack
from tests.components.ml.ml_endpoints import BLUE, CPU, END, T4, dependencies, workspace
from tests.components.recording import PROJECT, STACK
from tests.components.settings_of import args_of

TWO: dict[str, Any] = {"blue": BLUE, "green": BLUE}
AT = "ml_endpoints.digits"


def resolved(
    in_workspace: WorkspaceOfEndpoint | Literal["usual"] | None = "usual", **settings: Any
) -> tuple[MlEndpointSpec, list[Problem]]:
    context, _ = resolve_stack(dependencies()["stack"], PROJECT, STACK)
    given_workspace = workspace() if in_workspace == "usual" else in_workspace
    args = args_of(MlEndpointSettings, {"deployments": {"blue": BLUE}, "expires_after": END}, settings)
    return resolve("digits", args, context, given_workspace)


def problems_of(*, warnings: bool = False, **settings: Any) -> dict[str, str]:
    """The first message at each path."""
    severity = Severity.WARNING if warnings else Severity.ERROR
    found = [problem for problem in resolved(**settings)[1] if problem.severity is severity]
    return {problem.path: str(problem) for problem in reversed(found)}


def of_blue(**changed: Any) -> dict[str, str]:
    return problems_of(deployments={"blue": {**BLUE, **changed}})


def at_blue(key: str) -> str:
    return f"{AT}.deployments.blue.{key}"


def test_an_endpoint_that_can_be_had_has_no_problem() -> None:
    assert resolved()[1] == []
    assert resolved(deployments=TWO, traffic={"blue": 90, "green": 10})[1] == []


# Shares


def test_shares_add_up_to_100() -> None:
    found = problems_of(deployments=TWO, traffic={"blue": 90, "green": 20})
    assert list(found) == [f"{AT}.traffic"]
    assert "add up to 110 percent" in found[f"{AT}.traffic"]
    assert "take away 10 percent" in found[f"{AT}.traffic"]
    assert "give out 60 percent" in problems_of(deployments=TWO, traffic={"blue": 40})[f"{AT}.traffic"]


def test_a_share_is_a_percentage() -> None:
    assert list(problems_of(deployments=TWO, traffic={"blue": 110, "green": -10})) == [
        f"{AT}.traffic.green",
        f"{AT}.traffic.blue",
    ]


def test_traffic_goes_to_declared_deployments_alone() -> None:
    found = problems_of(deployments=TWO, traffic={"blue": 90, "gren": 10})
    assert list(found) == [f"{AT}.traffic.gren"]
    assert "did you mean green?" in found[f"{AT}.traffic.gren"]


def test_a_deployment_that_has_traffic_cannot_be_taken_out() -> None:
    found = problems_of(deployments={"blue": BLUE}, traffic={"blue": 90, "green": 10})
    assert "before you remove one, give its share to others" in found[f"{AT}.traffic.green"]


def test_with_several_deployments_it_is_said_who_gets_what() -> None:
    found = problems_of(deployments=TWO)
    assert "`traffic` is required" in found[f"{AT}.traffic"]
    assert "{blue: 100, green: 0}" in found[f"{AT}.traffic"]


def test_nobody_being_answered_is_a_warning() -> None:
    assert list(problems_of(warnings=True, deployments=TWO, traffic={})) == [f"{AT}.traffic"]
    assert list(problems_of(warnings=True, deployments={})) == [f"{AT}.deployments"]
    assert problems_of(deployments=TWO, traffic={}) == {}


def test_an_endpoint_has_at_most_20_deployments() -> None:
    found = problems_of(deployments={f"d{number:02}x": BLUE for number in range(21)}, traffic={"d00x": 100})
    assert "at most 20" in found[f"{AT}.deployments"]


@pytest.mark.parametrize(
    ("mirror", "path", "what"),
    [
        ({"green": 51}, "mirror.green", "1 to 50 percent"),
        ({"green": -1}, "mirror.green", "1 to 50 percent"),
        ({"blue": 10}, "mirror.blue", "can't get both"),
        ({"green": 10, "red": 10}, "mirror", "one deployment"),
        ({"gren": 10}, "mirror.gren", "did you mean green?"),
    ],
)
def test_what_mirrors_what(mirror: dict[str, int], path: str, what: str) -> None:
    found = problems_of(deployments={**TWO, "red": BLUE}, traffic={"blue": 100}, mirror=mirror)
    assert what in found[f"{AT}.{path}"]


def test_nothing_is_mirrored_on_kubernetes_or_without_live_traffic() -> None:
    assert problems_of(deployments=TWO, traffic={"blue": 100}, mirror={"green": 50}) == {}
    on_kubernetes = {name: {**BLUE, "instance_type": "gpu"} for name in TWO}
    found = problems_of(compute="onprem", deployments=on_kubernetes, traffic={"blue": 100}, mirror={"green": 10})
    assert "can't mirror traffic" in found[f"{AT}.mirror"]
    assert "no live traffic to mirror" in problems_of(deployments=TWO, traffic={}, mirror={"green": 10})[f"{AT}.mirror"]


# Machines


def test_a_managed_deployment_needs_a_size_and_a_known_one() -> None:
    found = problems_of(deployments={"blue": {"model": "digits", "environment": "scoring"}})
    assert "requires `instance_type`" in found[at_blue("instance_type")]
    assert "retired on 2023-09-06" in of_blue(instance_type="Standard_NC6s_v2")[at_blue("instance_type")]
    assert "don't take Standard_HB120rs_v3" in of_blue(instance_type="Standard_HB120rs_v3")[at_blue("instance_type")]
    assert of_blue(instance_type="standard_ds3_V2") == {}
    unknown = problems_of(warnings=True, deployments={"blue": {**BLUE, "instance_type": "Standard_D4s_v5"}})
    assert "is not known" in unknown[at_blue("instance_type")]


def test_a_gpu_environment_needs_a_gpu_on_either_compute() -> None:
    of_gpu = {"environment": "cuda", "code": {"code": "answers", "script": "score.py"}}
    assert of_blue(**of_gpu) == {}
    found = of_blue(**of_gpu, instance_type=CPU)
    assert list(found) == [at_blue("instance_type")]
    assert "requires a GPU, and Standard_F4s_v2 has none" in found[at_blue("instance_type")]
    for instance_type, expected in (("gpu", []), ("small", [at_blue("instance_type")])):
        deployment = {**BLUE, **of_gpu, "instance_type": instance_type}
        assert list(problems_of(compute="onprem", deployments={"blue": deployment})) == expected
    default = {key: value for key, value in {**BLUE, **of_gpu}.items() if key != "instance_type"}
    assert "small has none" in problems_of(compute="onprem", deployments={"blue": default})[at_blue("instance_type")]


def test_an_instance_type_is_one_of_the_computes() -> None:
    found = problems_of(compute="onprem", deployments={"blue": {**BLUE, "instance_type": "smal"}})
    assert "did you mean small?" in found[at_blue("instance_type")]
    computes = {"onprem": {**workspace()["computes"]["onprem"], "default_instance_type": ""}}
    without = {"model": "digits", "environment": "scoring"}
    found = problems_of(in_workspace=workspace(computes=computes), compute="onprem", deployments={"blue": without})
    assert "Azure's own default has no GPU" in found[at_blue("instance_type")]


def test_a_compute_is_a_kubernetes_one_of_the_workspace() -> None:
    on: dict[str, Any] = {"deployments": {"blue": {**BLUE, "instance_type": "gpu"}}}
    assert problems_of(compute="onprem", **on) == {}
    assert "did you mean onprem?" in problems_of(compute="onprm", **on)[f"{AT}.compute"]
    found = problems_of(compute="training", **on)
    assert list(found) == [f"{AT}.compute"]
    assert "of the kind Kubernetes" in found[f"{AT}.compute"]
    assert "given: 'training'" in found[f"{AT}.compute"]


def test_on_kubernetes_people_sign_on_without_entra_and_the_router_says_from_where() -> None:
    on: dict[str, Any] = {"compute": "onprem", "deployments": {"blue": {**BLUE, "instance_type": "gpu"}}}
    in_private = workspace(public=False, reached_privately=True)
    spec, problems = resolved(in_workspace=in_private, **on)
    assert (problems, spec.auth.value, spec.network.value) == ([], "aml_token", "public")
    found = problems_of(in_workspace=in_private, auth="entra", network="private", **on)
    assert list(found) == [f"{AT}.network", f"{AT}.auth"]
    assert "given: 'entra'; allowed: key, aml_token; fix: write auth: aml_token" in found[f"{AT}.auth"]
    assert "extension.internal: true" in found[f"{AT}.network"]


def test_deployments_that_differ_by_letter_case_alone_are_one_in_azure() -> None:
    found = problems_of(deployments={"blue": BLUE, "Blue": BLUE}, traffic={"blue": 100})
    assert list(found) == [f"{AT}.deployments.Blue"]


def test_instances_never_go_to_zero_on_machines_that_azure_manages() -> None:
    assert "at least one instance" in of_blue(instances=0)[at_blue("instances")]
    assert "never scales to zero" in of_blue(autoscale={"min": 0, "max": 2})[at_blue("autoscale.min")]
    assert "at most 50" in of_blue(instances=51)[at_blue("instances")]


@pytest.mark.parametrize(
    ("rules", "key", "what"),
    [
        ({"min": 3, "max": 2}, "max", "below the minimum"),
        ({"max": 1}, "max", "equals the minimum"),
        ({"max": 51}, "max", "at most 50"),
        ({"max": 2, "cpu_percent": 120}, "cpu_percent", "not a valid percentage"),
        ({"max": 2, "requests_per_minute": 0}, "requests_per_minute", "above 0"),
        ({"max": 2, "window_minutes": 4}, "window_minutes", "5 to 720 minutes"),
        ({"max": 2, "cooldown_minutes": 0}, "cooldown_minutes", "1 to 10080 minutes"),
        ({"max": 2, "utilization_percent": 50}, "utilization_percent", "only supported for deployments on Kubernetes"),
    ],
)
def test_rules_that_do_nothing_or_are_not_taken(rules: dict[str, Any], key: str, what: str) -> None:
    found = of_blue(autoscale=rules)
    assert list(found) == [at_blue(f"autoscale.{key}")]
    assert what in found[at_blue(f"autoscale.{key}")]


def test_what_has_no_gpu_is_not_scaled_by_it_and_it_starts_within_its_limits() -> None:
    found = of_blue(instance_type=CPU, autoscale={"max": 2, "gpu_percent": 60})
    assert "have no GPU" in found[at_blue("autoscale.gpu_percent")]
    found = of_blue(instances=5, autoscale={"max": 2})
    assert "given: 5; allowed: 1 to 2" in found[at_blue("instances")]


def test_on_kubernetes_azure_monitor_has_no_rules() -> None:
    deployment = {**BLUE, "instance_type": "gpu", "autoscale": {"max": 2, "cpu_percent": 50, "cooldown_minutes": 5}}
    found = problems_of(compute="onprem", deployments={"blue": deployment})
    assert set(found) == {at_blue("autoscale.cpu_percent"), at_blue("autoscale.cooldown_minutes")}
    deployment["autoscale"] = {"max": 2, "utilization_percent": 0}
    assert (
        "percentage" in problems_of(compute="onprem", deployments={"blue": deployment})[at_blue("autoscale.utilization_percent")]
    )


# What it runs


@pytest.mark.parametrize(
    ("changed", "key", "what"),
    [
        ({"model": "digit"}, "model", "did you mean digits?"),
        ({"model": "digits:2"}, "model", "no model of this name"),
        ({"environment": "scorng"}, "environment", "did you mean scoring?"),
        ({"environment": "cuda"}, "code", "`code` is required"),
        ({"environment": "cuda", "code": {"code": "answer", "script": "score.py"}}, "code.code", "did you mean answers?"),
        ({"model_mount_path": "models"}, "model_mount_path", "not an absolute path; given: 'models'"),
        ({"requests": {"timeout_seconds": 181}}, "requests.timeout_seconds", "at most 180 s"),
        ({"requests": {"concurrent": 0}}, "requests.concurrent", "concurrent requests is below 1"),
        ({"requests": {"queue_seconds": -1}}, "requests.queue_seconds", "0 or more"),
        ({"probes": {"liveness": {"success_threshold": 2}}}, "probes.liveness.success_threshold", "write 1"),
        ({"probes": {"readiness": {"period_seconds": 0}}}, "probes.readiness.period_seconds", "1 or more"),
        ({"probes": {"startup": {"timeout_seconds": 0}}}, "probes.startup.timeout_seconds", "1 or more"),
        ({"tags": {"expires-at": "never"}}, "tags.expires-at", "set by the program"),
    ],
)
def test_values_of_a_deployment(changed: dict[str, Any], key: str, what: str) -> None:
    found = of_blue(**changed)
    assert list(found) == [at_blue(key)]
    assert what in found[at_blue(key)]


def test_what_is_named_by_an_id_is_not_looked_for() -> None:
    assert of_blue(model="azureml://registries/azureml/models/a/versions/1", environment="/subscriptions/s/e/1") == {}
    assert of_blue(model="digits:1") == {}


def test_mlflow_models_need_neither_environment_nor_code_and_others_do() -> None:
    assert problems_of(deployments={"blue": {"model": "flow", "instance_type": T4}}) == {}
    found = problems_of(deployments={"blue": {"model": "digits", "instance_type": T4}})
    assert "`environment` is required" in found[at_blue("environment")]
    assert "`environment` is required" in problems_of(deployments={"blue": {"instance_type": T4}})[at_blue("environment")]


def test_a_model_is_configured_where_the_image_has_none() -> None:
    without = {"environment": "scoring", "instance_type": T4}
    found = problems_of(deployments={"blue": without})
    assert list(found) == [at_blue("model")]
    assert "`model` is required, as the image of environment scoring has none in it;" in found[at_blue("model")]
    assert "allowed: digits, digits:1, flow" in found[at_blue("model")]
    assert "an environment of {workload: digits}" in found[at_blue("model")]
    assert problems_of(deployments={"blue": {**without, "model": "digits"}}) == {}
    assert problems_of(deployments={"blue": {**without, "environment_variables": {"AZUREML_MODEL_DIR": "/models"}}}) == {}
    assert problems_of(deployments={"blue": {**without, "code": {"code": "answers", "script": "score.py"}}}) == {}


def test_an_image_with_a_model_in_it_needs_none_and_may_have_another() -> None:
    assert problems_of(deployments={"blue": {"environment": "with-model", "instance_type": T4}}) == {}
    assert of_blue(environment="with-model") == {}
    assert problems_of(deployments={"blue": {"environment": "/subscriptions/s/e/1", "instance_type": T4}}) == {}


# Names, network, end


def test_names_that_azure_takes() -> None:
    assert f"{AT}.endpoint_name" in problems_of(endpoint_name="2fast")
    assert f"{AT}.deployments.a_b" in problems_of(deployments={"a_b": BLUE})
    long = {"e" * 32: {**BLUE, "instance_type": "gpu"}}
    found = problems_of(compute="onprem", endpoint_name="n" * 31, deployments=long)
    assert "6 to 62" in found[f"{AT}.deployments.{'e' * 32}"]


def test_a_private_endpoint_needs_a_way_in() -> None:
    found = problems_of(network="private")[f"{AT}.network"]
    assert "has none" in found
    assert "private_endpoint: {subnet_id: <id>}" in found
    assert problems_of(in_workspace=workspace(reached_privately=True), network="private") == {}
    private = workspace(public=False, reached_privately=True)
    assert problems_of(in_workspace=private, network="private") == {}
    assert resolved(in_workspace=private)[0].network.value == "private"
    assert resolved()[0].network.value == "public"


def test_private_egress_is_the_older_way() -> None:
    managed = workspace(managed_network=True)
    assert (
        "managed network"
        in problems_of(in_workspace=managed, deployments={"blue": {**BLUE, "egress": "private"}})[at_blue("egress")]
    )
    deployment = {**BLUE, "instance_type": "gpu", "egress": "private"}
    assert "cluster's network" in problems_of(compute="onprem", deployments={"blue": deployment})[at_blue("egress")]
    assert list(problems_of(warnings=True, deployments={"blue": {**BLUE, "egress": "private"}})) == [at_blue("egress")]


def test_a_gpu_needs_an_end() -> None:
    context, _ = resolve_stack(dependencies()["stack"], PROJECT, STACK)
    _, problems = resolve("digits", args_of(MlEndpointSettings, {"deployments": {"blue": BLUE}}), context, workspace())
    assert [problem.path for problem in problems] == [f"{AT}.expires_after"]
    assert f"{AT}.expires_after" in problems_of(expires_after="2026-01-01")


def test_without_a_workspace_what_needs_none_is_judged() -> None:
    spec, problems = resolved(in_workspace=None, traffic={"blue": 50})
    assert [problem.path for problem in problems] == [f"{AT}.traffic"]
    assert spec.location == "eastus"


def test_uses_are_of_the_most_instances() -> None:
    spec, _ = resolved(deployments={"blue": {**BLUE, "autoscale": {"max": 4}}})
    [use] = spec.uses
    assert (use.size, use.nodes, use.region, use.service.value) == (T4, 4, "eastus", "ml-endpoint")


# Properties

NAMES = st.sampled_from(["blue", "green", "red", "", "x"])


@given(st.lists(NAMES, max_size=4, unique=True), st.dictionaries(NAMES, st.integers(-20, 120), max_size=4), st.booleans())
def test_shares_are_taken_exactly_if_they_are_percentages_of_declared_deployments_that_make_100_or_0(
    deployments: list[str], traffic: dict[str, int], kubernetes: bool
) -> None:
    machine = {**BLUE, "instance_type": "gpu" if kubernetes else T4}
    compute: dict[str, Any] = {"compute": "onprem"} if kubernetes else {}
    _, problems = resolved(deployments=dict.fromkeys(deployments, machine), traffic=traffic, **compute)
    refused = [one for one in problems if one.severity is Severity.ERROR and one.path.startswith(f"{AT}.traffic")]
    right = (
        traffic.keys() <= set(deployments)
        and all(0 <= share <= 100 for share in traffic.values())
        and sum(traffic.values()) in (0, 100)
    )
    assert (refused == []) is right


@given(st.integers(0, 100), st.integers(-10, 110))
def test_a_mirror_is_taken_exactly_if_at_most_half_goes_to_one_that_has_nothing_live(live: int, mirrored: int) -> None:
    _, problems = resolved(deployments=TWO, traffic={"blue": 100 - live, "green": live}, mirror={"green": mirrored})
    refused = [one for one in problems if one.path.startswith(f"{AT}.mirror")]
    assert (refused == []) is (mirrored == 0 or (1 <= mirrored <= 50 and live == 0))
