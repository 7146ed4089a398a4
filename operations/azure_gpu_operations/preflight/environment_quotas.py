"""Checks the GPU quotas of Container Apps: each belongs to one environment, which must exist before more can be requested."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from azure.core.exceptions import HttpResponseError

from azure_gpu.catalog.services.container_apps import PROFILES, QUOTAS, QUOTAS_PAGE
from azure_gpu.formats import arm_ids
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.azure import SignIn, get_list
from azure_gpu_operations.job_bodies import API_VERSION
from azure_gpu_operations.preflight.fetching import Outcome, retries
from azure_gpu_operations.preflight.lists import ListKey, ListKind
from azure_gpu_operations.preflight.rows import Answer, Row

if TYPE_CHECKING:  # it loads all components, and `--help` needs none
    from azure_gpu.stack.requests import EnvironmentUse

_NOT_FOUND = 404


class Quotas(NamedTuple):
    """The limits of an environment by their names in lower case; `there` False: it is still to be made."""

    there: bool
    limits: Mapping[str, int]


def readers(login: SignIn, uses: "Iterable[EnvironmentUse]") -> dict[ListKey, Callable[[], Any]]:
    """One for each environment."""
    return {_key(use): partial(_quotas, login, use.environment) for use in uses}


def rows(uses: "Iterable[EnvironmentUse]", outcomes: Mapping[ListKey, Outcome[Any]], stack: str) -> list[Row]:
    """One for each GPU of an environment."""
    return [_row(use, outcomes[_key(use)].value, stack) for use in uses]


def _key(use: "EnvironmentUse") -> ListKey:
    return ListKey(ListKind.ENVIRONMENT_QUOTAS, use.environment.rsplit("/", 1)[-1])


def _quotas(login: SignIn, environment: str) -> Quotas:
    try:
        listed = get_list(f"{environment}/usages", API_VERSION, login, retries())
    except HttpResponseError as error:
        if error.status_code == _NOT_FOUND:
            return Quotas(there=False, limits={})
        raise
    return Quotas(there=True, limits={str(each["name"]["value"]).lower(): int(each["limit"]) for each in listed})


def _row(use: "EnvironmentUse", found: Quotas | None, stack: str) -> Row:
    gpu, quota = PROFILES[use.profile].gpu, QUOTAS[use.profile]
    environment = arm_ids.parse(use.environment)
    name = environment.name if environment is not None else use.environment
    show = f"`az containerapp env list-usages --name {name}"
    show += f" --resource-group {environment.resource_group}`" if environment is not None else "`"
    request = f"on the environment's Quota page in the portal, or in a support request; {show} shows the granted limit"

    def row(answer: Answer, message: str, fix: str = "") -> Row:
        return Row(use.path, "quota", answer, message, fix=fix, source=str(QUOTAS_PAGE))

    if found is None:
        return row(Answer.UNKNOWN, f"couldn't be read: {_key(use)}")
    if not found.there:
        return row(
            Answer.UNKNOWN,
            f"{gpu}s are granted to one environment, and {name} doesn't exist yet; its first quota may be 0",
            f"create it by `{COMMAND} up --stack {stack}`, run preflight again, and request the missing quota {request}; `keep: "
            "true` of job_environment keeps it when the stack is destroyed",
        )
    limit = found.limits.get(quota.lower())
    if limit is None:
        return row(Answer.UNKNOWN, f"Azure reports no limit of {gpu}s for the environment {name} ({quota})", show)
    if limit >= use.gpus:
        return row(Answer.OK, f"{use.gpus} of {limit} {gpu}s of the environment {name}")
    return row(
        Answer.NO_QUOTA,
        f"jobs use up to {use.gpus} {gpu}s at once; the limit of the environment {name} is {limit}",
        f"request a limit of {use.gpus} for {quota} {request}",
    )
