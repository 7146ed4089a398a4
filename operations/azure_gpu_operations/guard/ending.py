"""Checks and confirmation of `down`: which stacks may be destroyed, and what is deleted with them."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from azure_gpu.formats import azure_types
from azure_gpu.shared.installation import COMMAND
from azure_gpu.shared.polling import first_line
from azure_gpu_operations.azure import UNREADABLE, Arm
from azure_gpu_operations.connection import PROVIDER_TYPE, connection_of
from azure_gpu_operations.guard.foreign_resources import created, foreign_resources
from azure_gpu_operations.guard.held import named_kept, protected, stays
from azure_gpu_operations.stack import Stack
from azure_gpu_operations.terminal import size, some

_MOST_BLOBS = 20_000  # counted; listing more takes a minute
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class WrongRequestError(Exception):
    """The request was rejected; nothing was changed. The text is for the user."""


class ProtectedError(Exception):
    """A stack has protected resources. The text is for the user."""

    def __init__(self, stack: Stack, urns: Sequence[str]) -> None:
        names = some(sorted(urn.rsplit("::", 1)[-1] for urn in urns))
        named = f"--stack {stack.name}" + (f" --config-folder {stack.config_file.parent}" if stack.config_file else "")
        super().__init__(
            f"nothing was destroyed: stack {stack.name} protects {names}; to delete what these hold, run\n"
            f"  {COMMAND} pulumi state unprotect --all --yes --stack {stack.name}\n"
            f"  {COMMAND} down {named}"
        )


class Blobs(NamedTuple):
    """Number and size of the blobs in a storage account."""

    account: str
    count: int
    size: int  # bytes
    is_more: bool  # than were counted
    unread: str = ""  # why they couldn't be read


class Deletions(NamedTuple):
    """What is deleted with a stack."""

    stack: str
    resources: int  # without what stays
    blobs: tuple[Blobs, ...] = ()
    foreign_resources: tuple[str, ...] = ()  # of others, in the stack's resource group, which are deleted with it; "type name"
    unread: str = ""  # why Azure couldn't be read
    kept: tuple[str, ...] = ()  # what stays; "type name"

    def lines(self) -> Iterator[str]:
        """Lines for the confirmation."""
        yield f"stack {self.stack}: {_count(self.resources, 'resource')} will be deleted"
        if self.kept:
            yield f"  kept in Azure: {some(self.kept)}"
        for each in self.blobs:
            if each.unread:
                yield f"  blobs in {each.account}: can't be read ({each.unread})"
            else:
                more = "more than " if each.is_more else ""
                yield f"  blobs in {each.account}: {more}{_count(each.count, 'blob')}, {more}{size(each.size)}"
        if any(each.count for each in self.blobs):
            # MicrosoftDocs/azure-docs, articles/storage/common/storage-account-recover.md (2022-06-23)
            yield "  in the portal a deleted storage account can often be recovered for 14 days, but not after the next `up`"
        if self.foreign_resources:
            count = _count(len(self.foreign_resources), "resource")
            yield f"  {count} in its resource group that it didn't create: {some(self.foreign_resources)}"
        if self.unread:
            yield f"  what else is in its resource group can't be read ({self.unread})"


def refuse_elsewhere(stacks: Iterable[Stack]) -> None:
    """Rejects `down --all` unless all stacks are on the embedded Azure. WrongRequestError names another one."""
    for stack in stacks:
        deployment = stack.deployment()
        if (created(deployment) or deployment.get("pending_operations")) and not _is_embedded(deployment):
            raise WrongRequestError(
                f"--all is only for stacks on the embedded Azure, and stack {stack.name} isn't; nothing was destroyed; "
                f"fix: {COMMAND} down --stack {stack.name}"
            )


def _is_embedded(deployment: Mapping[str, Any]) -> bool:
    """Whether its providers were configured for this machine, independent of the current environment."""
    providers = [each.get("inputs") or {} for each in deployment.get("resources") or [] if each["type"] == PROVIDER_TYPE]
    return bool(providers) and all(urlsplit(f"//{each.get('metadataHost') or ''}").hostname in _LOOPBACK for each in providers)


def refuse_protected(stack: Stack, deployment: Mapping[str, Any]) -> None:
    """Raises ProtectedError before the engine deletes everything else."""
    urns = protected(deployment)
    if urns:
        raise ProtectedError(stack, urns)


def confirmed(stacks: Sequence[Stack], answer: Callable[[str], str] | None = None) -> bool:
    """Whether the user confirms the deletion of these stacks. WrongRequestError without a terminal."""
    if answer is None:
        if sys.stdin is None or not sys.stdin.isatty():
            raise WrongRequestError("down asks for confirmation, and standard input is not a terminal; fix: add --yes")
        answer = _answered
    for stack in stacks:
        for line in deletions_of(stack).lines():
            print(line, flush=True)
    word = stacks[0].name if len(stacks) == 1 else "all"
    try:
        given = answer(f"destroy {'it' if len(stacks) == 1 else 'them'}? Type {word} to go on: ")
    except EOFError:
        raise WrongRequestError("the terminal ended before an answer; nothing was destroyed") from None
    return given.strip() == word


def deletions_of(stack: Stack) -> Deletions:
    """What is deleted with a stack."""
    deployment = stack.deployment()
    resources = [each for each in created(deployment) if not stays(each)]
    found = Deletions(stack.name, len(resources), kept=named_kept(deployment))
    connection = connection_of(deployment)
    accounts = [str(each["id"]) for each in resources if each["type"] == azure_types.STORAGE_ACCOUNT.token]
    groups = [str(each["id"]) for each in resources if each["type"] == azure_types.RESOURCE_GROUP.token]
    if connection is None or not (accounts or groups):
        return found
    try:
        with closing(Arm(connection)) as arm:
            found = found._replace(blobs=tuple(_blobs(arm, account) for account in accounts))
            others = (each for group in groups for each in foreign_resources(arm, group, deployment))
            return found._replace(foreign_resources=tuple(others))
    except UNREADABLE as error:
        return found._replace(unread=first_line(error))


def _blobs(arm: Arm, account: str) -> Blobs:
    from azure_gpu_operations.batch.blobs import Blobs as Account  # the storage client loads slowly

    name = account.rsplit("/", 1)[-1]
    count = total = 0
    try:
        with closing(Account(arm, account)) as blobs:
            for each in blobs.all_sizes():
                count, total = count + 1, total + each
                if count == _MOST_BLOBS:
                    return Blobs(name, count, total, is_more=True)
    except UNREADABLE as error:
        return Blobs(name, 0, 0, is_more=False, unread=first_line(error))
    return Blobs(name, count, total, is_more=False)


def _answered(question: str) -> str:
    print(question, end="", flush=True)
    return input()


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
