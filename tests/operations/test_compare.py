"""What differs between two configurations."""

from azure_gpu_operations.review.dangers import Difference, differences


def test_each_leaf_that_differs_is_one_row() -> None:
    first = {"team": "t", "pools": {"a": {"max": 1, "zones": [1]}, "b": {}}, "tags": {}}
    second = {"team": "u", "pools": {"a": {"max": 1, "zones": [2]}}, "tags": {"x": "y"}}
    assert list(differences(first, second)) == [
        Difference("pools.a.zones", "[1]", "[2]"),
        Difference("pools.b", "{}", None),
        Difference("tags.x", None, "y"),
        Difference("team", "t", "u"),
    ]
    assert list(differences(first, first)) == []
