"""What Azure Machine Learning takes as compute, and the clients it had. Expectations are literals read in its documentation."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog import facts
from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.services.machine_learning import scoring
from azure_gpu.catalog.services.machine_learning.clients import Client, client_problems
from azure_gpu.catalog.services.machine_learning.compute import MachineRequest, kind_problems, machine_problems
from azure_gpu.catalog.services.machine_learning.sizes import size_problems
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size

TODAY = date(2026, 11, 20)


def size(name: str) -> Size:
    found = SIZES.find(name)
    assert found is not None
    return found


def problems_of(name: str, day: date, service: Service = Service.ML_COMPUTE, **changed: Any) -> list[Problem]:
    values: dict[str, Any] = {"region": "southcentralus", "path": "size", "region_path": "region", **changed}
    return list(size_problems(size(name), SizeUse(service=service, size=name, **values), day))


def only(problems: list[Problem]) -> Problem:
    (problem,) = problems
    return problem


# Microsoft Learn, retiring-vms, 2024-10-17: retired on August 31, 2023
@pytest.mark.parametrize("name", ["NC6", "NC6_Promo", "NC6s_v2", "ND6s", "NV6", "NV6_Promo"])
def test_clusters_lost_the_first_n_series_days_before_the_machines(name: str) -> None:
    assert problems_of(name, date(2023, 1, 1)) == []
    near = only(problems_of(name, date(2023, 8, 31)))
    assert (near.code, near.severity) == (Code.RETIRING, Severity.WARNING)
    gone = only(problems_of(name, date(2023, 9, 1)))
    assert (gone.code, gone.severity) == (Code.RETIRED, Severity.ERROR)
    assert "2023-08-31" in gone.message
    assert problems_of(name, TODAY) == []  # the machine's own retirement, 2023-09-06, says it


def test_clusters_had_hb_until_2024_08_31() -> None:
    assert problems_of("HB60rs", date(2024, 1, 1)) == []
    near = only(problems_of("HB60rs", date(2024, 8, 31)))
    assert (near.code, near.severity) == (Code.RETIRING, Severity.WARNING)
    assert "2024-08-31" in near.message


# Microsoft Learn, concept-compute-target, 2024-01-23
@pytest.mark.parametrize(
    "name", ["NC6s_v3", "ND40rs_v2", "NV12s_v3", "NC4as_T4_v3", "ND96asr_v4", "HC44rs", "HB120rs_v2", "HB120rs_v3"]
)
def test_clusters_take_the_series_of_the_page_about_compute_targets(name: str) -> None:
    assert problems_of(name, date(2025, 1, 1)) == []


@pytest.mark.parametrize("name", ["ND96isr_H200_v5", "NC24ads_A100_v4", "NV8ads_V710_v5"])
def test_a_series_that_no_page_names_is_a_warning(name: str) -> None:
    problem = only(problems_of(name, TODAY))
    assert (problem.code, problem.severity, problem.path) == (Code.UNKNOWN, Severity.WARNING, "size")
    assert "az ml compute list-sizes" in problem.fix


def test_spot_machines_are_taken_before_and_after_low_priority_ended() -> None:
    for day in (date(2026, 1, 1), date(2026, 4, 1), TODAY):
        assert problems_of("NC4as_T4_v3", day, spot=True) == []


# The second source document, 2017-09-14
def machine(**changed: Any) -> MachineRequest:
    values: dict[str, Any] = {
        "address": "52.1.2.3",
        "user_name": "me",
        "has_password": True,
        "has_private_key": False,
        **changed,
    }
    return MachineRequest(
        path="machine", address_path="address", user_path="user", system_path="system", port_path="port", **values
    )


def test_the_set_up_of_the_second_document_is_taken_at_its_date() -> None:
    day = date(2017, 9, 14)
    assert client_problems(Client.WORKBENCH, day, path="client") == []
    assert machine_problems(machine(), day) == []
    assert errors(problems_of("Standard_NC6", day)) == []


def test_the_set_up_of_the_second_document_is_refused_today_with_what_to_use() -> None:
    problem = only(client_problems(Client.WORKBENCH, TODAY, path="client"))
    assert (problem.code, problem.severity, problem.instead) == (Code.RETIRED, Severity.ERROR, ("CLI v2", "SDK v2"))
    assert "2019-01-09" in problem.message
    attached = only(machine_problems(machine(), TODAY))
    assert (attached.code, attached.severity) == (Code.UNKNOWN, Severity.WARNING)


# The fifth source document, 2019-05-02
def test_the_set_up_of_the_fifth_document_is_taken_at_its_date() -> None:
    day = date(2019, 5, 2)
    assert client_problems(Client.SDK_V1, day, path="client") == []
    assert kind_problems("AKS", day, path="compute") == []


def test_the_set_up_of_the_fifth_document_is_refused_today_with_what_to_use() -> None:
    client = only(client_problems(Client.SDK_V1, TODAY, path="client"))
    assert (client.code, client.instead) == (Code.RETIRED, ("SDK v2", "CLI v2"))
    assert "2026-06-30" in client.message
    kind = only(kind_problems("AKS", TODAY, path="compute"))
    assert (kind.code, kind.severity, kind.instead) == (Code.RETIRED, Severity.ERROR, ("Kubernetes",))


@pytest.mark.parametrize(
    ("client", "last"),
    [
        (Client.WORKBENCH, date(2019, 1, 9)),
        (Client.CLI_V1, date(2025, 9, 30)),
        (Client.SDK_V1, date(2026, 6, 30)),
        (Client.PREVIEW_FEATURES, date(2026, 3, 31)),
        (Client.BATCH_ENDPOINT_PREVIEW, date(2026, 3, 16)),
    ],
)
def test_a_client_can_be_used_until_its_last_day(client: Client, last: date) -> None:
    there = only(client_problems(client, last, path="client"))
    assert (there.code, there.severity) == (Code.RETIRING, Severity.WARNING)
    gone = only(client_problems(client, date.fromordinal(last.toordinal() + 1), path="client"))
    assert (gone.code, gone.severity) == (Code.RETIRED, Severity.ERROR)
    assert last.isoformat() in gone.message


def test_the_successor_is_one_of_the_day() -> None:
    assert only(client_problems(Client.WORKBENCH, date(2019, 6, 1), path="client")).instead == ("SDK v1", "CLI v1")
    assert only(client_problems(Client.WORKBENCH, date(2019, 1, 10), path="client")).instead == ("CLI v1",)


@pytest.mark.parametrize("client", [Client.SDK_V2, Client.CLI_V2])
def test_version_2_is_what_there_is(client: Client) -> None:
    assert client_problems(client, TODAY, path="client") == []


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
