"""What Azure Machine Learning takes as compute, and the clients it had. Expectations are literals read in its documentation."""

from azure_gpu.catalog import facts
from azure_gpu.catalog.services.machine_learning import deployments


# azureml-inference-server-http 1.5.1, read from its wheel
def test_the_scoring_contract_is_the_one_of_1_5_1() -> None:
    values = {fact.name: fact.value for fact in facts.about("machine_learning.scoring")}
    assert (deployments.PORT, deployments.SCORING_ROUTE) == (5001, "/score")
    assert values["WORKER_TIMEOUT"] == "300 seconds"
    assert values["SCORING_TIMEOUT_MS"] == "3,600,000 milliseconds"
    assert "x-ms-run-function-failed: True" in values["error in run"]
    assert values["import of AMLResponse"] == "azureml_inference_server_http.api.aml_response"
