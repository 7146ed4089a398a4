"""What services read past, and real clients rely on: another letter case of a name, and `null` for "not given"."""

from tests.localazure.conftest import new_group
from tests.support.embedded import EmbeddedAzure

REGISTRIES = "2023-01-01-preview"


def registry(azure: EmbeddedAzure, name: str) -> str:
    return f"{new_group(azure)}/providers/Microsoft.ContainerRegistry/registries/{name}"


def test_names_of_properties_are_read_without_regard_to_letter_case(azure: EmbeddedAzure) -> None:
    path = registry(azure, "lettercase")
    body = {"location": "westeurope", "SKU": {"Name": "Basic"}, "properties": {"AdminUserEnabled": True}}
    answer = azure.put(path, body, REGISTRIES)
    assert answer.status_code in (200, 201), answer.text
    found = azure.get(path, REGISTRIES).json()
    assert (found["sku"]["name"], found["properties"]["adminUserEnabled"]) == ("Basic", True)
    assert "SKU" not in found


def test_null_in_the_objects_of_a_list_counts_as_not_given(azure: EmbeddedAzure) -> None:
    container = {"name": "one", "properties": {"image": "k8s-gcrio.azureedge.net/cuda-vector-add:v0.1", "command": None}}
    container["properties"]["resources"] = {"requests": {"cpu": 1, "memoryInGB": 1, "gpu": None}}
    body = {"location": "westeurope", "properties": {"osType": "Linux", "restartPolicy": "Never", "containers": [container]}}
    path = f"{new_group(azure)}/providers/Microsoft.ContainerInstance/containerGroups/nulls"
    answer = azure.put(path, body, "2023-05-01")
    assert answer.status_code == 201, answer.text
    (found,) = azure.get(path, "2023-05-01").json()["properties"]["containers"]
    assert "command" not in found["properties"]
    assert found["properties"]["resources"] == {"requests": {"cpu": 1, "memoryInGB": 1}}
