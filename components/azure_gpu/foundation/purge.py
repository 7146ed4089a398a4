"""Deletes old builds from a registry, by a task that runs there once a week.

Only images of this project's builds are deleted: of workloads and scripts, whose tags are hashes, and what a tag has left behind.
Those that the stack uses stay, as do the newest of the old ones of each repository, for going back to them. The command is
`acr purge` of Azure/acr-cli at cfbb8358 (2026-03-12): cmd/acr/purge.go (`keep` counts among those that it would delete),
cmd/repository/image_functions.go (a filter is an expression for repositories and one for tags, which may look ahead: pull request
91). A task that runs it: dotnet/aspire, snapshot AzureContainerRegistryTests.WithPurgeTask; it needs no identity, as in Microsoft
Learn, container-registry-auto-purge, but in a registry with repository permissions (ABAC), where it deletes nothing
(Azure/acr-cli issue 641). Values of a task: Microsoft Learn, container-registry-tasks-reference-yaml.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from pulumi_azure_native import containerregistry

from azure_gpu.formats.build_context import HASH_DIGITS
from azure_gpu.shared.workloads import NAMES, Workload

SCHEDULE = "0 1 * * Sun"
DAYS = 60  # twice as long as the service knows of a run, by which `run` finds an image again: container-registry-tasks-logs
KEPT = 3
OF_SCRIPTS = "run/.*"  # the repositories of images that `run` builds
_USED = "used"


def step(used: Mapping[Workload, str]) -> containerregistry.EncodedTaskStepArgs:
    """Returns what the task does. `used`: the tags of images that the stack uses."""
    # No dollar sign, which means an alias in a task's file.
    tag = f"^{f'(?!{{{{.Values.{_USED}}}}})' if used else ''}[0-9a-f]{{{HASH_DIGITS}}}(?!.)"
    command = f"acr purge --filter '({'|'.join([*NAMES, OF_SCRIPTS])}):{tag}' --ago {DAYS}d --keep {KEPT} --untagged"
    tags = "|".join(used[each] for each in NAMES if each in used)
    return containerregistry.EncodedTaskStepArgs(
        type="EncodedTask",
        encoded_task_content=base64.b64encode(f"version: v1.1.0\nsteps:\n- cmd: {command}\n".encode()).decode(),
        values=[containerregistry.SetValueArgs(name=_USED, value=tags, is_secret=False)] if used else None,
    )
