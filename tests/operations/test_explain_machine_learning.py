"""Why endpoints, deployments, computes, jobs and machines fail: each cause from the words of the service or of the program."""

from datetime import UTC, datetime
from typing import Any

import pytest

from azure_gpu_operations.explain import machine_rules, ml_compute_rules, ml_endpoint_rules
from azure_gpu_operations.explain.facts import Finding, Refusal
from azure_gpu_operations.explain.machine_rules import MachineCase
from azure_gpu_operations.explain.ml_facts import ComputeCase, DeploymentCase, EndpointCase, JobCase
from azure_gpu_operations.machine_learning.endpoints import Deployment, Endpoint
from azure_gpu_operations.virtual_machines import Extension, Machine, RunCommand, Shutdown

WORKSPACE = "/subscriptions/s/resourceGroups/g/providers/Microsoft.MachineLearningServices/workspaces/w"
ENDPOINT = Endpoint(f"{WORKSPACE}/onlineEndpoints/digits", "digits", "Succeeded", traffic={"blue": 100, "green": 0})
BLUE = Deployment(f"{ENDPOINT.id}/deployments/blue", "blue", "Failed", "Managed", "Standard_NC4as_T4_v3", 1)
GREEN = BLUE._replace(id=f"{ENDPOINT.id}/deployments/green", name="green", state="Succeeded")
PUT_AT = datetime(2026, 11, 22, 6, 0, tzinfo=UTC)
LATER = datetime(2026, 11, 22, 6, 5, tzinfo=UTC)

INIT = """\
Initializing logger
Traceback (most recent call last):
  File "/var/azureml-app/score.py", line 12, in init
    raise RuntimeError("no weights")
RuntimeError: no weights"""


def failed(code: str = "", message: str = "", log: str = "", **more: Any) -> DeploymentCase:
    """The deployment as Failed, with what the service says and what its server wrote."""
    refusals = (Refusal(code, message, PUT_AT),) if code else ()
    return DeploymentCase("digits/blue", BLUE.id, ENDPOINT, BLUE, PUT_AT, refusals, server_log=tuple(log.splitlines()))._replace(
        **more
    )


def told(case: DeploymentCase) -> Finding:
    return ml_endpoint_rules.explain_deployment(case)


# Deployments


@pytest.mark.parametrize(
    ("case", "cause", "what", "fix"),
    [
        (
            failed(
                "BadArgument",
                "Startup task failed due to authorization error: the identity 1f may not pull the image. It needs the role "
                "AcrPull on the registry reg1, and a role takes some minutes to hold.",
            ),
            "NO_RIGHT_TO_PULL",
            "has no right to pull the image",
            "AcrPull",
        ),
        (
            failed(
                "BadArgument",
                "Startup task failed due to authorization error: the identity 1f may not read the model's blobs. It needs the "
                "role Storage Blob Data Reader on the storage account st1.",
            ),
            "NO_RIGHT_TO_READ",
            "has no right to read the model's files",
            "Storage Blob Data Reader",
        ),
        (
            failed(
                "BadArgument",
                "User container has crashed or terminated.",
                storage_log=(
                    "2026-11-22 06:00:01,402 Downloading the model",
                    "2026-11-22 06:00:02,000 HTTP status 403: This request is not authorized to perform this operation on blobs.",
                ),
            ),
            "NO_RIGHT_TO_READ",
            "has no right to read the model's files",
            "Storage Blob Data Reader",
        ),
        (
            failed(
                "BadArgument",
                "User container image download failed: registry.azurecr.io/scoring:1 was not found.",
                storage_log=("2026-11-22 06:00:01,403 Downloading", "2026-11-22 06:00:02.403 Done"),
            ),
            "IMAGE_NOT_FOUND",
            "image isn't in its registry",
            "correct its name and tag",
        ),
        (
            failed("BadArgument", "User container image download failed: registry.azurecr.io/scoring:1 was not found."),
            "IMAGE_NOT_FOUND",
            "isn't in its registry",
            "pulumi up",
        ),
        (
            failed("BadArgument", "User model download failed: the specified blob does not exist."),
            "MODEL_NOT_FOUND",
            "no files at",
            "upload-model",
        ),
        (
            failed("ResourceNotReady", "User container has crashed or terminated: exit code 3.", INIT),
            "SCRIPT",
            "RuntimeError: no weights",
            "AZUREML_MODEL_DIR",
        ),
        (
            failed(
                "ResourceNotReady",
                "User container has crashed or terminated: exit code 3.",
                "Traceback (most recent call last):\n  import ujson\nModuleNotFoundError: No module named 'ujson'",
            ),
            "MISSING_PACKAGE",
            "imports ujson",
            "conda file",
        ),
        (
            failed(
                "ResourceNotReady",
                "User container has crashed or terminated.",
                "Traceback (most recent call last):\nValueError: This score.py only supports one input",
            ),
            "MODEL_INPUTS",
            "more than one input",
            "signature of one input",
        ),
        (
            failed("ResourceNotReady", "User container isn't ready: its readiness probe failed: no connection."),
            "NOT_READY",
            "nothing listens on the port",
            "5001",
        ),
        (
            failed("ResourceNotReady", "User container has crashed or terminated: it ended with exit code 127."),
            "CRASH_LOOP",
            "ends soon after each start",
            "command",
        ),
        (
            failed("ResourceNotReady", "User container has crashed or terminated: OOMKilled, exit code 137."),
            "OUT_OF_MEMORY",
            "Standard_NC4as_T4_v3 has too little",
            "WORKER_COUNT",
        ),
        (
            failed(log="[ERROR] Worker (pid:12) was sent SIGKILL! Perhaps out of memory?"),
            "OUT_OF_MEMORY",
            "more memory",
            "instance_type",
        ),
        (
            failed("ImageBuildFailure", "pip failed: ERROR: No matching distribution found for tensorflow-gpu==1.12"),
            "BUILD",
            "tensorflow-gpu==1.12",
            "conda file",
        ),
        (
            failed("OutOfQuota", "Kubernetes unschedulable. Details: 0/1 nodes are available: 1 Too many pods."),
            "NO_ROOM",
            "can't be scheduled",
            "instance_types",
        ),
        (
            failed("InferencingClientCallFailed", "The cluster doesn't answer."),
            "UNREACHABLE",
            "extension",
            "azureml",
        ),
        (failed("SomethingElse", "Nobody knows."), "REFUSED", "Azure refused it", "pulumi up"),
        (failed(), "UNKNOWN", "Azure gives no reason", "get-logs"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isupper() else "",
)
def test_a_failed_deployment_is_explained(case: DeploymentCase, cause: str, what: str, fix: str) -> None:
    found = told(case)
    assert found.cause.name == cause
    assert what in found.what
    assert fix in found.fix


def test_a_quota_counts_the_fifth_that_is_kept_for_upgrades() -> None:
    message = (
        "The request is invalid.; Not enough quota available for Standard_NC4as_T4_v3 in SubscriptionId s. Current usage/limit: "
        "0/6. Additional needed: 8 Please see troubleshooting guide, available here: https://aka.ms/oe-tsg#error-outofquota"
    )
    found = told(DeploymentCase("digits/blue", BLUE.id, ENDPOINT, refusals=(Refusal("BadRequest", message, PUT_AT),)))
    assert found.cause.name == "QUOTA"
    assert "quota for Standard_NC4as_T4_v3 here is 6 vCPUs: 0 are used, 8 more are requested" in found.what
    assert "20 % of the instances, rounded up, are reserved for upgrades and count: 1 instance uses 2" in found.what
    assert "request a limit of 8 vCPUs" in found.fix


def test_of_an_a100_nothing_is_kept() -> None:
    message = "Not enough quota available for Standard_NC24ads_A100_v4. Current usage/limit: 0/0. Additional needed: 24"
    found = told(DeploymentCase("digits/blue", BLUE.id, ENDPOINT, refusals=(Refusal("BadRequest", message, PUT_AT),)))
    assert "reserved for upgrades" not in found.what


def test_requests_that_take_longer_than_they_may_are_a_timeout_of_a_deployment_that_answers() -> None:
    well = failed(log="POST /score 200 12.1ms 7\nPOST /score 200 6021.5ms 7")._replace(deployment=GREEN)
    found = told(well)
    assert found.cause.name == "TIMEOUT"
    assert "1 of its last 2 requests took longer than the limit of 5 s" in found.what
    assert told(well._replace(deployment=GREEN._replace(timeout_seconds=60.0))).cause.name == "HEALTHY"


def test_an_environment_for_gpus_on_a_processor_is_named_also_where_it_answers() -> None:
    log = "E0000 cuda_executor.cc] failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)"
    cpu = GREEN._replace(instance_type="Standard_F4s_v2")
    found = told(failed(log=log)._replace(deployment=cpu))
    assert found.cause.name == "NO_GPU"
    assert "Standard_F4s_v2 has none, so it runs on the CPU" in found.what
    assert told(failed(log=log)._replace(deployment=GREEN)).cause.name == "HEALTHY", "with a GPU the line says nothing"


def test_what_was_refused_before_a_deployment_got_well_is_history() -> None:
    old = (Refusal("BadArgument", "User model download failed.", PUT_AT),)
    assert told(failed(refusals=old)._replace(deployment=GREEN, changed=LATER)).cause.name == "HEALTHY"
    assert told(failed(refusals=old)._replace(deployment=GREEN, changed=PUT_AT.replace(hour=5))).cause.name != "HEALTHY"


def test_a_deployment_that_is_coming_is_no_failure() -> None:
    assert told(failed()._replace(deployment=BLUE._replace(state="Creating"))).cause.name == "STARTING"


# Endpoints


def endpoint(*deployments: DeploymentCase, **changed: Any) -> tuple[str, Finding]:
    facts, finding = ml_endpoint_rules.explain(EndpointCase("digits", ENDPOINT.id, ENDPOINT._replace(**changed), deployments))
    return facts.name, finding


def test_an_endpoint_is_explained_by_the_deployment_that_failed() -> None:
    well = failed(deployment=GREEN, name="digits/green")
    name, found = endpoint(well, failed("ResourceNotReady", "User container has crashed or terminated.", INIT))
    assert (name, found.cause.name) == ("digits/blue", "SCRIPT")


def test_an_endpoint_without_traffic_answers_nobody() -> None:
    _, found = endpoint(failed(deployment=GREEN, name="digits/green"), traffic={"green": 0})
    assert found.cause.name == "NO_TRAFFIC"
    assert "promote digits" in found.fix
    assert endpoint(traffic={})[1].cause.name == "NO_TRAFFIC"


def test_an_endpoint_that_answers_says_whose_traffic_it_has() -> None:
    name, found = endpoint(failed(deployment=GREEN, name="digits/green"), traffic={"blue": 90, "green": 10})
    assert (name, found.cause.name, found.what) == ("digits", "HEALTHY", "it answers: blue 90 %, green 10 %")


def test_an_endpoint_that_was_never_made_is_told_by_its_refusal() -> None:
    refused = (Refusal("BadRequest", "The name digits is taken in westeurope.", PUT_AT),)
    _, found = ml_endpoint_rules.explain(EndpointCase("digits", ENDPOINT.id, refusals=refused))
    assert found.cause.name == "REFUSED"
    assert "taken in westeurope" in found.evidence[0]
    assert ml_endpoint_rules.explain(EndpointCase("digits", ENDPOINT.id))[1].cause.name == "NOT_THERE"


# Computes and jobs

CLUSTER = ComputeCase("t4", f"{WORKSPACE}/computes/t4", True, "AmlCompute", "Succeeded", "Standard_NC4as_T4_v3", "Steady")


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        ({}, "HEALTHY"),
        ({"errors": ("ClusterCoreQuotaReached: the quota of 6 cores is exceeded",)}, "QUOTA"),
        ({"errors": ("AllocationFailed: no capacity",)}, "NO_CAPACITY"),
        ({"errors": ("SubnetFull: no address is left",)}, "RESIZE"),
        ({"nodes": {"unusableNodeCount": 1}}, "UNUSABLE_NODE"),
        ({"nodes": {"preemptedNodeCount": 2}}, "EVICTED"),
        ({"allocation": "Resizing"}, "STARTING"),
        ({"exists": False}, "NOT_THERE"),
    ],
)
def test_a_compute_is_explained(changed: dict[str, Any], cause: str) -> None:
    assert ml_compute_rules.explain(CLUSTER._replace(**changed)).cause.name == cause


RUN = JobCase("run-1", f"{WORKSPACE}/jobs/run-1", True, "Failed", "ExecutionFailed: exit code 4", 4, f"{WORKSPACE}/computes/t4")


@pytest.mark.parametrize(
    ("changed", "cause", "what"),
    [
        ({"log": tuple(INIT.splitlines())}, "PROGRAM_ERROR", "exit code 4: RuntimeError: no weights"),
        ({"log": ("ModuleNotFoundError: No module named 'torch'",)}, "MISSING_PACKAGE", "imports torch"),
        ({"log": ("torch.OutOfMemoryError: CUDA out of memory. Tried",)}, "OUT_OF_GPU_MEMORY", "than the GPU has"),
        ({"log": ("CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",)}, "NO_GPU", "its node has none"),
        ({"exit_code": 137}, "OUT_OF_MEMORY", "killed"),
        ({"error": "JobTimeout: exceeded its timeout of 60 seconds"}, "TIMEOUT", "at its time limit"),
        ({"status": "Canceled", "error": ""}, "STOPPED", "canceled"),
        ({"status": "Queued"}, "STARTING", "waits for a node of t4"),
        ({"status": "Completed"}, "HEALTHY", "succeeded"),
    ],
)
def test_a_job_of_a_workspace_is_explained(changed: dict[str, Any], cause: str, what: str) -> None:
    found = ml_compute_rules.explain_job(RUN._replace(**changed))
    assert found.cause.name == cause
    assert what in found.what


# Machines

MACHINE = Machine("/vm", "gpu-vm", "Succeeded", "running", size="Standard_NC4as_T4_v3")
DRIVER = Extension("NvidiaGpuDriverLinux", "Microsoft.HpcCompute.NvidiaGpuDriverLinux", "failed", "the kernel isn't supported")


@pytest.mark.parametrize(
    ("changed", "cause", "what"),
    [
        ({}, "HEALTHY", "it is running"),
        ({"extensions": (DRIVER,), "state": "Failed"}, "EXTENSION", "NVIDIA's driver failed"),
        ({"extensions": (Extension("Other", "X.Y", "failed", "no"),)}, "EXTENSION", "its extension Other failed"),
        ({"commands": (RunCommand("train", "Failed", 3, error="no labels"),)}, "RUN_COMMAND", "train ended with exit code 3"),
        ({"commands": (RunCommand("train", "TimedOut"),)}, "TIMEOUT", "train was stopped at its time limit"),
        ({"commands": (RunCommand("train", "Failed", 1, error="No module named 'x'\nModuleNotFoundError: No module named 'x'"),)},
         "MISSING_PACKAGE", "imports x"),
        ({"commands": (RunCommand("prove-driver", "Failed", 1),)}, "NO_GPU", "driver check failed"),
        ({"power": "deallocated", "shutdown": Shutdown("19:00", "UTC")}, "OUT_OF_HOURS", "daily schedule at 19:00 (UTC)"),
        ({"power": "deallocated"}, "DEALLOCATED", "its disks are"),
        ({"power": "stopped"}, "SHUT_DOWN", "billed as if it ran"),
        ({"state": "Creating", "power": ""}, "STARTING", "Creating"),
    ],
)  # fmt: skip
def test_a_machine_is_explained(changed: dict[str, Any], cause: str, what: str) -> None:
    found = machine_rules.explain(MachineCase("gpu", "/vm", MACHINE._replace(**changed)))
    assert found.cause.name == cause
    assert what in found.what


def test_a_machine_that_was_never_made_is_told_by_its_refusal() -> None:
    refused = (Refusal("SkuNotAvailable", "not available in the location 'westeurope'", PUT_AT),)
    assert machine_rules.explain(MachineCase("gpu", "/vm", None, refused)).cause.name == "NO_CAPACITY"
    assert machine_rules.explain(MachineCase("gpu", "/vm")).cause.name == "NOT_THERE"
