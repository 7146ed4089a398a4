"""What `run` sends to its services is what was recorded, holds no secret in plain text, and is what Kubernetes takes."""

import json

import kubernetes_validate
import pytest

from tests.components import recorded_bodies
from tests.operations import sent_bodies
from tests.operations.sent_bodies import REQUESTS

SECRET = "hunter2"
RENEW = "after a change on purpose: make renew"
# Versions of clusters that AKS has today: nobody here has them all, their schemas are.
VERSIONS = ["1.33.0", "1.34.0", "1.36.0"]


@pytest.mark.parametrize("service", REQUESTS)
def test_what_is_sent_is_what_was_recorded(service: str) -> None:
    sent = {name: sent_bodies.now(service, name) for name in REQUESTS[service]}
    recorded = sent_bodies.recorded(service)
    wrong = [name for name in sent.keys() | recorded.keys() if sent.get(name) != recorded.get(name)]
    assert wrong == [], [RENEW, *recorded_bodies.differences(recorded, sent)]
    plain = [name for name, body in sent.items() if SECRET in json.dumps(body)]
    # A virtual machine's are parameters that Azure keeps.
    assert plain == ([name for name, row in REQUESTS[service].items() if "secrets" in row] if service == "vm" else [])


@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_takes_jobs_and_their_secrets_field_by_field(version: str) -> None:
    for body in (sent_bodies.now("cluster", name) for name in REQUESTS["cluster"]):
        job = body["job"]
        if job["kind"] == "JobSet":
            [replicated] = job["spec"]["replicatedJobs"]
            job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": job["metadata"], "spec": replicated["template"]["spec"]}
        kubernetes_validate.validate(job, version, strict=True)
        if "secret" in body:
            kubernetes_validate.validate(body["secret"], version, strict=True)
