"""Builds workloads in a registry by a deployment that runs one build and ends when the image exists.

The end of a separate task run may never be reported, as the address of its state is written twice: pulumi-azure-native issue
1713, Azure/azure-rest-api-specs issue 19159, both open on 2026-11-24. A deployment of it ends with the build: Microsoft Learn,
container-registry/container-registry-task-run-template (2020-04-22); Azure/acr, docs/tasks/run-as-deployment (2026-05-28).
"""

from typing import Any

import pulumi

from azure_gpu.formats import azure_types
from azure_gpu.shared import arm_templates
from azure_gpu.shared.workloads import Workload

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
                    "sourceLocation": f"{source}:{workload.source}",
                    "dockerFilePath": workload.dockerfile,
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
