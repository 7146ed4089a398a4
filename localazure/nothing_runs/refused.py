"""Actions, reads and operations of Batch that require something running: refused with 501 where nothing runs."""

from localazure import tables
from localazure.arm.errors import nothing_runs
from localazure.services import Services

# By type and pattern of the action or read: what is missing.
_ROWS = tables.rows(__file__, "refused.tsv")
_REFUSED = {(arm_type, pattern): what for arm_type, pattern, what in _ROWS}
_BATCH = frozenset({("POST", "jobs"), ("POST", "jobs/*/tasks"), ("POST", "jobs/*/addtaskcollection")})


def check(arm_type: str, pattern: str, services: Services) -> None:
    """ArmError 501 for an action or a read of a kind that requires something running."""
    what = _REFUSED.get((arm_type, pattern)) if services.settings.nothing_runs else None
    if what is not None:
        raise nothing_runs(what)


def check_batch(method: str, pattern: str, services: Services) -> None:
    """ArmError 501 for such an operation of Batch's data plane, by its path with `*` for each name."""
    if services.settings.nothing_runs and (method, pattern) in _BATCH:
        raise nothing_runs("node that runs tasks")
