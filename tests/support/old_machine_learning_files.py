"""Files of projects for Azure Machine Learning's retired clients, as the second and the fifth source document print them."""

# The second source document: experimentation with GPUs in Workbench, 2017-09-14.
ATTACH = (
    'C:\\MyProj> az ml computetarget attach remotedocker --name "my_dsvm" --address "10.1.2.3" --username "my_name" '
    '--password "Hunter2-of-old" \n'
)
SUBMIT = "C:\\myProj> az ml experiment submit -c my_dsvm my_tensorflow_or_cntk_script.py\n"
COMPUTE = """\
type: remotedocker
address: 10.1.2.3
username: my_name
password: Hunter2-of-old
sharedVolumes: true
baseDockerImage: microsoft/mmlspark:plus-gpu-0.9.9
nvidiaDocker: true
"""
RUNCONFIG = """\
"ArgumentVector":
  - "train.py"
  - 234
  - "-v"
"Target": my_dsvm
"EnvironmentVariables":
  "EXAMPLE_ENV_VAR1": "Example Value1"
  "DB_PASSWORD": "Hunter2-of-old"
"Framework": "Python"
"CondaDependenciesFile": "aml_config/conda_dependencies.yml"
"PrepareEnvironment": true
"""
TENSORFLOW = """\
name: project_environment
dependencies:
  - python=3.5.2
  # latest TensorFlow library with GPU support
  - tensorflow-gpu
"""
ONE_BIT_SGD = """\
name: project_environment
dependencies:
  - python=3.5.2
  - pip:
    # use the Linux build of the Microsoft Cognitive Toolkit 2.1 with 1-bit SGD and GPU support
    - https://cntk.ai/PythonWheel/GPU-1bit-SGD/cntk-2.1-cp35-cp35m-linux_x86_64.whl
"""

# The fifth source document: deploy a model for inference with GPU, 2019-05-02.
SERVICE = """\
from azureml.core.compute import AksCompute, ComputeTarget
from azureml.core.model import InferenceConfig, Model

aks_name = "my-aks"
prov_config = AksCompute.provisioning_configuration(vm_size="Standard_NC6")
aks_target = ComputeTarget.create(
    workspace=ws, name=aks_name, provisioning_configuration=prov_config
)
aks_target.wait_for_deployment()

aks_service_name ='gpu-rn'
gpu_aks_config = AksWebservice.deploy_configuration(autoscale_enabled = False,
                                                    num_replicas = 3,
                                                    cpu_cores=2,
                                                    memory_gb=4)
model = Model(ws,"resnet50")

inference_config = InferenceConfig(runtime= "python",
                                   entry_script="score.py",
                                   conda_file="myenv.yml",
                                   gpu_enabled=True)
aks_service = Model.deploy(ws,
                           models=[model],
                           inference_config=inference_config,
                           deployment_config=aks_config,
                           deployment_target=aks_target,
                           name=aks_service_name)

aks_service.wait_for_deployment(show_output = True)
scoring_url = aks_service.scoring_uri
api_key = aks_service.get_key()(0)
"""
SCORE = """\
import tensorflow as tf
import numpy as np
import ujson
from azureml.core.model import Model
from azureml.contrib.services.aml_request import AMLRequest, rawhttp
from azureml.contrib.services.aml_response import AMLResponse

def init():
    global session
    session = tf.Session()
    model_path = Model.get_model_path('resnet50')
    model = tf.saved_model.loader.load(session, ['serve'], model_path)

@rawhttp
def run(request):
    return AMLResponse("bad request", 500)
"""
MYENV = """\
name: aml-accel-perf
channels:
  - defaults
dependencies:
  - tensorflow-gpu = 1.12
  - numpy
  - ujson
  - pip:
    - azureml-core
    - azureml-contrib-services
"""
SECRETS = ("Hunter2-of-old",)
