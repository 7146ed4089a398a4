"""Failures of tasks, nodes and resizes as Batch reports them; their sentences are in `localazure/evidence/codes.tsv`.

Sources: Microsoft Learn, rest/api/batchservice, "Batch status and error codes"; failures that users have shown in public:
Azure/Batch issues 4, 49, 122 (containers), microsoft/CromwellOnAzure issue 29 (registries), MicrosoftDocs/azure-docs issue 53298
(core quota), Azure/BatchExplorer issue 2085 and Azure/batch-shipyard issue 191 (timeout of a resize). Where a sentence was read
nowhere it is the embedded Azure's own, in the manner of the others.
"""

from collections.abc import Mapping

from localazure import evidence
from localazure.arm.store import Body
from localazure.batch.errors import SERVICE
from localazure.evidence import Code

SERVER = "servererror"  # as the data plane spells it


def _row(code: str) -> Code:
    """Its status is the category."""
    codes = evidence.codes()
    return codes.get((SERVICE, code)) or codes["Microsoft.Batch", code]


class TaskError(Exception):
    """A task that can't run, or whose files aren't available. `body` is its failure information."""

    def __init__(self, code: str, **details: str) -> None:
        self.code = code
        self.body = task(code, **details)
        super().__init__(f"{code}: {self.body['message']} {details}")


class NodeError(Exception):
    """A node that can't be used. `body` stands among its errors."""

    def __init__(self, code: str, **details: str) -> None:
        self.body: Body = {"code": code, "message": _row(code).message, "errorDetails": _pairs(details)}
        super().__init__(f"{code}: {self.body['message']} {details}")


def task(code: str, category: str = "", **details: str) -> Body:
    """taskFailureInformation."""
    row = _row(code)
    given = _pairs(details or {"Message": row.message})
    return {"category": category or row.status, "code": code, "message": row.message, "details": given}


def resize(code: str, what: str = "") -> Body:
    return {"code": code, "message": _row(code).message.format(what)}


def _pairs(details: Mapping[str, str]) -> list[Body]:
    return [{"name": name, "value": value} for name, value in details.items()]
