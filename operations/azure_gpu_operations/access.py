"""`python -m operations access --stack S`: check your access to a stack's blobs, and grant yourself the role for it.

    access --stack S           check it, and show the command that assigns the role
    access --stack S --grant   assign yourself the role, if you may assign roles, and wait until it works

Scripts on Batch, `--output`, secrets of a run, and `upload` write blobs as the signed-in identity. The roles Owner and
Contributor don't include data access. In a stack file, `foundation.storage.data_access` assigns the role for the lifetime of the
stack; a role from `--grant` stays until it is removed or the account is deleted.

Exit codes: 0 you have access, 1 you don't, 2 wrong command line.
"""

import argparse
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING

from azure_gpu.catalog import roles
from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import arm_ids
from azure_gpu_operations import stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import view

if TYPE_CHECKING:
    from azure_gpu_operations.azure import Arm
    from azure_gpu_operations.batch.blobs import Blobs

API_VERSION = "2022-04-01"
LIMIT_SECONDS = roles.DELAY_MINUTES * 60.0
PAUSES_SECONDS = 5.0, 10.0, 20.0  # the last one repeats: Azure caches denials for a while
_NAMES = uuid.UUID("b7e5f7b3-5a0c-4d67-8f43-6f5a4f1f0c11")  # of the assignments; chosen once

_say = partial(print, flush=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    stack_options.add_stack(parser)
    parser.add_argument("--grant", action="store_true", help="assign yourself the role, and wait until it works")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from azure_gpu_operations.azure import Arm, AzureError
    from azure_gpu_operations.batch.blobs import WRITER_ROLE, Blobs, grant_command

    try:
        found = view(stack_options.stack_of(options))
    except EngineError as error:
        return refuse(Problem("--stack", str(error)))
    if not found.storage:
        return refuse(Problem("--stack", "the stack has no storage account", found.name, fix="add foundation.storage"))
    try:
        with closing(Arm(found.connection)) as arm, closing(Blobs(arm, found.storage)) as blobs:
            if options.grant:
                _say(f"assigning you the role {WRITER_ROLE} on {blobs.name}; it can take {roles.DELAY_MINUTES} minutes to work")
                grant(arm, found.storage)
                if until_open(blobs):
                    _say(f"you may read and write the blobs of {blobs.name}")
                    return 0
            elif blobs.is_open():
                _say(f"you may read the blobs of {blobs.name}; writing requires the role {WRITER_ROLE}")
                return 0
            else:
                _say(f"you may not read the blobs of {blobs.name}; reading and writing require the role {WRITER_ROLE}:")
                _say(grant_command(found.storage, arm.login))
                return 1
    except AzureError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"error: the role is assigned but doesn't work after {LIMIT_SECONDS / 60:g} minutes; try again later", file=sys.stderr)
    return 1


def grant(arm: "Arm", account_id: str) -> None:
    """Assigns the role to the signed-in identity. AzureError if that isn't allowed; an existing assignment is fine."""
    from azure_gpu_operations import signed_in
    from azure_gpu_operations.azure import AzureError

    who, role = signed_in.of(arm.login), roles.STORAGE_BLOB_DATA_CONTRIBUTOR
    name = uuid.uuid5(_NAMES, f"{account_id.lower()}\n{who.object_id}")
    account = arm_ids.parse(account_id)
    subscription = account.subscription if account is not None else arm.subscription_id
    properties = {"roleDefinitionId": roles.definition_id(subscription, role), "principalId": who.object_id}
    if who.kind:
        properties["principalType"] = who.kind
    path = f"{account_id}/providers/Microsoft.Authorization/roleAssignments/{name}"
    try:
        arm.put(path, API_VERSION, {"properties": properties})
    except AzureError as error:
        if "RoleAssignmentExists" not in str(error):
            raise


def until_open(
    blobs: "Blobs", *, sleep: Callable[[float], None] = time.sleep, clock: Callable[[], float] = time.monotonic
) -> bool:
    """Whether the blobs can be read before LIMIT_SECONDS are over."""
    began, pauses = clock(), chain(PAUSES_SECONDS, repeat(PAUSES_SECONDS[-1]))
    while clock() - began < LIMIT_SECONDS:
        if blobs.is_open():
            return True
        sleep(next(pauses))
    return False
