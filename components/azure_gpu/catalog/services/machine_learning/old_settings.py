"""The settings of Azure Machine Learning's retired clients, by file or call, with their equivalents in a stack file."""

from datetime import date
from typing import NamedTuple

from azure_gpu.catalog.sources import FACTS_DAY, Dated, Source

WORKBENCH_FILES = Source(
    "Microsoft Learn, machine-learning/desktop-workbench/experimentation-service-configuration-reference",
    Dated.OBSERVED,
    date(2017, 9, 28),
)
AKS_SERVICES = Source(
    "Microsoft Learn, includes/machine-learning-service-aks-deploy-config, and azureml-core 1.61.0",
    Dated.OBSERVED,
    date(2019, 10, 6),
)
SDK = Source("azureml-core 1.61.0, its docstrings", Dated.OBSERVED, FACTS_DAY)


class OldSetting(NamedTuple):
    """`today` is the current equivalent; empty if there is none."""

    meaning: str
    today: str


# `<target>.compute`, where a script ran.
COMPUTE_FILE: dict[str, OldSetting] = {
    "type": OldSetting("where the script runs: local, docker, remotedocker or cluster", "`run --on local|vm|cluster`"),
    "baseDockerImage": OldSetting(
        "the image that the script runs in", "the workload's image, which the stack's registry builds from its Dockerfile"
    ),
    "address": OldSetting("the machine's public address", "none: a machine is reached by run-command, and has no public address"),
    "username": OldSetting("who signs in to the machine by SSH", "`admin` of the machine"),
    "password": OldSetting("the password of the SSH login, encrypted", "never carried over: a machine accepts a public key only"),
    "sharedVolumes": OldSetting(
        "whether the project's folder is mounted into the container, rather than copied", "none: the script is uploaded"
    ),
    "nvidiaDocker": OldSetting(
        "runs the container with nvidia-docker, so that it sees the machine's GPUs",
        "none: containers on a machine with GPUs see them",
    ),
    "nativeSharedDirectory": OldSetting("a folder of the machine that all runs share", "the stack's storage"),
}

# `<configuration>.runconfig`, how it ran.
RUN_FILE: dict[str, OldSetting] = {
    "ArgumentVector": OldSetting("the script and its arguments", "`run ./script.py --on vm -- ARGUMENTS`"),
    "Target": OldSetting("the .compute file to run on", "the machine's name in the stack file"),
    "EnvironmentVariables": OldSetting("variables of the script", "`--env NAME=VALUE`"),
    "Framework": OldSetting(
        "whether a Spark session is started for the script; default PySpark", "none: scripts here are Python"
    ),
    "CondaDependenciesFile": OldSetting(
        "the file of packages; default conda_dependencies.yml", "`--requirements requirements.txt`"
    ),
    "SparkDependenciesFile": OldSetting("the file of Spark's packages", "none: there is no Spark here"),
    "PrepareEnvironment": OldSetting("whether the packages are installed before the first run", "none: they always are"),
    "TrackedRun": OldSetting("whether the run is kept in Workbench's history", "none: a run's log and exit code are its record"),
    "UseSampling": OldSetting("whether Workbench's data sources give samples", "none: data sources went with Workbench"),
    "DataSourceSettings": OldSetting("which samples Workbench's data sources give", "none: data sources went with Workbench"),
    "DataSourceSubstitutions": OldSetting("which data source stands for which", "none: data sources went with Workbench"),
}

# AksCompute.provisioning_configuration of SDK v1.
AKS_COMPUTE: dict[str, OldSetting] = {
    "agent_count": OldSetting("the fixed number of nodes; default 3", "`max_nodes` of a GPU pool, from none"),
    "vm_size": OldSetting("the size of every node", "`size` of a GPU pool"),
    "ssl_cname": OldSetting("the host name of the certificate", "`https` of the compute's extension"),
    "ssl_cert_pem_file": OldSetting("the certificate", "`https` of the compute's extension"),
    "ssl_key_pem_file": OldSetting("the certificate's key", "`https` of the compute's extension; never carried over"),
    "location": OldSetting("the cluster's region", "`location` of the cluster"),
    "vnet_resourcegroup_name": OldSetting("the resource group of the network", "`subnet_id` of the cluster"),
    "vnet_name": OldSetting("the network", "`subnet_id` of the cluster"),
    "subnet_name": OldSetting("the subnet", "`subnet_id` of the cluster"),
    "service_cidr": OldSetting("addresses of services in the cluster", "`service_cidr` of the cluster"),
    "dns_service_ip": OldSetting("the address of the cluster's name server", "none: it follows from `service_cidr`"),
    "docker_bridge_cidr": OldSetting("addresses of Docker's bridge", "none: nodes have no Docker"),
    "cluster_purpose": OldSetting(
        "FastProd or DevTest, which allows fewer than 12 CPU cores", "`high_availability` of the compute's extension"
    ),
    "load_balancer_type": OldSetting("PublicIp or InternalLoadBalancer", "`router` of the compute's extension"),
    "load_balancer_subnet": OldSetting("the subnet of the internal load balancer", "`router` of the compute's extension"),
}

# AksWebservice.deploy_configuration of SDK v1.
AKS_SERVICE: dict[str, OldSetting] = {
    "autoscale_enabled": OldSetting(
        "whether replicas scale automatically; default true if num_replicas isn't set", "`autoscale`"
    ),
    "autoscale_min_replicas": OldSetting("the minimum number of replicas; default 1", "`autoscale.min`"),
    "autoscale_max_replicas": OldSetting("the maximum number of replicas; default 10", "`autoscale.max`"),
    "autoscale_refresh_seconds": OldSetting("how often it scales; default every second", "none"),
    "autoscale_target_utilization": OldSetting("the target utilization of replicas; default 70 percent", "`autoscale`"),
    "collect_model_data": OldSetting("whether requests and answers are kept", "none: nothing is kept"),
    "auth_enabled": OldSetting("whether a request needs a key; default true", "`auth: key`"),
    "token_auth_enabled": OldSetting("whether a request needs a token in place of a key", "`auth: aml_token`"),
    "cpu_cores": OldSetting("CPU cores of a replica; default 0.1", "`cpu` of an instance type"),
    "memory_gb": OldSetting("memory of a replica in GB; default 0.5", "`memory` of an instance type"),
    "gpu_cores": OldSetting("GPUs of a replica; default 1 if the image has CUDA", "`gpus` of an instance type"),
    "enable_app_insights": OldSetting("whether requests are logged", "`monitoring`"),
    "scoring_timeout_ms": OldSetting("the timeout of a request; default one minute", "`requests.timeout_seconds`"),
    "replica_max_concurrent_requests": OldSetting("concurrent requests of a replica; default 1", "`requests.concurrent`"),
    "max_request_wait_time": OldSetting(
        "how long a request may wait before it gets a 503; default 500 ms", "`requests.queue_seconds`"
    ),
    "num_replicas": OldSetting("how many replicas", "`instances`"),
    "primary_key": OldSetting("the first key", "never carried over: Azure makes both"),
    "secondary_key": OldSetting("the second key", "never carried over: Azure makes both"),
    "period_seconds": OldSetting("the interval of the liveness probe; default 10", "`probes`"),
    "initial_delay_seconds": OldSetting("the delay of the first probe; default 310", "`probes`"),
    "timeout_seconds": OldSetting("the timeout of a probe; default 2", "`probes`"),
    "success_threshold": OldSetting("successes in a row after a failure; default 1", "`probes`"),
    "failure_threshold": OldSetting("failures in a row that restart the container; default 3", "`probes`"),
    "namespace": OldSetting("the namespace on the cluster", "`namespace` of the compute"),
    "compute_target_name": OldSetting("the cluster", "`compute` of the endpoint"),
    "tags": OldSetting("tags", "`tags`"),
    "properties": OldSetting("properties of the service", "none"),
    "description": OldSetting("a description", "`description`"),
    "cpu_cores_limit": OldSetting("the CPU limit of a replica", "`cpu` of an instance type"),
    "memory_gb_limit": OldSetting("the memory limit of a replica", "`memory` of an instance type"),
    "blobfuse_enabled": OldSetting("whether the model is mounted rather than copied", "none: the service fetches it"),
}

# InferenceConfig of SDK v1.
INFERENCE: dict[str, OldSetting] = {
    "entry_script": OldSetting("the script with init() and run()", "`code`, or the workload `scoring` in its place"),
    "runtime": OldSetting("python or spark-py", "none: it is Python"),
    "conda_file": OldSetting("the packages", "`conda_file` of an environment"),
    "extra_docker_file_steps": OldSetting("further lines of the image's Dockerfile", "a custom Dockerfile"),
    "source_directory": OldSetting("the folder of the script", "`code`"),
    "enable_gpu": OldSetting("whether the image has CUDA", "an image with CUDA, and an instance type with a GPU"),
    "description": OldSetting("a description", "`description`"),
    "base_image": OldSetting("the image below the packages", "`image` of an environment"),
    "base_image_registry": OldSetting("the registry of that image", "`image` of an environment"),
    "cuda_version": OldSetting("CUDA 9.0, 9.1 or 10.0", "what the image of the environment has"),
    "environment": OldSetting("an environment, in place of the settings above", "`environment`"),
}

# What a scoring script of SDK v1 called, and where it is now.
SCORING_CALLS: dict[str, OldSetting] = {
    "azureml.core.model": OldSetting("finds the model's folder: Model.get_model_path(name)", 'os.environ["AZUREML_MODEL_DIR"]'),
    "azureml.contrib.services.aml_request": OldSetting(
        "the request itself, by @rawhttp",
        "azureml_inference_server_http.api.aml_request; inside the server the old name still works",
    ),
    "azureml.contrib.services.aml_response": OldSetting(
        "an answer with a custom status",
        "azureml_inference_server_http.api.aml_response; inside the server the old name still works",
    ),
    "ujson": OldSetting("writes JSON", "json of the standard library, or a package that the environment names"),
    "tensorflow.Session": OldSetting("runs a graph of TensorFlow 1", "a signature of tf.saved_model.load(folder)"),
    "tensorflow.saved_model.loader.load": OldSetting("loads a model of TensorFlow 1", "tf.saved_model.load(folder)"),
}
