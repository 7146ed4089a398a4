"""The classes of the backends, those that run something and those that don't."""

from typing import NamedTuple

from localazure.apps.executions import Executions
from localazure.batch.pools import Pools
from localazure.blobs.service import Blobs
from localazure.containers.images import Images
from localazure.kubernetes.clusters import Clusters
from localazure.kubernetes.pools import ClusterPools
from localazure.machines.machines import Machines
from localazure.machines.ml_jobs import JobRunner
from localazure.ml.service import OnlineEndpoints
from localazure.nothing_runs.batch import EmptyPools
from localazure.nothing_runs.blobs import LazyBlobs
from localazure.nothing_runs.executions import NoExecutions
from localazure.nothing_runs.images import PromisedImages
from localazure.nothing_runs.kubernetes import StillClusterPools, StillClusters
from localazure.nothing_runs.machine_learning import NoJobs, SilentEndpoints
from localazure.nothing_runs.machines import StillMachines


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
