"""Types that jobs, tasks and nodes of Batch share.

Bodies are JSON objects as the data plane's API writes them (camelCase), kept as plain dictionaries.
"""

from typing import NamedTuple

from localazure.arm.store import Body

UNLIMITED_DAYS = 100_000  # longer than this isn't a limit: the service writes P10675199DT2H48M5.4775807S for none


class PoolKey(NamedTuple):
    """A pool: the key of its account (lower-case ARM id) and its own id, in lower case."""

    account: str
    pool: str


class TaskKey(NamedTuple):
    """A task: the key of its account, and its job's and its own id in lower case."""

    account: str
    job: str
    task: str


class TaskRun(NamedTuple):
    """A task that may start now."""

    key: TaskKey
    pool: PoolKey
    task: Body  # as stored: id, commandLine, resourceFiles, environmentSettings, multiInstanceSettings, …
    job: Body  # as stored: id, commonEnvironmentSettings, jobPreparationTask, …
    slots: int  # requiredSlots
    instances: int  # nodes at once: 1, or the numberOfInstances of a multi-instance task


class TaskNode(NamedTuple):
    """Where a task runs; of a multi-instance task its primary node."""

    node_id: str
    affinity_id: str
    root: str  # the task's folder relative to the node's: workitems/job/job-1/task

    def info(self, account_url: str, pool: str) -> Body:
        """nodeInfo."""
        address = f"{account_url}/pools/{pool}/nodes/{self.node_id}"
        return {
            "affinityId": self.affinity_id,
            "nodeUrl": address,
            "poolId": pool,
            "nodeId": self.node_id,
            "taskRootDirectory": self.root,
            "taskRootDirectoryUrl": f"{address}/files/{self.root}",
        }


class Outcome(NamedTuple):
    """How a run of a task ended."""

    started_at: str  # RFC 3339, UTC
    ended_at: str
    exit_code: int | None = None  # None: it never ran, or was ended
    failure: Body | None = None  # taskFailureInformation: category (UserError, ServerError), code, message, details
    container: Body | None = None  # containerInfo
    retried: bool = True  # False: no retry helps, such as a command that was terminated by a user
