"""Problems of an online endpoint that need a workspace of another kind than the cases have, and what has none."""

from typing import Any, Literal

from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.ml.dependencies import WorkspaceOfEndpoint
from azure_gpu.ml.endpoint.args import MlEndpointSettings
from azure_gpu.ml.endpoint.resolve import resolve
from azure_gpu.ml.endpoint.spec import MlEndpointSpec
from azure_gpu.shared.context import resolve_stack
from tests.components.ml.ml_endpoints import BLUE, END, T4, dependencies, workspace
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


def test_what_can_be_had_has_no_problem() -> None:
    assert problems_of(deployments=TWO, traffic={}) == {}
    assert problems_of(deployments=TWO, traffic={"blue": 100}, mirror={"green": 50}) == {}
    assert of_blue(instance_type="standard_ds3_V2") == {}
    assert of_blue(environment="cuda", code={"code": "answers", "script": "score.py"}) == {}
    on_kubernetes = {**BLUE, "environment": "cuda", "code": {"code": "answers", "script": "score.py"}, "instance_type": "gpu"}
    assert problems_of(compute="onprem", deployments={"blue": on_kubernetes}) == {}


def test_without_a_default_instance_type_that_of_azure_has_no_gpu() -> None:
    computes = {"onprem": {**workspace()["computes"]["onprem"], "default_instance_type": ""}}
    without = {"model": "digits", "environment": "scoring"}
    found = problems_of(in_workspace=workspace(computes=computes), compute="onprem", deployments={"blue": without})
    assert "Azure's own default has no GPU" in found[at_blue("instance_type")]


def test_on_kubernetes_people_sign_on_without_entra_and_the_router_says_from_where() -> None:
    on: dict[str, Any] = {"compute": "onprem", "deployments": {"blue": {**BLUE, "instance_type": "gpu"}}}
    spec, problems = resolved(in_workspace=workspace(public=False, reached_privately=True), **on)
    assert (problems, spec.auth, spec.network) == ([], "aml_token", "public")


def test_what_is_named_by_an_id_is_not_looked_for() -> None:
    assert of_blue(model="azureml://registries/azureml/models/a/versions/1", environment="/subscriptions/s/e/1") == {}
    assert of_blue(model="digits:1") == {}


def test_mlflow_models_need_neither_environment_nor_code() -> None:
    assert problems_of(deployments={"blue": {"model": "flow", "instance_type": T4}}) == {}


def test_a_model_may_be_configured_by_code_or_a_variable_or_be_in_the_image() -> None:
    without = {"environment": "scoring", "instance_type": T4}
    assert problems_of(deployments={"blue": {**without, "environment_variables": {"AZUREML_MODEL_DIR": "/models"}}}) == {}
    assert problems_of(deployments={"blue": {**without, "code": {"code": "answers", "script": "score.py"}}}) == {}
    assert of_blue(environment="with-model") == {}
    assert problems_of(deployments={"blue": {"environment": "/subscriptions/s/e/1", "instance_type": T4}}) == {}


def test_an_endpoint_is_private_where_its_workspace_is() -> None:
    assert problems_of(in_workspace=workspace(reached_privately=True), network="private") == {}
    private = workspace(public=False, reached_privately=True)
    assert problems_of(in_workspace=private, network="private") == {}
    assert resolved(in_workspace=private)[0].network == "private"
    assert resolved()[0].network == "public"


def test_private_egress_is_the_older_way() -> None:
    managed = workspace(managed_network=True)
    found = problems_of(in_workspace=managed, deployments={"blue": {**BLUE, "egress": "private"}})
    assert "managed network" in found[at_blue("egress")]
    assert list(problems_of(warnings=True, deployments={"blue": {**BLUE, "egress": "private"}})) == [at_blue("egress")]


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
