"""Executions of Container Apps jobs, none of which begins: neither by a schedule nor on request."""

from localazure.apps.executions import Executions, Work
from localazure.arm.errors import nothing_runs
from localazure.arm.store import Body


class NoExecutions(Executions):
    def begin(self, job_key: str, record: Body, work: Work) -> None:  # noqa: ARG002
        raise nothing_runs("execution of a job")
