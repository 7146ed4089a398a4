"""Builds workloads in a registry: from a git URL by a deployment, or from the files here by a hook.

A deployment runs one build and ends when the image exists. The end of a separate task run may never be reported, as the address
of its state is written twice: pulumi-azure-native issue 1713, Azure/azure-rest-api-specs issue 19159, both open on 2026-11-24. A
deployment of it ends with the build: Microsoft Learn, container-registry/container-registry-task-run-template (2020-04-22);
Azure/acr, docs/tasks/run-as-deployment (2026-05-28).

For `image_source: upload`, a hook builds before the deployment that marks the image as built, with plain `pulumi up` too: the
engine calls it once the registry exists, where the image's tag has changed, and in no preview. The deployment of a build that
failed isn't sent, so that the next update builds again. While the hook runs, other resources go on, as it is a part of the
deployment's step: pulumi 3.259, pkg/resource/deploy/step.go. An update that is cancelled waits for it; one that is terminated
leaves the build running, whose image the next update takes. A template without resources is what Azure takes as a mark:
microsoft/oe-engine, parts/resources.t (`pid-…`).
"""

from typing import Any

import pulumi
from pulumi_azure_native import containerregistry

from azure_gpu.catalog import error_fixes
from azure_gpu.formats import azure_types
from azure_gpu.formats.build_context import Context, contents
from azure_gpu.shared import arm_reads, arm_templates, workloads
from azure_gpu.shared.hooks import called, kind
from azure_gpu.shared.registry_build import BuildFailedError, Registry
from azure_gpu.shared.workloads import Workload

LONGER = "build it once by `az acr build --timeout SECONDS`, and `pulumi up` goes on with that image"
API_VERSION = "2019-06-01-preview"  # as Azure/acr's templates send it


def template(
    workload: Workload,
    *,
    tag: str,
    source: str,
    name: str,
    registry: pulumi.Input[str],
    made_at: pulumi.Input[str],
    location: pulumi.Input[str] | None,
) -> dict[str, Any]:
    """Builds the template. `tag`: hash of the workload's sources, and the image's tag. `source`: git URL with a commit. `name`:
    of the task run in `registry`. `made_at`: when the registry was created, as a new one of the same name needs a new build.
    `location`: None for the resource group's."""
    run = {
        "type": azure_types.TASK_RUN.arm_type,
        "apiVersion": API_VERSION,
        "name": pulumi.Output.concat(registry, "/", name),
        "location": location if location is not None else "[resourceGroup().location]",
        "properties": {
            "forceUpdateTag": tag,
            "runRequest": arm_templates.literal(
                {
                    "type": "DockerBuildRequest",
                    "sourceLocation": f"{source}:{workloads.source(workload)}",
                    "dockerFilePath": workloads.dockerfile(workload),
                    "imageNames": [f"{workload}:{tag}"],
                    "isPushEnabled": True,
                    "platform": {"os": "Linux", "architecture": "amd64"},
                    # The build fails if the sources at `source` differ from those of the tag.
                    "arguments": [{"name": "CONTEXT_HASH", "value": tag}],
                }
            ),
        },
    }
    return arm_templates.template([run], {"registry": made_at})


def mark(image: str, made_at: pulumi.Input[str]) -> dict[str, Any]:
    """Builds a template without resources, for an image that a hook builds: another one, or a new registry, is deployed again."""
    return arm_templates.template([], {"registry": made_at, "image": image})


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
    files, executable = contents(workloads.context(workload))
    context = Context(workload, files, f"the workload {workload}", executable, dockerfile=workloads.dockerfile(workload))
    if context.tag != tag:
        raise pulumi.RunError(f"{workloads.source(workload)} has changed since the update began; run `pulumi up` again")
    return context
