"""Microsoft.Authorization/permissions: what the caller may do. ARM's caller may do everything that no fault forbids."""

from typing import Any

from localazure.lists.asked import Asked

API_VERSIONS = frozenset({"2015-07-01", "2018-07-01", "2022-04-01"})


def permissions(asked: Asked) -> list[dict[str, Any]]:
    return [{"actions": ["*"], "notActions": asked.deviations.forbidden(), "dataActions": [], "notDataActions": []}]
