"""docs/weather.md: `python -m localazure.weather.page` writes it to standard output, from the parts and what always holds."""

import sys
from collections.abc import Iterator

from localazure.weather.parts import PARTS, Part, Source

_BEGIN = """\
# Rough weather

<!-- Written by `make renew` from localazure/weather/parts.toml. -->

Azure answers late, refuses what it permits a minute later, and changes things by itself. So does the embedded Azure by default,
with seconds for Azure's minutes. `make up WEATHER=calm`, or `python -m localazure start --weather calm`, starts it without; the
state folder keeps the weather until `--weather rough`, and `python -m localazure status` shows it.

Each part can also be set as a fault, in any weather, until `fault clear`:

    python -m localazure fault weather role-delay --seconds 20      turns one part on
    python -m localazure fault calm role-delay                      leaves one part out

Evidence has a rank: *recorded* in a session with Azure, *documented* by Microsoft or by an answer that users quote in public, or
*assumed*, with what is assumed in the text.

## What every subscription meets: `--weather rough`

"""
_SOME = """
## What some subscriptions have: only as faults

Policies and throttling of single requests take more than a name:

    python -m localazure fault policy-deny no-keys properties.allowSharedKeyAccess true --path '*/storageAccounts/*'
    python -m localazure fault policy-tag cost cost-center 42
    python -m localazure fault throttle --path '*/batchAccounts/*' --seconds 5

"""
_ALWAYS = (
    (
        "a role assignment that is there already",
        "409 `RoleAssignmentExists`, with the id of the other",
        Source("Microsoft Learn, role-based-access-control/troubleshooting", "2026-11-24", "documented"),
    ),
    (
        "the name of a deleted key vault",
        "409 `ConflictError` until it is purged or its days are over (`fault clock DAY`)",
        Source("alan-turing-institute/data-safe-haven issue 2523", "2026-11", "documented"),
    ),
    (
        "the name of a deleted workspace of Azure ML",
        "400 `BadRequest` for 14 days, unless it is purged or recovered",
        Source("Microsoft Learn, machine-learning/concept-soft-delete", "2026-11", "documented"),
    ),
    (
        "an environment of Container Apps that isn't ready",
        "`ManagedEnvironmentNotProvisioned` for its jobs",
        Source("Azure Service Operator, recording Test_App_v1api20250101_CreationAndDeletion", "2026-04-02", "recorded"),
    ),
)
_END = """
## A support request for quota

The quotas of `batch-quota` and `environment-quota` belong to one resource and go with it. They are raised as in Azure, by a
request to `Microsoft.Support`; here it is granted after a few seconds:

    az rest --method put --body @request.json \\
      --url "/subscriptions/ID/providers/Microsoft.Support/supportTickets/gpus?api-version=2024-04-01"

`quotaTicketDetails` of a Batch account, after Microsoft's page (`Type` is `Dedicated` with a family, `LowPriority` or `Pools`):

    {"quotaChangeRequestSubType": "Account", "quotaChangeRequestVersion": "1.0",
     "quotaChangeRequests": [{"region": "westeurope",
       "payload": "{\\"AccountName\\":\\"NAME\\",\\"VMFamily\\":\\"Standard NCASv3_T4 Family\\",
                   \\"NewLimit\\":16,\\"Type\\":\\"Dedicated\\"}"}]}

For an environment no payload is published; here it is `{"ResourceId": "/subscriptions/…/managedEnvironments/NAME", "Type":
"ManagedEnvironmentConsumptionT4Gpus", "NewLimit": 1}`. `GET …/managedEnvironments/NAME/usages` and the account's properties tell
the limits.
"""


def page() -> str:
    """The whole page."""
    rough = [part for part in PARTS.values() if part.rough]
    some = [part for part in PARTS.values() if not part.rough]
    return "".join([_BEGIN, *_table(rough), _SOME, *_table(some), *_always(), _END])


def _table(parts: list[Part]) -> Iterator[str]:
    yield "| `fault weather` … | what it does | how long here | in Azure | evidence |\n| --- | --- | --- | --- | --- |\n"
    for part in parts:
        evidence = "; ".join(_source(source) for source in part.sources)
        yield f"| `{part.name}` | {part.what} | {part.here} | {part.there} | {evidence} |\n"


def _always() -> Iterator[str]:
    yield "\n## What holds in any weather\n\n| what | how it answers | evidence |\n| --- | --- | --- |\n"
    for what, how, source in _ALWAYS:
        yield f"| {what} | {how} | {_source(source)} |\n"


def _source(source: Source) -> str:
    return f"{source.rank}: {source.text} ({source.day})"


if __name__ == "__main__":
    sys.stdout.write(page())
