"""What Azure rejected, by the activity log and the resource's messages, for the rows of `findings.yaml` about it. Pure."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime

from azure_gpu.catalog import error_fixes
from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.services.container_apps import serverless_on
from azure_gpu.catalog.services.container_instances import GPU_SKUS
from azure_gpu.formats import arm_ids
from azure_gpu_operations.explain import table
from azure_gpu_operations.explain.facts import Facts, Finding, Kind

# "... '1' 'V100' GPU ...": how Container Instances repeats what was asked for.
_GPU = re.compile(r"\b(" + "|".join(GPU_SKUS) + r")\b")
# `to use namespace 'Microsoft.Compute'`, and of diagnostic settings `to use microsoft.insights`
_NAMED_NAMESPACE = re.compile(r"to use (?:namespace ')?(\w+\.\w+)")


def about(kind: str, text: str, container: str = "") -> Finding:
    """The finding of a kind about one message."""
    return table.explain_surely(kind, None, values={"text": text, "container": container})


def retired_gpu(facts: Facts) -> Finding | None:
    """A GPU on Container Instances after its last day; Azure's message is about capacity."""
    for text, day in _refused(facts) if facts.kind is Kind.GROUP else ():
        named = _GPU.search(text)
        sku = GPU_SKUS[named[1]] if named else None
        if sku is not None and sku.lifecycle.status(day) is Status.RETIRED and sku.lifecycle.end is not None:
            profiles = " or ".join(serverless_on(day)) or "with a GPU"
            values = {"gpu": sku.name, "day": sku.lifecycle.end.day, "profiles": profiles, "text": text}
            return table.explain("retired GPU", None, values={**values, "lifecycle": str(sku.lifecycle.end)})
    return None


def quota(facts: Facts) -> Finding | None:
    return _about("quota", facts)


def no_capacity(facts: Facts) -> Finding | None:
    return _about("no capacity", facts)


def pull(facts: Facts) -> Finding | None:
    """An image that was rejected before anything ran."""
    text = table.first("image pull", (text for text, _ in _refused(facts)))
    return of_image(facts, _image_in(text, facts), (text,), "") if text else None


def other(facts: Facts) -> Finding | None:
    """Any other rejection, with Azure's message."""
    if not facts.open_refusals:
        return None
    newest = facts.open_refusals[0]
    text = f"{newest.code}: {newest.message}" if newest.code else newest.message
    fix = error_fixes.fix(text) or "fix the error named in the message, then `pulumi up`"
    if table.first("unregistered", [text]):
        named, id_ = _NAMED_NAMESPACE.search(text), arm_ids.parse(facts.id)
        namespace = named[1] if named else id_.type.partition("/")[0] if id_ else "NAMESPACE"
        fix = f"register the resource provider: az provider register --namespace {namespace} --wait"
    values = {"operation": newest.operation or "the request", "known_fix": fix, "text": text}
    return table.explain("refused", None, values=values)


def specific(facts: Facts) -> Finding | None:
    """A rejection whose reason is known."""
    rules = (retired_gpu, quota, pull, lambda facts: _about("volume", facts), no_capacity)
    return next((finding for rule in rules if (finding := rule(facts)) is not None), None)


def first(facts: Facts) -> Finding | None:
    return specific(facts) or other(facts)


def not_there(what: str, where: str = "Azure") -> Finding:
    """For a missing resource without an error in the activity log."""
    return table.explain_surely("not there", None, values={"kind": what, "where": where})


def absent(facts: Facts, what: str = "") -> Finding:
    """For a missing resource: what Azure refused, else that there is none."""
    return first(facts) or not_there(what or facts.kind.value)


def of_image(facts: Facts, image: str, evidence: tuple[str, ...], container: str) -> Finding:
    """Whether an image is missing, or the right to pull it: the service has one message for both."""
    text = "\n".join(evidence)
    ours = bool(image and facts.server and image.startswith(f"{facts.server}/"))
    is_built = facts.built is not None and image in facts.built
    values = {
        "image": image or "the image",
        "is_there": table.first("no right to pull", [text]) or (ours and is_built),
        "is_missing": table.first("image missing", [text]) or (ours and facts.built is not None),
    }
    return table.explain_surely("image", None, values={**values, "text": evidence, "container": container})


def _about(kind: str, facts: Facts) -> Finding | None:
    found = table.first(kind, (text for text, _ in _refused(facts)))
    return about(kind, found) if found else None


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
