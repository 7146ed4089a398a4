"""What `preflight` prints: failed checks first, equal results together, and what was checked."""

import io
from datetime import date

import pytest
from rich.console import Console

from azure_gpu_operations.preflight.report import Report
from azure_gpu_operations.preflight.rows import Answer, Row

SUBSCRIPTION = "11111111-2222-3333-4444-555555555555"
REGISTERED = [
    Row(subject=f"Microsoft.{each}", check="registration", answer=Answer.OK, message="registered") for each in ("App", "Batch")
]
QUOTA = Row(
    subject="clusters.shared.gpu_pools.t4.size",
    check="quota",
    answer=Answer.NO_QUOTA,
    message="16 vCPUs of Standard NCASv3_T4 Family are requested and the limit of the subscription in westeurope is 8",
    fix="request a limit of 16",
    source="Microsoft Learn, quotas (observed on 2026-09-23)",
)
SECONDS = {"rights": 0.1, "vCPU quotas in westeurope": 0.2}


def shown(report: Report, *, terminal: bool = True, wide: bool = False) -> list[str]:
    file = io.StringIO()
    report.show(Console(file=file, width=80, force_terminal=terminal, color_system=None, highlight=False), wide=wide)
    return file.getvalue().splitlines()


def report(*rows: Row, **more: object) -> Report:
    facts = {"subscription": SUBSCRIPTION, "regions": ("westeurope",), "seconds": SECONDS, **more}
    return Report(as_of=date(2026, 11, 26), rows=rows, **facts)


def test_without_problems_it_names_date_region_subscription_and_lists() -> None:
    assert shown(report(*REGISTERED), wide=True) == [
        "check         result",
        "registration  registered: Microsoft.App, Microsoft.Batch",
        "",
        f"checked as of 2026-11-26 in westeurope: the catalog and 2 lists of subscription {SUBSCRIPTION}: rights, vCPU quotas",
        "no problems found",
    ]


def test_offline_it_says_what_was_not_read() -> None:
    [scope, conclusion] = shown(report(subscription="", seconds={}), terminal=False)
    assert scope.startswith("checked as of 2026-11-26 in westeurope: the catalog only; registrations, rights, offers, quotas")
    assert conclusion == "no problems found"


def test_a_list_that_is_missing_is_not_among_those_that_were_read() -> None:
    lines = shown(report(missing={"rights": "no answer within 60 seconds"}), terminal=False)
    assert lines[0] == "missing: rights: no answer within 60 seconds"
    assert lines[-2].endswith(f"the catalog and 1 list of subscription {SUBSCRIPTION}: vCPU quotas")
    assert lines[-1] == "no problems found so far, but the result is incomplete: 1 list couldn't be read"


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_a_failed_check_comes_first_with_its_fix(terminal: bool) -> None:
    lines = shown(report(*REGISTERED, QUOTA), terminal=terminal)
    assert lines[0] == "clusters.shared.gpu_pools.t4.size: quota: no quota"
    assert "  fix: request a limit of 16" in lines
    assert lines[-1] == "1 of 3 checks failed"
    assert (max(map(len, lines)) <= 80) is terminal
