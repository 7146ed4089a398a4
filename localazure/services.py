"""What every kind of resource may use: the store, the clock, images and containers, tokens, and the settings of this server.

One object, made once by the server and handed to each kind, so that nothing in localazure holds global state.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from localazure.arm.store import Store
from localazure.weather.state import Weather

if TYPE_CHECKING:
    from localazure.apps.executions import Executions
    from localazure.arm.door import Door
    from localazure.batch.pools import Pools
    from localazure.batch.work import Work
    from localazure.blobs.service import Blobs
    from localazure.containers.images import Images
    from localazure.containers.runtime import Runtime
    from localazure.entra.tokens import Tokens
    from localazure.kubernetes.clusters import Clusters
    from localazure.kubernetes.pools import ClusterPools
    from localazure.lists.deviations import Deviations
    from localazure.machines.machines import Machines
    from localazure.machines.ml_jobs import JobRunner
    from localazure.ml.service import OnlineEndpoints

SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"  # the stacks' own, and no real one
SECOND_SUBSCRIPTION = "00000000-0000-0000-0000-000000000001"  # where a company has what its stacks use; without quotas
SUBSCRIPTIONS = (SUBSCRIPTION, SECOND_SUBSCRIPTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where this server answers and what it was started with."""

    url: str  # "https://localhost:PORT", no slash at the end
    checkout: Path  # the folder whose sources image builds read, under the address `checkout_url`
    state: Path  # the state folder
    tenant_id: str
    client_id: str  # application id of the one service principal
    principal_id: str  # object id of the same
    nothing_runs: bool = False  # what is declared is kept and shown, and no process is started for it

    @property
    def checkout_url(self) -> str:
        return f"{self.url}/checkout.git"


@dataclass(slots=True, kw_only=True)
class Clock:
    """Time as the server sees it. `now` is real; `as_of` is the date at which services judge where no tag says otherwise."""

    given: date | None = None  # `--as-of`
    forced: date | None = None  # a clock fault, until it is cleared
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep  # until `now` is so many seconds later

    @property
    def as_of(self) -> date:
        return self.forced or self.given or self.now().date()

    def stamp(self, *, before: timedelta = timedelta()) -> str:
        """Now, or some time before, as ARM writes it: `2026-11-20T23:11:53.123456Z`."""
        return (self.now() - before).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(slots=True, kw_only=True)
class Services:
    """Handed to every method of a kind."""

    store: Store
    settings: Settings
    clock: Clock
    tokens: "Tokens"
    deviations: "Deviations"
    images: "Images"
    runtime: "Runtime"  # of container groups
    executions: "Executions"  # of Container Apps jobs
    weather: Weather = field(default_factory=Weather)
    # Set right after the rest, which they use themselves.
    blobs: "Blobs" = field(init=False)
    batch_work: "Work" = field(init=False)  # jobs and tasks
    batch_pools: "Pools" = field(init=False)  # pools and their nodes
    clusters: "Clusters" = field(init=False)  # Kubernetes
    cluster_pools: "ClusterPools" = field(init=False)  # and their nodes
    endpoints: "OnlineEndpoints" = field(init=False)  # of Azure ML
    machines: "Machines" = field(init=False)  # virtual machines
    ml_jobs: "JobRunner" = field(init=False)  # of Azure ML, and the nodes that they run on
    door: "Door" = field(init=False)  # the way into ARM from inside
