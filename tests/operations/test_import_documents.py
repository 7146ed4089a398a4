"""`import` of Azure ML's YAML, of Batch and AKS in ARM, and of manifests: what can be taken is taken, and no GPU is lost."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings, strategies as st

from azure_gpu.catalog.problems import errors
from azure_gpu.formats.gpu_mentions import mentions
from azure_gpu.formats.stack_file import configuration
from azure_gpu.stack import settings as stack_settings
from azure_gpu_operations.__main__ import main
from tests.components.recording import SUBSCRIPTION
from tests.components.settings_of import pure_problems

TODAY = "2026-11-21"
T4, RETIRED = "Standard_NC4as_T4_v3", "Standard_NC6"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: Capture, text: str | dict[str, str], *arguments: str, file: str = "f.yaml") -> tuple[int, str, str]:
    if isinstance(text, str):
        Path(file).write_text(text, encoding="utf-8")
    else:
        Path(file).mkdir(exist_ok=True)
        for name, content in text.items():
            (Path(file) / name).write_text(content, encoding="utf-8")
    code = main(["import", file, "--as-of", TODAY, "--location", "eastus", *arguments])
    output = capsys.readouterr()
    return code, output.out, output.err


def taken(capsys: Capture, text: str | dict[str, str], *arguments: str, **more: str) -> dict[str, Any]:
    code, out, err = run(capsys, text, *arguments, **more)
    assert (code, [line for line in err.splitlines() if not line.startswith("warning: ")]) == (0, []), err
    return yaml.safe_load(out) or {}


def words_of(out: str) -> str:
    """The text without the comments' wrapping."""
    return " ".join(out.replace("#", " ").split())


ENDPOINT = """\
$schema: https://azuremlschemas.azureedge.net/latest/managedOnlineEndpoint.schema.json
name: digits
auth_mode: aad_token
traffic: {blue: 90, green: 10}
"""
BLUE = f"""\
$schema: https://azuremlschemas.azureedge.net/latest/managedOnlineDeployment.schema.json
name: blue
endpoint_name: digits
model: azureml:digits:3
environment:
  name: serving
  image: mcr.microsoft.com/azureml/minimal-ubuntu22.04-py39-cpu-inference:latest
  conda_file: env/conda.yml
code_configuration: {{code: src, scoring_script: score.py}}
environment_variables: {{WORKERS: "2", HF_TOKEN: hidden-value}}
instance_type: {T4}
instance_count: 2
request_settings: {{request_timeout_ms: 3000, max_concurrent_requests_per_instance: 4}}
liveness_probe: {{initial_delay: 30, period: 10}}
data_collector: {{collections: {{}}, sampling_rate: 1}}
"""
GREEN = BLUE.replace("name: blue", "name: green").replace("instance_count: 2", "instance_count: 1")
COMPUTE = f"""\
$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json
name: gpu-cluster
type: amlcompute
size: {T4}
min_instances: 0
max_instances: 4
idle_time_before_scale_down: 120
tier: low_priority
"""
JOB = """\
$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
code: src
command: python train.py --epochs ${{inputs.epochs}} --data ${{inputs.images}}
inputs:
  epochs: 4
  images: {type: uri_folder, path: ./images}
environment:
  image: mcr.microsoft.com/azureml/openmpi4.1.0-cuda11.8-cudnn8-ubuntu22.04
  conda_file: conda.yml
environment_variables: {SEED: "7", API_KEY: hidden-value}
compute: azureml:gpu-cluster
resources: {instance_count: 2, shm_size: 8g}
limits: {timeout: 7200}
distribution: {type: pytorch, process_count_per_instance: 4}
"""


def test_yaml_of_azure_ml_that_speaks_of_a_template_is_read_as_before(capsys: Capture) -> None:
    said = "# the successor of deploymentTemplate.json\n"
    assert taken(capsys, said + ENDPOINT) == taken(capsys, ENDPOINT)


def test_an_endpoint_and_its_deployments_become_one_entry(capsys: Capture) -> None:
    files = {"endpoint.yml": ENDPOINT, "blue.yml": BLUE, "green.yml": GREEN}
    code, out, err = run(capsys, files, file="online")
    assert code == 0, err
    assert "hidden-value" not in out + err
    config = yaml.safe_load(out)
    endpoint = config["azure-gpu:ml_endpoints"]["digits"]
    assert (endpoint["auth"], endpoint["traffic"], endpoint["expires_after"]) == (
        "entra",
        {"blue": 90, "green": 10},
        "2026-11-28",
    )
    assert endpoint["deployments"]["blue"] == {
        "model": "digits:3",
        "environment": "serving",
        "instance_type": T4,
        "instances": 2,
        "probes": {"liveness": {"initial_delay_seconds": 30, "period_seconds": 10}},
        "requests": {"timeout_seconds": 3, "concurrent": 4},
        "environment_variables": {"WORKERS": "2"},
    }
    assert endpoint["deployments"]["green"]["instances"] == 1
    assert config["azure-gpu:ml_workspace"]["environments"]["serving"]["conda_file"] == "online/env/conda.yml"
    told = words_of(out)
    assert "left out, online/blue.yml:9: code_configuration.code: score.py in src" in told
    assert "left out, online/blue.yml:10: environment_variables.HF_TOKEN: likely a secret" in told
    assert "left out, online/blue.yml:15: data_collector" in told


def test_a_file_without_a_schema_is_known_by_its_keys(capsys: Capture) -> None:
    bare = {name: text.partition("\n")[2] for name, text in (("e.yml", ENDPOINT), ("b.yml", BLUE), ("c.yml", COMPUTE))}
    config = taken(capsys, bare, file="online")
    assert config["azure-gpu:ml_endpoints"]["digits"]["deployments"]["blue"]["instance_type"] == T4
    compute = config["azure-gpu:ml_workspace"]["computes"]["gpu-cluster"]
    assert (compute["size"], compute["max_nodes"], compute["idle_minutes"], compute["spot"]) == (T4, 4, 2, True)


def test_a_compute_of_a_size_that_is_gone_gets_its_successor(capsys: Capture) -> None:
    code, out, _ = run(capsys, COMPUTE.replace(T4, RETIRED))
    assert code == 0
    assert yaml.safe_load(out)["azure-gpu:ml_workspace"]["computes"]["gpu-cluster"]["size"] == T4
    assert "f.yaml:4: size: Standard_NC6 retired on 2023-09-06" in words_of(out)


def test_a_kubernetes_deployments_pod_is_an_instance_type_of_its_compute(capsys: Capture) -> None:
    endpoint = "name: digits\nauth_mode: key\ncompute: azureml:shared\n"
    blue = (
        "$schema: https://azuremlschemas.azureedge.net/latest/kubernetesOnlineDeployment.schema.json\nname: blue\n"
        "endpoint_name: digits\nmodel: azureml:m:1\nenvironment: azureml:e:1\n"
        'resources: {requests: {cpu: "2", memory: 4Gi}, limits: {nvidia.com/gpu: 1}}\n'
    )
    compute = f"name: shared\ntype: kubernetes\nresource_id: {CLUSTER_ID}\nnamespace: ml\n"
    config = taken(capsys, {"e.yml": endpoint, "b.yml": blue, "c.yml": compute}, file="online")
    shared = config["azure-gpu:ml_workspace"]["computes"]["shared"]
    assert shared == {"cluster": "lab", "namespace": "ml", "instance_types": {"blue": {"cpu": "2", "memory": "4Gi", "gpus": 1}}}
    assert config["azure-gpu:ml_endpoints"]["digits"]["deployments"]["blue"]["instance_type"] == "blue"
    assert config["azure-gpu:clusters"]["lab"] == {"existing": CLUSTER_ID}
    alone, out, _ = run(capsys, blue, file="blue.yml")
    assert alone == 0
    assert "gpus: 1" in words_of(out)


def test_a_command_job_becomes_the_command_that_runs_it(capsys: Capture) -> None:
    code, out, err = run(capsys, JOB, file="job.yml")
    assert (code, "hidden-value" in out + err) == (0, False)
    assert (
        "#   python -m operations run ./src/train.py --base mcr.microsoft.com/azureml/openmpi4.1.0-cuda11.8-cudnn8-ubuntu22.04 "
        "--on cluster --compute gpu-cluster --nodes 2 --env SEED=7 --secret-env API_KEY --input images=images --timeout 120 "
        "--stack STACK -- --epochs 4 --data images"
    ) in out
    told = words_of(out)
    assert "left out, job.yml:12: resources.shm_size" in told
    assert "pytorch with 4 processes" in told


def test_a_job_on_serverless_machines_brings_their_size(capsys: Capture) -> None:
    job = JOB.replace("compute: azureml:gpu-cluster\n", "").replace("shm_size: 8g", f"instance_type: {T4}")
    compute = taken(capsys, job, file="job.yml")["azure-gpu:ml_workspace"]["computes"]["gpu"]
    assert (compute["size"], compute["max_nodes"]) == (T4, 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("$schema: https://azuremlschemas.azureedge.net/latest/pipelineJob.schema.json\njobs: {}\n", "each step"),
        ("$schema: https://azuremlschemas.azureedge.net/latest/sweepJob.schema.json\ntrial: {}\n", "run --on batch --tasks"),
        ("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", "namespace of the cluster"),
        ('{"type": "Microsoft.Compute/virtualMachines", "properties": {"hardwareProfile": {"vmSize": "Standard_NC6"}}}', "vms"),
    ],
)
def test_what_isnt_read_is_named_with_what_replaces_it(capsys: Capture, text: str, said: str) -> None:
    code, out, err = run(capsys, text)
    assert code == 1
    assert said in words_of(out)
    assert "left out, f.yaml:" in out
    assert "nothing in f.yaml can be taken" in err


CLUSTER_ID = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/r/providers/Microsoft.ContainerService/managedClusters/lab"
GPU_POOL: dict[str, Any] = {
    "vmSize": T4,
    "enableAutoScaling": True,
    "count": 1,
    "minCount": 0,
    "maxCount": 3,
    "nodeTaints": ["sku=gpu:NoSchedule"],
    "scaleSetPriority": "Spot",
    "spotMaxPrice": -1,
    "osSKU": "Ubuntu",
    "mode": "User",
}
SYSTEM_POOL = {"name": "system", "vmSize": "Standard_D4s_v5", "count": 2, "mode": "System"}
CLUSTER: dict[str, Any] = {
    "type": "Microsoft.ContainerService/managedClusters",
    "apiVersion": "2025-09-01",
    "name": "lab",
    "location": "eastus",
    "sku": {"name": "Base", "tier": "Standard"},
    "properties": {
        "kubernetesVersion": "1.35",
        "agentPoolProfiles": [SYSTEM_POOL, {"name": "t4", **GPU_POOL}],
        "networkProfile": {"networkPlugin": "azure", "outboundType": "loadBalancer"},
        "oidcIssuerProfile": {"enabled": True},
    },
}
POOL: dict[str, Any] = {
    "type": "Microsoft.Batch/batchAccounts/pools",
    "apiVersion": "2024-07-01",
    "name": "labbatch/train",
    "properties": {
        "vmSize": T4,
        "deploymentConfiguration": {
            "virtualMachineConfiguration": {
                "imageReference": {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2404", "version": "latest"},
                "nodeAgentSkuId": "batch.node.ubuntu 24.04",
                "containerConfiguration": {"type": "DockerCompatible", "containerImageNames": ["python:3.12-slim"]},
            }
        },
        "scaleSettings": {"fixedScale": {"targetDedicatedNodes": 0, "targetLowPriorityNodes": 2, "resizeTimeout": "PT15M"}},
        "taskSlotsPerNode": 2,
        "startTask": {
            "commandLine": "/bin/sh -c 'nvidia-smi'",
            "environmentSettings": [{"name": "MODE", "value": "a"}, {"name": "DB_PASSWORD", "value": "hidden-value"}],
            "waitForSuccess": True,
        },
        "userAccounts": [{"name": "u", "password": "hidden-value"}],
    },
}
ACCOUNT = {
    "type": "Microsoft.Batch/batchAccounts",
    "apiVersion": "2024-07-01",
    "name": "labbatch",
    "location": "eastus",
    "properties": {"poolAllocationMode": "BatchService"},
}


def template(*resources: dict[str, Any], parameters: dict[str, Any] | None = None) -> str:
    schema = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"
    whole = {"$schema": schema, "contentVersion": "1.0.0.0", "parameters": parameters or {}, "resources": list(resources)}
    return json.dumps(whole, indent=2)


def test_batch_of_a_template_becomes_account_and_pool(capsys: Capture) -> None:
    code, out, err = run(capsys, template(ACCOUNT, POOL), file="t.json")
    assert (code, "hidden-value" in out + err) == (0, False), err
    config = yaml.safe_load(out)
    assert config["azure-gpu:batch_account"] == {"account_name": "labbatch", "location": "eastus"}
    pool = config["azure-gpu:pools"]["train"]
    assert (pool["size"], pool["spot_nodes"], pool["task_slots"]) == (T4, 2, 2)
    assert pool["containers"] == {"images": ["python:3.12-slim"]}
    assert pool["start_task"] == {"command": "/bin/sh -c 'nvidia-smi'", "environment": {"MODE": "a"}}
    told = words_of(out)
    assert "properties.userAccounts: nodes get no users with passwords" in told
    assert "pulumi config set --secret --path azure-gpu:pools.train.start_task.secret_environment.DB_PASSWORD" in told


def test_a_size_by_a_parameter_is_known_or_told(capsys: Capture) -> None:
    pool = {**POOL, "properties": {**POOL["properties"], "vmSize": "[parameters('size')]"}}
    parameters = {"size": {"type": "string", "defaultValue": RETIRED}}
    code, out, _ = run(capsys, template(pool, parameters=parameters), file="t.json")
    assert code == 0
    assert yaml.safe_load(out)["azure-gpu:pools"]["train"]["size"] == T4
    assert "Standard_NC6 retired on 2023-09-06" in words_of(out)
    code, out, _ = run(capsys, template(pool, parameters={"size": {"type": "string"}}), file="t.json")
    assert "parameters('size')] isn't known here; give the parameter" in words_of(out)


@pytest.mark.parametrize("form", ["template", "answer of ARM", "output of az"])
def test_a_cluster_comes_back_with_its_gpu_pools(capsys: Capture, form: str) -> None:
    text = template(CLUSTER)
    if form != "template":
        body = {**CLUSTER, "id": CLUSTER_ID}
        if form == "output of az":
            body = {**body, **body.pop("properties"), "resourceGroup": "r", "tags": None}
        text = json.dumps(body, indent=2)
    code, out, err = run(capsys, text, file="c.json")
    assert code == 0, err
    cluster = yaml.safe_load(out)["azure-gpu:clusters"]["lab"]
    assert (cluster["tier"], cluster["kubernetes_version"]) == ("standard", "1.35")
    assert cluster["system_pool"] == {"size": "Standard_D4s_v5", "nodes": 2}
    assert cluster["gpu_pools"] == {
        "t4": {"size": T4, "min_nodes": 0, "max_nodes": 3, "spot": {"eviction": "delete"}, "taints": ["sku=gpu:NoSchedule"]}
    }
    assert "oidcIssuerProfile: the stack file has no key for it" in words_of(out)
    assert ("adopt /subscriptions/" in words_of(out)) is (form != "template")


def test_an_agent_pool_by_itself_is_one_of_its_cluster(capsys: Capture) -> None:
    text = json.dumps({"id": f"{CLUSTER_ID}/agentPools/mig", "name": "mig", **GPU_POOL, "gpuInstanceProfile": "MIG1g"})
    pools = taken(capsys, text.replace(T4, "Standard_NC24ads_A100_v4"), file="p.json")["azure-gpu:clusters"]["lab"]["gpu_pools"]
    assert pools["mig"]["sharing"] == {"strategy": "mig", "profile": "MIG1g"}


def test_batchs_own_form_of_a_pool_is_read(capsys: Capture) -> None:
    machines = POOL["properties"]["deploymentConfiguration"]["virtualMachineConfiguration"]
    text = {"id": "train", "vmSize": T4.lower(), "virtualMachineConfiguration": machines, "targetDedicatedNodes": 1}
    pool = taken(capsys, json.dumps([text | {"targetLowPriorityNodes": 0, "resizeTimeout": "0:15:00"}]), file="p.json")
    assert (pool["azure-gpu:pools"]["train"]["size"], pool["azure-gpu:pools"]["train"]["dedicated_nodes"]) == (T4, 1)


def test_other_resources_of_a_template_are_named_with_their_gpus(capsys: Capture) -> None:
    machine = {
        "type": "Microsoft.Compute/virtualMachines",
        "apiVersion": "2024-07-01",
        "name": "box",
        "properties": {"hardwareProfile": {"vmSize": RETIRED}},
    }
    code, out, err = run(capsys, template(POOL, machine), file="t.json")
    assert code == 0, err
    told = words_of(out)
    assert "a Microsoft.Compute/virtualMachines isn't taken; see vms of the stack file" in told
    assert "resources[1].properties.hardwareProfile.vmSize: Standard_NC6 isn't taken" in told


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: whisper, namespace: speech}
spec:
  replicas: 3
  selector: {matchLabels: {app: whisper}}
  template:
    metadata: {labels: {app: whisper}}
    spec:
      tolerations: [{key: sku, operator: Exists}]
      containers:
      - name: server
        image: ghcr.io/example/whisper:1
        ports: [{containerPort: 8080}]
        env:
        - {name: MODEL, value: small}
        - {name: HF_TOKEN, value: hidden-value}
        readinessProbe: {httpGet: {path: /healthy, port: 8080}, periodSeconds: 7}
        resources:
          requests: {cpu: 500m, memory: 2Gi}
          limits: {nvidia.com/gpu: 1}
---
apiVersion: v1
kind: Service
metadata: {name: whisper}
spec: {type: LoadBalancer, selector: {app: whisper}, ports: [{port: 80, targetPort: 8080}]}
"""


def test_a_deployment_becomes_a_service_of_a_cluster(capsys: Capture) -> None:
    code, out, err = run(capsys, DEPLOYMENT)
    assert (code, "hidden-value" in out + err) == (0, False), err
    service = yaml.safe_load(out)["azure-gpu:clusters"]["gpu"]["services"]["whisper"]
    assert service == {
        "replicas": 3,
        "image": "ghcr.io/example/whisper:1",
        "environment": {"MODEL": "small"},
        "cpu": 0.5,
        "memory_in_gib": 2,
        "gpus": 1,
        "port": 8080,
        "probes": {"route": "/healthy", "period_seconds": 7},
    }
    told = words_of(out)
    assert "f.yaml:3: metadata.namespace" in told
    assert "f.yaml:10: spec.template.spec.tolerations" in told
    assert "LoadBalancer: a service here has no public address; set reach: network" in told
    assert "give it as secret_environment: whisper: HF_TOKEN" in told


def test_an_autoscaler_sets_the_services_limits(capsys: Capture) -> None:
    scaler = (
        "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: w}\nspec:\n"
        "  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: whisper}\n  minReplicas: 1\n  maxReplicas: 5\n"
        "  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]\n"
    )
    service = taken(capsys, DEPLOYMENT + scaler)["azure-gpu:clusters"]["gpu"]["services"]["whisper"]
    assert service["autoscale"] == {"min": 1, "max": 5, "cpu_percent": 60}
    assert "replicas" not in service


def test_mig_instances_name_the_sharing_that_their_pool_needs(capsys: Capture) -> None:
    code, out, _ = run(capsys, DEPLOYMENT.replace("nvidia.com/gpu: 1", "nvidia.com/mig-1g.5gb: 2"))
    assert code == 0
    assert yaml.safe_load(out)["azure-gpu:clusters"]["gpu"]["services"]["whisper"]["gpus"] == 2
    told = words_of(out)
    assert "2 MIG instances 1g.5gb for whisper: set `sharing: {strategy: mig, profile: MIG1g, mig_strategy: mixed}`" in told


def test_amd_gpus_are_told_and_what_requests_them_is_a_comment(capsys: Capture) -> None:
    code, out, _ = run(capsys, DEPLOYMENT.replace("nvidia.com/gpu: 1", "amd.com/gpu: 4"))
    assert code == 1
    told = words_of(out)
    assert "limits.amd.com/gpu" in told or "amd.com/gpu" in told
    assert "4 GPUs of AMD" in told
    assert "image: ghcr.io/example/whisper:1" in told
    assert yaml.safe_load(out) is None


CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: device-plugin-config, namespace: gpu-operator}
data:
  tesla-t4: |-
    version: v1
    flags:
      migStrategy: none
    sharing:
      timeSlicing:
        renameByDefault: true
        failRequestsGreaterThanOne: true
        resources:
        - {name: nvidia.com/gpu, replicas: 4}
  a100: |
    version: v1
    sharing:
      mps:
        resources:
        - {name: nvidia.com/gpu, replicas: 10}
"""


def test_the_device_plugins_configuration_becomes_the_sharing_of_pools(capsys: Capture) -> None:
    code, out, _ = run(capsys, CONFIG_MAP)
    assert code == 0
    pools = yaml.safe_load(out)["azure-gpu:clusters"]["gpu"]["gpu_pools"]
    assert pools == {
        "teslat4": {"sharing": {"strategy": "time-slicing", "replicas": 4, "rename": True}},
        "a100": {"sharing": {"strategy": "mps", "replicas": 10}},
    }
    told = words_of(out)
    assert "f.yaml:12: sharing.timeSlicing.failRequestsGreaterThanOne" in told
    assert "set size of the pool" in told


def test_a_folder_of_several_tools_is_read_file_by_file(capsys: Capture) -> None:
    group = {
        "type": "Microsoft.ContainerInstance/containerGroups",
        "apiVersion": "2023-05-01",
        "name": "g",
        "properties": {
            "containers": [{"name": "c", "properties": {"resources": {"requests": {"gpu": {"count": 2, "sku": "V100"}}}}}]
        },
    }
    files = {"a.yaml": DEPLOYMENT, "b.json": template(POOL), "c.json": template(group), "d.yaml": "hello: world\n"}
    code, out, err = run(capsys, files, file="all")
    assert code == 0, err
    config = yaml.safe_load(out)
    assert set(config["azure-gpu:pools"]) | set(config["azure-gpu:clusters"]) == {"train", "gpu"}
    told = words_of(out)
    assert "a container group is imported by itself; run python -m operations import all/c.json" in told
    assert "requests.gpu: 2 V100 isn't taken" in told
    assert "left out, all/d.yaml:1: not a file that is read" in told


def test_a_compute_as_the_ml_extension_of_az_prints_it(capsys: Capture) -> None:
    body = {"name": "g", "type": "amlcompute", "size": T4.upper(), "min_instances": 0, "max_instances": 2, "identity": None}
    compute = taken(capsys, json.dumps(body), file="c.json")["azure-gpu:ml_workspace"]["computes"]["g"]
    assert (compute["size"], compute["max_nodes"]) == (T4, 2)


PLACEHOLDERS = {
    "endpoint.yml": ENDPOINT.replace("digits", "<endpoint-name>"),
    "blue.yml": BLUE.replace("endpoint_name: digits", "endpoint_name: <endpoint-name>"),
    "compute.yml": COMPUTE.replace("max_instances: 4", "max_instances: ${MAX}").replace("low_priority", "{{ tier }}"),
    "service.yaml": DEPLOYMENT.replace("replicas: 3", "replicas: {{ .Values.replicas }}").replace(
        "image: ghcr.io/example/whisper:1", "image: <registry>/whisper:1"
    ),
}


@pytest.mark.parametrize("file", sorted(PLACEHOLDERS))
def test_a_placeholder_is_a_comment_and_the_rest_is_taken(capsys: Capture, file: str) -> None:
    code, out, err = run(capsys, PLACEHOLDERS[file], file=file)
    assert code == 0, err
    assert yaml.safe_load(out)
    assert re.search(rf"left out, {file}:\d+: .*is a placeholder", words_of(out))


@pytest.mark.parametrize(
    ("text", "file"),
    [
        (COMPUTE.replace("max_instances: 4", "max_instances: [many]"), "c.yml"),
        (JOB.replace("compute: azureml:gpu-cluster", "compute: {a: b}"), "j.yml"),
        (template({**POOL, "properties": {**POOL["properties"], "startTask": "x", "taskSlotsPerNode": {}}}), "t.json"),
        (template(ACCOUNT, {**POOL, "name": 7}), "t.json"),
        (template({**POOL, "properties": {**POOL["properties"], "startTask": {"commandLine": "<command>"}}}), "t.json"),
        (DEPLOYMENT.replace("replicas: 3", "replicas: three").replace("ports: [", "ports: [7, "), "d.yaml"),
        (CONFIG_MAP.replace("migStrategy: none", "migStrategy: [1]"), "m.yaml"),
    ],
)
def test_a_part_that_cant_be_read_is_a_comment(capsys: Capture, text: str, file: str) -> None:
    code, out, err = run(capsys, text, file=file)
    assert code == 0, err
    assert yaml.safe_load(out) or "operations run " in out
    assert "left out, " in out
    assert "Traceback" not in err


WITH_GPUS: dict[str, tuple[str | dict[str, str], str]] = {
    "an endpoint": ({"e.yml": ENDPOINT, "b.yml": BLUE, "g.yml": GREEN.replace(T4, "Standard_NC24ads_A100_v4")}, "folder"),
    "a compute": (COMPUTE, "f.yml"),
    "a compute instance": (f"name: w\ntype: computeinstance\nsize: {T4}\n", "f.yml"),
    "a job": (JOB.replace("compute: azureml:gpu-cluster\n", "").replace("shm_size: 8g", f"instance_type: {T4}"), "f.yml"),
    "a pool": (template(ACCOUNT, POOL), "f.json"),
    "a cluster": (json.dumps(CLUSTER), "f.json"),
    "a cluster with several pools": (
        template({**CLUSTER, "properties": {"agentPoolProfiles": [{"name": f"p{i}", **GPU_POOL} for i in range(3)]}}),
        "f.json",
    ),
    "a Deployment": (DEPLOYMENT, "f.yaml"),
    "a Deployment with a sidecar": (
        DEPLOYMENT.replace(
            "      - name: server", "      - {name: s, image: x, resources: {limits: {nvidia.com/gpu: 2}}}\n      - name: server"
        ),
        "f.yaml",
    ),
    "MIG": (DEPLOYMENT.replace("nvidia.com/gpu: 1", "nvidia.com/mig-3g.20gb: 1"), "f.yaml"),
    "AMD": (DEPLOYMENT.replace("nvidia.com/gpu: 1", "amd.com/gpu: 1"), "f.yaml"),
    "a DaemonSet": (DEPLOYMENT.replace("kind: Deployment", "kind: DaemonSet"), "f.yaml"),
    "an object of another kind": (DEPLOYMENT.replace("kind: Deployment", "kind: RayCluster"), "f.yaml"),
}


@pytest.mark.parametrize("kind", WITH_GPUS)
def test_every_gpu_of_the_input_is_in_the_output(capsys: Capture, kind: str) -> None:
    text, file = WITH_GPUS[kind]
    _, out, _ = run(capsys, text, file=file)
    for one in [text] if isinstance(text, str) else text.values():
        for document in yaml.safe_load_all(one):
            for mention in mentions(document):
                told = words_of(out)
                name, _, count = mention.text.partition(": ")
                assert name in told or f"gpus: {count}" in told or mention.path.rpartition("mig-")[2] in told, mention
                assert not count or count in told


def test_what_is_taken_is_what_the_program_accepts(capsys: Capture) -> None:
    for text, file in ((template(ACCOUNT, POOL), "t.json"), (template(CLUSTER), "c.json"), (COMPUTE, "c.yml")):
        config: dict[str, Any] = {
            "azure-native:subscriptionId": SUBSCRIPTION,
            "azure-gpu:team": "t",
            "azure-gpu:location": "eastus",
        }
        config |= taken(capsys, text, file=file)
        if "azure-gpu:ml_workspace" in config:
            config["azure-gpu:ml_workspace"]["create"] = True
        for pool in config.get("azure-gpu:pools", {}).values():
            pool["start_task"]["secret_environment"] = {}
        read = stack_settings.read(configuration(yaml.safe_dump({"config": config})), TODAY)
        assert errors(pure_problems(read, "azure-gpu", "dev")) == []


SIZES = st.sampled_from([T4, RETIRED, "Standard_NC24ads_A100_v4", "standard_nd96asr_v4", "Standard_NV6", "Standard_D4s_v5"])
POOLS = st.lists(
    st.fixed_dictionaries(
        {"name": st.from_regex(r"[a-z][a-z0-9]{1,6}", fullmatch=True), "vmSize": SIZES},
        optional={
            "mode": st.sampled_from(["User", "System", "<mode>"]),
            "count": st.one_of(st.integers(0, 9), st.just("${COUNT}"), st.none()),
            "enableAutoScaling": st.booleans(),
            "maxCount": st.one_of(st.integers(0, 9), st.just("many")),
            "nodeTaints": st.one_of(st.just(["a=b:NoSchedule"]), st.just("x")),
        },
    ),
    max_size=4,
    unique_by=lambda pool: str(pool["name"]),
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pools=POOLS, flat=st.booleans())
def test_no_gpu_of_a_cluster_is_lost(capsys: Capture, pools: list[dict[str, Any]], flat: bool) -> None:
    body = {"name": "lab", "type": "Microsoft.ContainerService/managedClusters", "location": "eastus"}
    inside = {"agentPoolProfiles": pools}
    _, out, err = run(capsys, json.dumps({**body, **(inside if flat else {"properties": inside})}), file="f.json")
    assert "Traceback" not in err
    told = words_of(out)
    config = (yaml.safe_load(out) or {}).get("azure-gpu:clusters", {}).get("lab", {})
    for pool in pools:
        if pool["vmSize"] != "Standard_D4s_v5":
            assert pool["name"] in config.get("gpu_pools", {}) or pool["vmSize"] in told
