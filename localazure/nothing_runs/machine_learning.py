"""Azure Machine Learning without instances and jobs: endpoints and deployments are shown, and nothing scores."""

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from localazure.arm.errors import nothing_runs
from localazure.arm.kind import Change
from localazure.arm.store import Resource
from localazure.machines.ml_jobs import JobRunner
from localazure.ml.router import PREFIX
from localazure.ml.service import OnlineEndpoints


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
