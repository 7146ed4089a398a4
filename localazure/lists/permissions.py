"""Microsoft.Authorization/permissions: what the caller may do. ARM's caller may do everything that no fault forbids."""

from typing import Any

from localazure.lists.query import ListQuery


def permissions(query: ListQuery) -> list[dict[str, Any]]:
    return [{"actions": ["*"], "notActions": query.deviations.forbidden(), "dataActions": [], "notDataActions": []}]
