"""Builds workloads in a registry from the files here, for `image_source: upload`, before the deployment that marks them as built.

A hook of that deployment does it, with plain `pulumi up` too: the engine calls it once the registry exists, where the image's tag
has changed, and in no preview. The deployment of a build that failed isn't sent, so that the next update builds again. While the
hook runs, other resources go on, as it is a part of the deployment's step: pulumi 3.259, pkg/resource/deploy/step.go. An update
that is cancelled waits for it; one that is terminated leaves the build running, whose image the next update takes.

A template without resources is what Azure takes as a mark: microsoft/oe-engine, parts/resources.t (`pid-…`).
"""

import pulumi
from pulumi_azure_native import containerregistry

from azure_gpu.catalog import error_fixes
from azure_gpu.formats.build_context import Context, contents
from azure_gpu.shared import arm_reads
from azure_gpu.shared.hooks import called, kind
from azure_gpu.shared.registry_build import BuildFailedError, Registry
from azure_gpu.shared.workloads import Workload

LONGER = "build it once by `az acr build --timeout SECONDS`, and `pulumi up` goes on with that image"


def hooks(
    component: pulumi.Resource, workload: Workload, tag: str, registry: "containerregistry.Registry"
) -> pulumi.ResourceHookBinding | None:
    """Returns the hooks of the deployment that marks the workload as built; None under mocks. `tag`: of its image."""
    if not called():
        return None

    async def build(_: pulumi.ResourceHookArgs) -> None:
        registry_id, server = await registry.id.future(), await registry.login_server.future()

        def work(requests: arm_reads.Requests) -> None:
            in_azure = Registry(requests, str(registry_id), str(server), LONGER)
            in_azure.build(_read(workload, tag), lambda text: pulumi.log.info(f"{workload}: {text}"))

        try:
            await arm_reads.with_login(pulumi.InvokeOptions(parent=component), work)
        except (arm_reads.UnreadableError, BuildFailedError) as error:
            text = str(error) if isinstance(error, BuildFailedError) else f"the workload {workload} can't be built: {error}"
            fix = error_fixes.fix(text)  # no error hook is called for what a hook refuses
            raise pulumi.RunError(f"{text}\nfix: {fix}" if fix else text) from error

    name = f"{kind(component)}-{component.pulumi_resource_name}-builds-{workload}"
    hook = pulumi.ResourceHook(name, build)
    return pulumi.ResourceHookBinding(before_create=[hook], before_update=[hook])


def _read(workload: Workload, tag: str) -> Context:
    """The context of a workload, whose hash was `tag` when the update began."""
    files, executable = contents(workload.context)
    context = Context(workload.value, files, f"the workload {workload}", executable, dockerfile=workload.dockerfile)
    if context.tag != tag:
        raise pulumi.RunError(f"{workload.source} has changed since the update began; run `pulumi up` again")
    return context
