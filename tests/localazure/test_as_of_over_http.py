"""A tag that is no date is refused before anything is stored; the pure rules are in test_paths_and_dates.py."""

from tests.localazure.conftest import GROUPS
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure


def test_a_bad_as_of_tag_is_refused_and_nothing_is_stored(azure: EmbeddedAzure) -> None:
    path = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-bad-date"
    answer = azure.put(path, {"location": "westeurope", "tags": {"as-of": "soon"}}, GROUPS)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "InvalidTagValue")
    assert azure.get(path, GROUPS).status_code == 404
