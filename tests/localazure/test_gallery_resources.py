"""Compute galleries with Azure's own client and the provider's bodies, and pools from their images."""

from typing import Any

import pytest

from tests.support.batch_bodies import API, details, new_name, pool, put_account
from tests.support.embedded import EmbeddedAzure

COMPUTE = "2024-03-03"
IDENTIFIER = {"publisher": "lab", "offer": "gpu", "sku": "a"}


@pytest.fixture
def gallery(azure: EmbeddedAzure, group: str) -> str:
    path = f"{group}/providers/Microsoft.Compute/galleries/gallery_{new_name()}"
    answer = azure.put(path, {"location": "westeurope"}, COMPUTE)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def definition(**properties: Any) -> dict[str, Any]:
    given = {"osType": "Linux", "osState": "Generalized", "hyperVGeneration": "V2", "identifier": IDENTIFIER, **properties}
    return {"location": "westeurope", "properties": given}


def version(source: str, **publishing: Any) -> dict[str, Any]:
    return {"location": "westeurope", "properties": {"storageProfile": {"source": {"id": source}}, **publishing}}


def snapshot(group: str) -> str:
    return f"{group}/providers/Microsoft.Compute/snapshots/gpu"


@pytest.fixture
def image(azure: EmbeddedAzure, gallery: str) -> str:
    answer = azure.put(f"{gallery}/images/gpu", definition(), COMPUTE)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def made(azure: EmbeddedAzure, image: str, group: str, number: str = "1.0.0") -> str:
    path = f"{image}/versions/{number}"
    azure.finished(azure.put(path, version(snapshot(group)), COMPUTE))
    return path


def test_a_gallery_has_several_definitions(azure: EmbeddedAzure, gallery: str, image: str) -> None:
    other = definition(identifier={**IDENTIFIER, "sku": "b"})
    assert azure.put(f"{gallery}/images/other", other, COMPUTE).status_code == 201
    assert azure.get(image, COMPUTE).status_code == 200


def test_a_pool_comes_from_a_version_that_is_there(azure: EmbeddedAzure, image: str, group: str) -> None:
    account = put_account(azure, group)["id"]

    def put(image_id: str, **machine: Any) -> Any:
        body = pool({"imageReference": {"id": image_id}, **machine})
        return azure.put(f"{account}/pools/train", body, API)

    def reason(answer: Any) -> str:
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "InvalidPropertyValue")
        return details(answer)["Reason"]

    assert reason(put(image)) == "The image doesn't exist or isn't ready."
    path = made(azure, image, group)
    assert reason(put(f"{image}/versions/2.0.0")) == "The image doesn't exist or isn't ready."
    assert "runs Linux" in reason(put(path, nodeAgentSkuId="batch.node.windows amd64"))
    assert put(path).status_code == 200


def test_a_pools_size_boots_the_images_generation(azure: EmbeddedAzure, gallery: str, group: str) -> None:
    first = f"{gallery}/images/first"
    azure.put(first, definition(hyperVGeneration="V1", identifier={**IDENTIFIER, "sku": "v1"}), COMPUTE)
    account = put_account(azure, group)["id"]
    body = pool({"imageReference": {"id": made(azure, first, group)}}, vmSize="Standard_ND96isr_H100_v5")
    answer = azure.put(f"{account}/pools/train", body, API)
    assert "this is Gen1" in details(answer)["Reason"]


def test_a_managed_image_was_taken_until_2026_03_31(azure: EmbeddedAzure, group: str) -> None:
    account = put_account(azure, group)["id"]
    body = pool({"imageReference": {"id": f"{group}/providers/Microsoft.Compute/images/gpu"}})
    assert azure.put(f"{account}/pools/then", {**body, "tags": {"as-of": "2026-03-31"}}, API).status_code == 200
    answer = azure.put(f"{account}/pools/now", {**body, "tags": {"as-of": "2026-04-01"}}, API)
    assert "managed image" in details(answer)["Reason"]
