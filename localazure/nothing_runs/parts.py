"""What runs behind the resources, as classes: those that run something, and those that stand for them where nothing does.

Executions don't begin, pools of Batch have no nodes, machines have no process, and deployments of Azure ML serve nothing; what
was requested of each is shown. Blobs, clusters and images have modules of their own.
"""

from typing import NamedTuple

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from localazure.apps.executions import Executions, Work
from localazure.arm.errors import nothing_runs
from localazure.arm.kind import Change
from localazure.arm.store import Body, Resource
from localazure.batch.pool import Pool
from localazure.batch.pools import Pools
from localazure.blobs.service import Blobs
from localazure.containers.images import Images
from localazure.kubernetes.clusters import Clusters
from localazure.kubernetes.pools import ClusterPools
from localazure.machines.machine import RUNNING as UP, Machine
from localazure.machines.machines import Machines
from localazure.machines.ml_jobs import JobRunner
from localazure.ml.router import PREFIX
from localazure.ml.service import OnlineEndpoints
from localazure.nothing_runs.blobs import LazyBlobs
from localazure.nothing_runs.images import PromisedImages
from localazure.nothing_runs.kubernetes import StillClusterPools, StillClusters


class NoExecutions(Executions):
    def begin(self, job_key: str, record: Body, work: Work) -> None:  # noqa: ARG002
        raise nothing_runs("execution of a job")


class EmptyPool(Pool):
    """Its resizes end at once, without nodes and without an error."""

    def _grow(self, count: int, *, dedicated: bool) -> list[Body]:  # noqa: ARG002
        return []


class EmptyPools(Pools):
    pool = EmptyPool


class StillMachine(Machine):
    """Up at once, and down again without anything to end."""

    async def adopt(self) -> bool:
        self.early.set()
        return True

    def install_programs(self) -> None:
        """It has no file system."""

    async def _up(self) -> None:
        self.record["boots"] += 1
        self.early.set()
        self.enter(UP)

    async def _down(self) -> None:
        """Nothing runs on it."""


class StillMachines(Machines):
    machine = StillMachine


class SilentEndpoints(OnlineEndpoints):
    """A deployment counts as one that serves as soon as it is declared, so that it takes traffic."""

    def around(self, app: ASGIApp) -> ASGIApp:
        async def answering(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and scope["path"].startswith(PREFIX):
                refusal = nothing_runs("deployment that scores")
                await JSONResponse(refusal.body(), refusal.status)(scope, receive, send)
            else:
                await app(scope, receive, send)

        return answering

    async def started(self) -> None:
        self._apply_all()

    async def deploy(self, deployment: Resource, *, resumed: bool = False) -> None:  # noqa: ARG002
        self._serves_now(deployment.key, {})

    async def remove(self, deployment: Resource) -> None:
        self._forget(deployment.key)


class NoJobs(JobRunner):
    """Clusters have the nodes that they keep, as ARM counts them, and take no job."""

    def check(self, change: Change) -> None:  # noqa: ARG002
        raise nothing_runs("node on which a job would run")


class Parts(NamedTuple):
    """Each is made once by the server."""

    images: type[Images]
    executions: type[Executions]
    blobs: type[Blobs]
    batch_pools: type[Pools]
    clusters: type[Clusters]
    cluster_pools: type[ClusterPools]
    endpoints: type[OnlineEndpoints]
    machines: type[Machines]
    ml_jobs: type[JobRunner]


RUNNING = Parts(Images, Executions, Blobs, Pools, Clusters, ClusterPools, OnlineEndpoints, Machines, JobRunner)
STILL = Parts(
    images=PromisedImages,
    executions=NoExecutions,
    blobs=LazyBlobs,
    batch_pools=EmptyPools,
    clusters=StillClusters,
    cluster_pools=StillClusterPools,
    endpoints=SilentEndpoints,
    machines=StillMachines,
    ml_jobs=NoJobs,
)
