"""What Azure Machine Learning takes as compute, and the clients it had. Expectations are literals read in its documentation."""

from datetime import date

from hypothesis import given, strategies as st

from azure_gpu.catalog import facts
from azure_gpu.catalog.problems import Code, errors
from azure_gpu.catalog.services.machine_learning import deployments
from azure_gpu.catalog.services.machine_learning.compute import Client, client_problems


@given(st.sampled_from(list(Client)), st.dates())
def test_clients_never_raise_and_stay_refused_once_they_are(client: Client, day: date) -> None:
    problems = client_problems(client, day, path="client")
    if any(problem.code is Code.RETIRED for problem in problems):
        later = min(day.toordinal() + 400, date.max.toordinal())
        assert errors(client_problems(client, date.fromordinal(later), path="client"))


# azureml-inference-server-http 1.5.1, read from its wheel
def test_the_scoring_contract_is_the_one_of_1_5_1() -> None:
    values = {fact.name: fact.value for fact in facts.about("machine_learning.scoring")}
    assert (deployments.PORT, deployments.SCORING_ROUTE) == (5001, "/score")
    assert values["WORKER_TIMEOUT"] == "300 seconds"
    assert values["SCORING_TIMEOUT_MS"] == "3,600,000 milliseconds"
    assert "x-ms-run-function-failed: True" in values["error in run"]
    assert values["import of AMLResponse"] == "azureml_inference_server_http.api.aml_response"
