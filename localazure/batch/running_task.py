"""A task that runs, with its nodes."""

import asyncio
import secrets

from localazure.arm.store import Body
from localazure.batch import task_environment as variables
from localazure.batch.model import TaskRun
from localazure.batch.nodes.node import Node


class RunningTask:
    """One task on its nodes."""

    def __init__(self, run: TaskRun, nodes: list[Node], name: str = "") -> None:
        self.run = run
        self.nodes = nodes
        self.name = name or f"{run.key.job}/{run.key.task}/{secrets.token_hex(4)}"  # of this try, known to its nodes
        self.folder = variables.job_folder(self.node.root, run.job) / str(run.task["id"])
        self.fate = ""  # or one of those of `task_runs`, once somebody has asked for its end
        self.reason = ""
        self.commanded = False  # whether a node has its command; before that it is prepared, and can be given up at once
        self.succeeded: bool | None = None  # None where it didn't run to its end
        self.subtasks: list[Body] = []  # of a multi-instance task
        self.work: asyncio.Task[None] | None = None

    @property
    def node(self) -> Node:
        return self.nodes[0]

    def is_commanded(self) -> None:
        self.commanded = True

    @property
    def context(self) -> Body:
        """By which a later server knows it again."""
        key = self.run.key
        return {"account": key.account, "job": key.job, "task": key.task, "nodes": [node.id for node in self.nodes]}
