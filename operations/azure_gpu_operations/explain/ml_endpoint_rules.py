"""Rules for the cause of an online endpoint that doesn't answer, the most specific first. Pure.

`ml_phrases` has the patterns of the service's messages, `ml_deployment_rules` the rules about logs of a deployment's containers.
"""

import re
from collections.abc import Callable

from azure_gpu.catalog import roles
from azure_gpu.catalog.services.machine_learning.endpoints import RESERVED, managed
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats.tags import STOPPED_SINCE
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.explain import ml_deployment_rules, ml_phrases, phrases, refusal_rules
from azure_gpu_operations.explain.facts import Cause, Facts, Finding
from azure_gpu_operations.explain.ml_facts import SERVER, STORAGE, DeploymentCase, EndpointCase
from azure_gpu_operations.machine_learning.endpoints import COMING

Rule = Callable[[DeploymentCase], Finding | None]

_UP = "then `pulumi up`"
_RUNNING = f"{COMMAND} running"


def explain(case: EndpointCase) -> tuple[Facts, Finding]:
    """The endpoint's failure, else that of its deployments, failed ones first; else that it is healthy."""
    facts = case.as_facts()
    own = _endpoint(case)
    if own is not None:
        return facts, own
    ordered = sorted(case.deployments, key=lambda each: (not each.failed, -each.share, each.name))
    for each in ordered:
        found = failure(each)
        if found is not None:
            return each.as_facts(), found
    return facts, _coming(case) or _without_traffic(case) or _healthy(case)


def explain_deployment(case: DeploymentCase) -> Finding:
    return failure(case) or _starting(case) or _well(case)


def failure(case: DeploymentCase) -> Finding | None:
    """The failure; None if it answers, or will soon."""
    finding = next((finding for rule in RULES if (finding := rule(case)) is not None), None)
    return finding._replace(evidence=tuple(map(_first_line, finding.evidence))) if finding is not None else None


def _first_line(text: str) -> str:
    """Without the log that the service appends: the report has its last lines."""
    return text.partition("\n")[0].removesuffix(" The last lines of its log:")


def _endpoint(case: EndpointCase) -> Finding | None:
    facts = case.as_facts()
    if case.endpoint is not None and case.endpoint.state != "Failed":
        return None
    refused = refusal_rules.first(facts)
    if refused is not None:
        return refused
    if case.endpoint is not None:
        return Finding(Cause.UNKNOWN, "it is Failed; Azure gives no reason", f"delete it, {_UP}")
    return refusal_rules.not_there("endpoint")


def _not_there(case: DeploymentCase) -> Finding | None:
    if case.deployment is not None or case.sentences:
        return None
    return refusal_rules.not_there("deployment", "the endpoint")


def _unschedulable(case: DeploymentCase) -> Finding | None:
    matched = phrases.first(ml_phrases.UNSCHEDULABLE, case.sentences)
    if not matched:
        return None
    return Finding(
        Cause.NO_ROOM,
        "its pods can't be scheduled: they request more than is free, or nodes that don't exist",
        f"request less in the compute's `instance_types`, correct their node_selector, or enlarge the pool: {COMMAND} "
        "explain CLUSTER/POOL",
        (matched,),
    )


def _quota(case: DeploymentCase) -> Finding | None:
    matched = phrases.first(ml_phrases.QUOTA, case.sentences)
    if not matched:
        return None
    named = ml_phrases.QUOTA_SIZE.search(matched)
    size = SIZES.find(named[1]) if named else None
    figures = ml_phrases.QUOTA_FIGURES.search(matched)
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
    return Finding(
        Cause.QUOTA,
        what,
        f"request a limit{needed} in the portal (Azure Machine Learning, Quota), request fewer instances or a smaller size, use "
        f"an A100 or H100 (no upgrade reserve), or stop what uses it: {_RUNNING}",
        (matched,),
    )


def _rights(case: DeploymentCase) -> Finding | None:
    """A missing right of the endpoint's identity, by the role or the resource in the message."""
    matched = phrases.first(ml_phrases.NOT_ALLOWED, (*case.sentences, *case.storage_log))
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


def _image(case: DeploymentCase) -> Finding | None:
    matched = phrases.first(ml_phrases.IMAGE_MISSING, case.sentences)
    if not matched:
        return None
    return Finding(
        Cause.IMAGE_NOT_FOUND,
        "the environment's image isn't in its registry",
        f"correct its name and tag in `environments`, or build it: `pulumi up` builds the image of a workload; {_UP}",
        (matched,),
    )


def _model(case: DeploymentCase) -> Finding | None:
    matched = phrases.first(ml_phrases.MODEL_MISSING, (*case.sentences, *case.storage_log))
    if not matched or not case.failed:
        return None
    model = "/".join(case.deployment.model.split("/")[-3::2]) if case.deployment and case.deployment.model else "the model"
    return Finding(
        Cause.MODEL_NOT_FOUND,
        f"no files at the path of {model}",
        f"upload them: {COMMAND} upload-model FOLDER --name NAME --version VERSION --stack STACK; or correct "
        "`path` of a new version in the stack's `models`",
        (matched,),
        STORAGE if matched in case.storage_log else "",
    )


def _build(case: DeploymentCase) -> Finding | None:
    matched = phrases.first(ml_phrases.BUILD, case.sentences)
    if not matched:
        return None
    missing = ml_phrases.NO_DISTRIBUTION.search(matched)
    if missing:
        return Finding(
            Cause.BUILD,
            f"the environment's packages can't be installed: not found: {missing['one'] or missing['other']}",
            f"correct the name or the version in the environment's conda file, give the environment a new version, {_UP}",
            (matched,),
        )
    return Finding(
        Cause.BUILD,
        "the environment's image can't be built",
        f"see the build's last lines in the message; pin versions in the conda file, give the environment a new version, {_UP}",
        (matched,),
    )


def _cluster(case: DeploymentCase) -> Finding | None:
    matched = phrases.first(ml_phrases.CLUSTER, case.sentences)
    if not matched:
        return None
    return Finding(
        Cause.UNREACHABLE,
        "the cluster, or Azure Machine Learning's extension in it, doesn't answer",
        f"check that the cluster runs, and the extension's pods in the namespace azureml: {COMMAND} explain CLUSTER",
        (matched,),
    )


def _refused(case: DeploymentCase) -> Finding | None:
    """Any other rejection, with Azure's message."""
    facts = case.as_facts()._replace(refusals=case.open_refusals)
    if not facts.refusals:
        return None
    return refusal_rules.no_capacity(facts) or refusal_rules.other(facts)


def _unknown(case: DeploymentCase) -> Finding | None:
    if not case.failed or case.deployment is None:
        return None
    if case.deployment.state != "Failed":
        return Finding(
            Cause.CRASH_LOOP, "one of its containers isn't running", "see its last lines below", case.events[-2:], SERVER
        )
    fix = f"see `az ml online-deployment get-logs`; delete the deployment, {_UP}"
    return Finding(Cause.UNKNOWN, f"it is {case.deployment.state}; Azure gives no reason", fix)


def _starting(case: DeploymentCase) -> Finding | None:
    deployment = case.deployment
    if deployment is None or deployment.state not in COMING:
        return None
    what = f"it is {deployment.state}; this takes up to 20 minutes"
    return Finding(Cause.STARTING, what, "wait, then check again")


def _well(case: DeploymentCase) -> Finding:
    share = f"it answers, with {case.share} % of the endpoint's traffic"
    return Finding(Cause.HEALTHY, share, "nothing to do")


def _coming(case: EndpointCase) -> Finding | None:
    coming = [each for each in case.deployments if _starting(each) is not None]
    if case.endpoint is not None and case.endpoint.state in COMING:
        return Finding(Cause.STARTING, f"it is {case.endpoint.state}", "wait, then check again")
    return _starting(coming[0]) if coming else None


def _without_traffic(case: EndpointCase) -> Finding | None:
    if case.endpoint is None or any(case.endpoint.traffic.values()):
        return None
    if since := case.endpoint.tags.get(STOPPED_SINCE):
        return Finding(
            Cause.NO_TRAFFIC,
            f"it has been stopped since {since}: its address and keys stay, and requests get 404",
            f"{COMMAND} start {case.name} --stack STACK",
        )
    if not case.deployments:
        return Finding(Cause.NO_TRAFFIC, "it has no deployment, so requests get 404", "declare one in `deployments`")
    names = ", ".join(each.name.rsplit("/", 1)[-1] for each in case.deployments)
    return Finding(
        Cause.NO_TRAFFIC,
        f"no deployment has traffic, so requests without a deployment name get 404; it has {names}",
        f"send traffic to one: {COMMAND} promote {case.name} DEPLOYMENT --stack STACK",
    )


def _healthy(case: EndpointCase) -> Finding:
    traffic = case.endpoint.traffic if case.endpoint else {}
    shares = ", ".join(f"{name} {percent} %" for name, percent in traffic.items() if percent)
    return Finding(Cause.HEALTHY, f"it answers: {shares}", "nothing to do")


RULES: tuple[Rule, ...] = (
    _not_there,
    _unschedulable,
    _quota,
    _rights,
    *ml_deployment_rules.RULES,
    _image,
    _model,
    _build,
    _cluster,
    _refused,
    _unknown,
)
