"""Each refusal of the embedded Azure has its evidence, and none is in words of the program's own."""

from pathlib import Path

from azure_gpu.catalog.problems import Code
from localazure import evidence
from localazure.evidence import coverage
from localazure.wiring import without_backends
from tests.support.refusal_codes import all_of

NOT_IMITATED = "NotImplemented"  # 501, by name: no refusal of Azure's
# Texts that stand where a code does, in headers and documents that are no refusals.
NO_CODES = {"Accept", "Code", "Message", "None"}


def test_each_code_has_a_row_with_its_evidence() -> None:
    answered = {(each.service, each.code): each for each in all_of() if each.code not in {*NO_CODES, NOT_IMITATED}}
    missing = {f"{where.module}:{where.line} {service} {code}" for (service, code), where in answered.items()
               if (service, code) not in evidence.codes()}  # fmt: skip
    assert missing == set()
    assert len(answered) > 250, "the codes are found"


def test_a_row_is_complete_and_a_recorded_one_names_a_session() -> None:
    for row in evidence.codes().values():
        assert row.rank in evidence.RANKS, row
        assert row.source, row
        assert (row.rank == "recorded") == row.source.lower().startswith("test_"), row


def test_no_code_of_the_program_is_answered() -> None:
    ours = {code.value for code in Code}
    assert {each for each in all_of() if each.code in ours} == set()


def test_the_page_is_current() -> None:
    page = (Path(__file__).parents[2] / "docs" / "coverage.md").read_text(encoding="utf-8")
    assert page == coverage.page(), "make renew"


def test_what_is_recorded_or_runs_is_served() -> None:
    served = {(kind.arm_type, operation) for kind in without_backends() for operation in coverage.operations(kind)}
    assert set(evidence.recorded()) - served == set()
    assert set(evidence.runs()) <= {kind.arm_type for kind in without_backends()}
