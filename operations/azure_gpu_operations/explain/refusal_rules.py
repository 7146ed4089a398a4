"""Rules for creates, updates and starts that Azure rejected, by the activity log and the resource's messages. Pure."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime

from azure_gpu.catalog import error_fixes
from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.services.container_apps import serverless_on
from azure_gpu.catalog.services.container_instances import GPU_SKUS
from azure_gpu.formats import arm_ids
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.explain import phrases
from azure_gpu_operations.explain.facts import Cause, Facts, Finding, Kind

# "... '1' 'V100' GPU ...": how Container Instances repeats what was asked for.
_GPU = re.compile(r"\b(" + "|".join(GPU_SKUS) + r")\b")
# `to use namespace 'Microsoft.Compute'`, and of diagnostic settings `to use microsoft.insights`
_NAMED_NAMESPACE = re.compile(r"to use (?:namespace ')?(\w+\.\w+)")
_NAMED_QUOTA = re.compile(r"quota '([^']+)'")


def retired_gpu(facts: Facts) -> Finding | None:
    """A GPU on Container Instances after its last day; Azure's message is about capacity."""
    if facts.kind is not Kind.GROUP:
        return None
    for text, day in _refused(facts):
        named = _GPU.search(text)
        sku = GPU_SKUS[named[1]] if named else None
        if sku is not None and sku.lifecycle.status(day) is Status.RETIRED and sku.lifecycle.end is not None:
            profiles = serverless_on(day)
            return Finding(
                Cause.RETIRED_GPU,
                f"the GPU {sku.name} of Container Instances retired on {sku.lifecycle.end.day.isoformat()}",
                f"run it as a job on Container Apps (workload profile {' or '.join(profiles) or 'with a GPU'}): a section "
                f"`jobs` in the stack's file, then `{COMMAND} run`",
                (text, str(sku.lifecycle.end)),
            )
    return None


def quota(facts: Facts) -> Finding | None:
    found = phrases.first(phrases.QUOTA, (text for text, _ in _refused(facts)))
    return quota_finding(found, "") if found else None


def no_capacity(facts: Facts) -> Finding | None:
    found = phrases.first(phrases.NO_CAPACITY, (text for text, _ in _refused(facts)))
    return capacity_finding(found, "") if found else None


def quota_finding(text: str, container: str) -> Finding:
    if "for the Managed Environment" in text:  # Microsoft Learn, container-apps/quotas (2026-09-23)
        return Finding(
            Cause.QUOTA,
            "the quota of its environment is used up or wasn't granted; quota belongs to one environment",
            f"`{COMMAND} preflight --stack …` shows the limit and how to request more; `{COMMAND} running` shows what uses it",
            (text,),
            container,
        )
    named = _NAMED_QUOTA.search(text)
    which = f"the quota {named[1]}" if named else "a quota"
    return Finding(
        Cause.QUOTA,
        f"{which} of this subscription is used up in the region",
        f"request more in the portal (Quotas), use another region, or stop what uses it: {COMMAND} running",
        (text,),
        container,
    )


def capacity_finding(text: str, container: str) -> Finding:
    return Finding(
        Cause.NO_CAPACITY,
        "the region has no free machine of this kind at the moment; quota isn't the reason",
        f"try again later, request less, or use another region: {COMMAND} preflight",
        (text,),
        container,
    )


def pull(facts: Facts) -> Finding | None:
    """An image that was rejected before anything ran."""
    for text, _ in _refused(facts):
        if phrases.IMAGE_PULL.search(text):
            return of_image(facts, _image_in(text, facts), (text,), "")
    return None


def volume(facts: Facts) -> Finding | None:
    for text, _ in _refused(facts):
        if phrases.VOLUME.search(text):
            return volume_finding((text,), "")
    return None


def other(facts: Facts) -> Finding | None:
    """Any other rejection, with Azure's message."""
    if not facts.open_refusals:
        return None
    newest = facts.open_refusals[0]
    text = f"{newest.code}: {newest.message}" if newest.code else newest.message
    fix = error_fixes.fix(text) or "fix the error named in the message, then `pulumi up`"
    if phrases.UNREGISTERED.search(text):
        named, id_ = _NAMED_NAMESPACE.search(text), arm_ids.parse(facts.id)
        namespace = named[1] if named else id_.type.partition("/")[0] if id_ else "NAMESPACE"
        fix = f"register the resource provider: az provider register --namespace {namespace} --wait"
    return Finding(Cause.REFUSED, f"Azure refused it ({newest.operation or 'the request'})", fix, (text,))


def first(facts: Facts) -> Finding | None:
    """The first of them that finds something."""
    return next((finding for rule in (*RULES, other) if (finding := rule(facts)) is not None), None)


def not_there(what: str, where: str = "Azure") -> Finding:
    """For a missing resource without an error in the activity log."""
    return Finding(
        Cause.NOT_THERE,
        f"{where} has no such {what}, and the activity log of the last days has no error for it",
        "create it with `pulumi up`; if the stack's state has it, run `pulumi refresh` first",
    )


def of_image(facts: Facts, image: str, evidence: tuple[str, ...], container: str) -> Finding:
    """Whether an image is missing, or the right to pull it: the service has one message for both."""
    text = "\n".join(evidence)
    named = image or "the image"
    ours = bool(image and facts.server and image.startswith(f"{facts.server}/"))
    is_built = facts.built is not None and image in facts.built
    if phrases.NO_PULL.search(text) or (ours and is_built):
        return Finding(
            Cause.NO_RIGHT_TO_PULL,
            f"no right to pull {named}, which exists or may exist",
            "give the identity the role AcrPull on the registry (`assign_roles: true` in the stack's file does), wait a minute "
            "until it takes effect, then start again; for another registry, set its user and password in `registries`",
            evidence,
            container,
        )
    sure = phrases.IMAGE_MISSING.search(text) or (ours and facts.built is not None)
    may = "" if sure else ", or pulling it requires a login"
    return Finding(
        Cause.IMAGE_NOT_FOUND,
        f"{named} isn't in its registry{may}",
        "correct its name and tag; `az acr repository show-tags` lists those of a registry, and `pulumi up` or "
        f"`{COMMAND} run` builds missing images",
        evidence,
        container,
    )


def volume_finding(evidence: tuple[str, ...], container: str) -> Finding:
    return Finding(
        Cause.VOLUME,
        "a volume can't be mounted, so no container of the group starts",
        "check that the storage account and the share exist, that the key is current, and that the account admits "
        "the service; for a repository, that it is reachable and has the commit",
        evidence,
        container,
    )


def _refused(facts: Facts) -> Iterator[tuple[str, date]]:
    """Each rejection and each message about the whole resource, with its date."""
    today = datetime.now(UTC).date()
    for each in facts.open_refusals:
        yield (f"{each.code}: {each.message}" if each.code else each.message), each.at.date() if each.at else today
    if facts.state not in ("Running", "Succeeded"):
        for text in facts.sentences:
            yield text, today


def _image_in(text: str, facts: Facts) -> str:
    found = re.search(r"[Ii]mage ['\"]([^'\"]+)['\"]", text)
    if found:
        return found[1]
    return facts.containers[0].image if facts.containers else ""


RULES: tuple[Callable[[Facts], Finding | None], ...] = (retired_gpu, quota, pull, volume, no_capacity)
