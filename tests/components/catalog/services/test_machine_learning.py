"""What Azure Machine Learning takes as compute, and the clients it had. Expectations are literals read in its documentation."""

from datetime import date

from hypothesis import given, strategies as st

from azure_gpu.catalog import facts
from azure_gpu.catalog.problems import Code, errors
from azure_gpu.catalog.services.machine_learning import scoring
from azure_gpu.catalog.services.machine_learning.clients import Client, client_problems
from azure_gpu.catalog.services.machine_learning.sizes import size_problems
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size


def size(name: str) -> Size:
    found = SIZES.find(name)
    assert found is not None
    return found


@given(st.sampled_from(list(Client)), st.dates())
def test_clients_never_raise_and_stay_refused_once_they_are(client: Client, day: date) -> None:
    problems = client_problems(client, day, path="client")
    if any(problem.code is Code.RETIRED for problem in problems):
        later = min(day.toordinal() + 400, date.max.toordinal())
        assert errors(client_problems(client, date.fromordinal(later), path="client"))


@given(
    st.sampled_from(list(SIZES)),
    st.sampled_from([Service.ML_COMPUTE, Service.ML_ENDPOINT]),
    st.text(max_size=12),
    st.dates(),
    st.integers(),
    st.booleans(),
)
def test_no_size_on_any_day_raises(one: Size, service: Service, region: str, day: date, nodes: int, spot: bool) -> None:
    use = SizeUse(service=service, size=one.name, region=region, nodes=nodes, spot=spot, path="size", region_path="region")
    problems = list(size_problems(one, use, day))
    assert all(problem.path == "size" and problem.message and problem.source for problem in problems)
    if service is Service.ML_ENDPOINT:
        assert any(problem.value == nodes for problem in errors(problems)) == (nodes < 1)


# azureml-inference-server-http 1.5.1, read from its wheel
def test_the_scoring_contract_is_the_one_of_1_5_1() -> None:
    values = {fact.name: fact.value for fact in facts.about("machine_learning.scoring")}
    assert (scoring.PORT, scoring.SCORING_ROUTE) == (5001, "/score")
    assert values["WORKER_TIMEOUT"] == "300 seconds"
    assert values["SCORING_TIMEOUT_MS"] == "3,600,000 milliseconds"
    assert "x-ms-run-function-failed: True" in values["error in run"]
    assert values["import of AMLResponse"] == "azureml_inference_server_http.api.aml_response"


def test_what_the_documents_use_of_the_old_clients_is_kept() -> None:
    values = {fact.name: fact.value for fact in facts.about("machine_learning.clients")}
    assert "microsoft/mmlspark:plus-gpu-0.9.9" in values["Workbench: base image with GPU"]
    assert "AZUREML_MODEL_DIR" in values["SDK v1: path of the model"]
