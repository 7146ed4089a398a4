"""Rules of code for Azure ML: endpoints, deployments, computes and jobs. The others are rows of `findings.yaml`. Pure."""

import re

from azure_gpu.catalog import roles
from azure_gpu.catalog.services.machine_learning.endpoints import RESERVED, managed
from azure_gpu.catalog.services.machine_learning.serving import DEFAULT_REQUEST_TIMEOUT_S
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.explain import refusal_rules, table
from azure_gpu_operations.explain.facts import Cause, Facts, Finding
from azure_gpu_operations.explain.ml_facts import SERVER, STORAGE, ComputeCase, DeploymentCase, EndpointCase, JobCase

_SLOW = 0.95  # of a request's time: what takes as long is cut off a little earlier or later
_UP = "then `pulumi up`"


def explain(case: EndpointCase) -> tuple[Facts, Finding]:
    """The endpoint's failure, else that of its deployments, failed ones first; else that it is healthy."""
    own = _endpoint(case)
    if own is not None:
        return case.as_facts(), own
    for each in sorted(case.deployments, key=lambda each: (not each.failed, -each.share, each.name)):
        found = failure(each)
        if found is not None:
            return each.as_facts(), found
    return case.as_facts(), table.explain_surely("ML endpoint without a failure", case, _RULES)


def explain_deployment(case: DeploymentCase) -> Finding:
    return failure(case) or table.explain_surely("ML deployment without a failure", case, _RULES)


def explain_compute(case: ComputeCase) -> Finding:
    return table.explain_surely("ML compute", case, _RULES)


def explain_job(case: JobCase) -> Finding:
    return table.explain_surely("ML job", case, _RULES)


def failure(case: DeploymentCase) -> Finding | None:
    """The failure; None if it answers, or will soon."""
    finding = table.explain("ML deployment", case, _RULES)
    return finding._replace(evidence=tuple(map(_first_line, finding.evidence[:2]))) if finding is not None else None


def _first_line(text: str) -> str:
    """Without the log that the service appends: the report has its last lines."""
    return text.partition("\n")[0].removesuffix(" The last lines of its log:")


def _endpoint(case: EndpointCase) -> Finding | None:
    if case.endpoint is not None and case.state != "Failed":
        return None
    refused = refusal_rules.first(case.as_facts())
    if refused is None and case.endpoint is not None:
        return Finding(Cause.UNKNOWN, "it is Failed; Azure gives no reason", f"delete it, {_UP}")
    return refused or refusal_rules.not_there("endpoint")


def _coming(case: EndpointCase) -> Finding | None:
    coming = next((each for each in case.deployments if each.is_coming), None)
    return table.explain_surely("ML deployment without a failure", coming, _RULES) if coming is not None else None


def _not_there(case: DeploymentCase) -> Finding | None:
    return None if case.exists or case.sentences else refusal_rules.not_there("deployment", "the endpoint")


def _quota(case: DeploymentCase) -> Finding | None:
    matched = table.first("ML quota", case.sentences)
    if not matched:
        return None
    named = re.search(r"\b(Standard_\w+)\b", matched)
    size = SIZES.find(named[1]) if named else None
    figures = table.phrase("ML quota figures").search(matched)
    what = f"Azure Machine Learning's quota for {named[1] if named else 'these machines'} is used up; compute quota is separate"
    if figures:
        what = (
            f"Azure Machine Learning's quota for {named[1] if named else 'this family'} here is {figures['limit']} vCPUs: "
            f"{figures['used']} are used, {figures['needed']} more are requested; compute quota is separate"
        )
    row = managed(size) if size is not None else None
    if row is None or row.reserves:
        share = int(RESERVED * 100)
        what += f"; {share} % of the instances, rounded up, are reserved for upgrades and count: 1 instance uses 2"
    needed = f" of {int(figures['used']) + int(figures['needed'])} vCPUs" if figures else ""
    fix = (
        f"request a limit{needed} in the portal (Azure Machine Learning, Quota), request fewer instances or a smaller size, use "
        f"an A100 or H100 (no upgrade reserve), or stop what uses it: {COMMAND} running"
    )
    return Finding(Cause.QUOTA, what, fix, (matched,))


def _rights(case: DeploymentCase) -> Finding | None:
    """A missing right of the endpoint's identity, by the role or the resource in the message."""
    matched = table.first("ML not allowed", (*case.sentences, *case.storage_log))
    if not matched or not case.failed:
        return None
    reads = re.search(r"Storage Blob|\bblobs?\b|user model|model", matched, re.IGNORECASE) and not re.search("AcrPull", matched)
    role = roles.NAMES[roles.STORAGE_BLOB_DATA_READER if reads else roles.ACR_PULL]
    where = "the storage account with the model" if reads else "the registry with the image"
    what = "read the model's files" if reads else "pull the image"
    whose = "the endpoint's identity"
    if case.endpoint is not None and case.endpoint.identities:
        whose += f" {case.endpoint.identities[0].rsplit('/', 1)[-1]}"
    return Finding(
        Cause.NO_RIGHT_TO_READ if reads else Cause.NO_RIGHT_TO_PULL,
        f"{whose} has no right to {what}",
        f"give it the role {role} on {where} (`assign_roles: true` in the stack's file does), wait some minutes until it "
        f"takes effect, {_UP}",
        (matched,),
        STORAGE if matched in case.storage_log else "",
    )


def _build(case: DeploymentCase) -> Finding | None:
    matched = table.first("ML image build", case.sentences)
    if not matched:
        return None
    missing = table.phrase("ML no distribution").search(matched)
    what, pin = (
        "the environment's image can't be built",
        "see the build's last lines in the message; pin versions in the conda file",
    )
    if missing:
        what = f"the environment's packages can't be installed: not found: {missing['one'] or missing['other']}"
        pin = "correct the name or the version in the environment's conda file"
    return Finding(Cause.BUILD, what, f"{pin}, give the environment a new version, {_UP}", (matched,))


def _timeout(case: DeploymentCase) -> Finding | None:
    """A deployment that answers later than its limit: clients get 408 or 504."""
    if case.deployment is None or case.failed:
        return None
    limit = case.deployment.timeout_seconds or DEFAULT_REQUEST_TIMEOUT_S
    requests = (table.phrase("ML request").search(line) for line in case.server_log)
    took = [float(found["ms"]) / 1000 for found in requests if found]
    slow = [seconds for seconds in took if seconds >= limit * _SLOW]
    matched = table.first("ML worker timeout", case.server_log)
    if not slow and not matched:
        return None
    what = f"{len(slow)} of its last {len(took)} requests took longer" if slow else "a worker was stopped because it took longer"
    return Finding(
        Cause.TIMEOUT,
        f"{what} than the limit of {limit:g} s, so clients got 408",
        "send smaller requests, raise `requests: {timeout_seconds: …}` of the deployment, or use a faster machine",
        (matched.strip(),) if matched else (f"the slowest took {max(slow):.1f} s",),
        SERVER,
    )


def _refused_deployment(case: DeploymentCase) -> Finding | None:
    facts = case.as_facts()._replace(refusals=case.open_refusals)
    return (refusal_rules.no_capacity(facts) or refusal_rules.other(facts)) if facts.refusals else None


def _refused(case: ComputeCase | JobCase) -> Finding | None:
    facts = case.as_facts()
    if case.exists and facts.provisioning != "Failed":
        return None
    found = table.explain("ML compute that was refused", case, _RULES) or refusal_rules.first(facts)
    return found or (None if case.exists else refusal_rules.not_there(facts.kind.value))


def _capacity(case: ComputeCase) -> Finding | None:
    matched = table.first("no capacity", case.errors)
    return refusal_rules.capacity_finding(matched, "") if matched else None


def _image(case: JobCase) -> Finding | None:
    about_images = any(table.first(name, (case.error,)) for name in ("ML image missing", "image pull", "ML not allowed"))
    if case.status != "Failed" or not about_images:
        return None
    return refusal_rules.of_image(case.as_facts(), "", (case.error,), case.called)


_RULES: dict[str, table.Rule] = {
    "not_there": _not_there,
    "quota": _quota,
    "rights": _rights,
    "build": _build,
    "timeout": _timeout,
    "refused_deployment": _refused_deployment,
    "coming": _coming,
    "refused": _refused,
    "capacity": _capacity,
    "image": _image,
}
