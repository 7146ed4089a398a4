"""`python -m operations import` of what Azure Machine Learning's retired clients left: Workbench's files, SDK v1's scripts."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.catalog.problems import errors
from azure_gpu.formats.old_machine_learning.project import OldProject
from azure_gpu.formats.old_machine_learning.read import read
from azure_gpu.formats.stack_file import configuration
from azure_gpu.stack import settings as stack_settings
from azure_gpu_operations.__main__ import main
from tests.components.settings_of import all_problems
from tests.support.embedded import CHECKOUT
from tests.support.old_machine_learning_files import (
    ATTACH,
    COMPUTE,
    MYENV,
    ONE_BIT_SGD,
    RUNCONFIG,
    SCORE,
    SECRETS,
    SERVICE,
    SUBMIT,
    TENSORFLOW,
)

TODAY = "2026-11-22"
Capture = pytest.CaptureFixture[str]
STACK = """\
config:
  azure-native:subscriptionId: 00000000-0000-0000-0000-000000000000
  azure-gpu:image_source: https://github.com/example/azure-gpu.git#0123456789012345678901234567890123456789
  azure-gpu:team: t
  azure-gpu:location: eastus
  azure-gpu:as_of: "2026-11-22"
"""
WORKBENCH = {
    "aml_config/my_dsvm.compute": COMPUTE,
    "aml_config/my_dsvm.runconfig": RUNCONFIG,
    "aml_config/conda_dependencies.yml": TENSORFLOW,
}
SDK = {"deploy.py": SERVICE, "score.py": SCORE, "myenv.yml": MYENV}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def imported(capsys: Capture, files: Mapping[str, str], *options: str, code: int = 0) -> tuple[str, str]:
    """What `import` of a folder with these files prints, on standard output and on standard error."""
    for name, text in files.items():
        file = Path("project") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    named = "project" if len(files) > 1 else f"project/{next(iter(files))}"
    assert main(["import", named, "--as-of", TODAY, *options]) == code
    said = capsys.readouterr()
    for secret in SECRETS:
        assert secret not in said.out + said.err
    return said.out, said.err


def config_of(text: str) -> dict[str, Any]:
    return yaml.safe_load(text) or {}


def test_a_workbench_project_becomes_a_machine_of_the_workspace_and_a_command(capsys: Capture) -> None:
    out, err = imported(capsys, WORKBENCH, "--location", "eastus")
    config = config_of(out)
    assert config["azure-gpu:vms"]["my-dsvm"]["size"] == "Standard_NC4as_T4_v3"
    assert config["azure-gpu:vms"]["my-dsvm"]["expires_after"] == "2026-11-29"
    assert config["azure-gpu:ml_workspace"]["computes"] == {"my-dsvm": {"vm": "my-dsvm"}}
    command = next(line for line in out.splitlines() if line.startswith("#   python -m operations run"))
    assert command == (
        "#   python -m operations run ./train.py --on vm --requirements requirements.txt --env 'EXAMPLE_ENV_VAR1=Example Value1' "
        "--stack STACK -- 234 -v"
    )
    assert "Workbench of Azure Machine Learning retired on 2019-01-09" in err


def test_each_setting_says_what_it_meant_and_what_says_it_today(capsys: Capture) -> None:
    out, _ = imported(capsys, WORKBENCH)
    text = " ".join(line.lstrip(" #") for line in out.splitlines())
    assert (
        "my_dsvm.compute:7: nvidiaDocker true: runs the container with nvidia-docker, so that it sees the machine's GPUs" in text
    )
    assert "my_dsvm.compute:4: password: the password of the SSH login, encrypted. Today: never carried over" in text
    assert "my_dsvm.runconfig:9: Framework Python:" in text
    assert "DB_PASSWORD is likely a secret, and isn't taken: give it by --secret-env" in text


def test_where_framework_is_not_said_it_meant_pyspark(capsys: Capture) -> None:
    out, _ = imported(capsys, {"dsvm.runconfig": RUNCONFIG.replace('"Framework": "Python"\n', "")})
    assert "Framework is missing, which meant PySpark" in out


def test_a_machine_without_nvidia_docker_ran_without_its_gpus(capsys: Capture) -> None:
    _, err = imported(capsys, {"dsvm.compute": COMPUTE.replace("nvidiaDocker: true\n", "")})
    assert "nvidiaDocker isn't true, so the script ran in a container that saw no GPU" in err


@pytest.mark.parametrize("text", [ATTACH + SUBMIT, f"```batch\n{ATTACH}```\n\n```batch\n{SUBMIT}```\n"], ids=["plain", "page"])
def test_the_commands_of_workbench_are_understood_and_their_password_is_not_taken(capsys: Capture, text: str) -> None:
    out, _ = imported(capsys, {"steps.txt": text})
    assert list(config_of(out)["azure-gpu:vms"]) == ["my-dsvm"]
    assert "run ./my_tensorflow_or_cntk_script.py --on vm --stack STACK" in out


@pytest.mark.parametrize(
    ("package", "said"),
    [
        ("  - tensorflow", "fix: write tensorflow[and-cuda]==2.21.0"),
        ("  - tensorflow-gpu", "fix: write tensorflow[and-cuda]==2.21.0"),
        ("  - pip:\n    - https://cntk.ai/PythonWheel/CPU-Only/cntk-2.1-cp35-cp35m-win_amd64.whl", "the GPU would be idle"),
    ],
    ids=["tensorflow", "tensorflow-gpu", "cntk for processors"],
)
def test_a_package_that_leaves_the_gpu_idle_or_is_gone_is_a_warning(capsys: Capture, package: str, said: str) -> None:
    _, err = imported(capsys, {**WORKBENCH, "aml_config/conda_dependencies.yml": f"dependencies:\n{package}\n"})
    assert said in err
    assert "error:" not in err


def test_the_wheel_with_1_bit_sgd_is_named_with_its_licence(capsys: Capture) -> None:
    _, err = imported(capsys, {"conda_dependencies.yml": ONE_BIT_SGD})
    assert "conda_dependencies.yml:6: 1-bit SGD has a separate licence, more restrictive than the toolkit's MIT licence" in err
    assert "cognitive-toolkit/cntk-1bit-sgd-license" in err


def test_a_service_of_sdk_v1_becomes_a_cluster_a_model_and_an_endpoint(capsys: Capture) -> None:
    out, err = imported(capsys, SDK, "--location", "eastus")
    config = config_of(out)
    pool = {"size": "Standard_NC4as_T4_v3", "max_nodes": 3, "taints": ["ml.azure.com/amlarc=true:NoSchedule"]}
    assert config["azure-gpu:clusters"]["my-aks"]["gpu_pools"] == {"gpu": pool}
    workspace = config["azure-gpu:ml_workspace"]
    assert workspace["computes"]["my-aks"]["instance_types"] == {"gpu": {"cpu": "2", "memory": "4000M", "gpus": 1}}
    assert workspace["models"] == {"resnet50": {"version": "1", "path": "resnet50/1"}}
    assert workspace["environments"] == {"scoring": {"workload": "scoring"}}
    endpoint = config["azure-gpu:ml_endpoints"]["gpu-rn"]
    assert endpoint["compute"] == "my-aks"
    assert endpoint["auth"] == "key"
    assert endpoint["traffic"] == {"blue": 100}
    blue = {"model": "resnet50", "environment": "scoring", "instance_type": "gpu", "instances": 3}
    assert endpoint["deployments"] == {"blue": blue}
    assert "Standard_NC6 retired on 2023-09-06" in out
    assert "SDK v1 of Azure Machine Learning retired on 2026-06-30" in err


def test_the_articles_own_slips_are_named(capsys: Capture) -> None:
    _, err = imported(capsys, SDK)
    assert "nothing in the script is called aks_config; gpu_aks_config is what it makes, and is taken" in err
    assert "version 1 of the SDK has get_keys(), and it answers a list of two" in err
    assert "version 1 of the SDK calls this argument enable_gpu, and refuses gpu_enabled" in err


def test_a_scoring_script_is_told_what_its_calls_are_called_today(capsys: Capture) -> None:
    out, _ = imported(capsys, SDK)
    text = " ".join(line.lstrip(" #") for line in out.splitlines())
    for said in (
        'Model.get_model_path(name). Today: os.environ["AZUREML_MODEL_DIR"].',
        "tensorflow.Session: runs a graph of TensorFlow 1. Today: a signature of tf.saved_model.load(folder).",
        "Today: azureml_inference_server_http.api.aml_request",
    ):
        assert said in text


@pytest.mark.parametrize(
    ("changed", "deployment"),
    [
        ("num_replicas = 3", {"instances": 3}),
        ("token_auth_enabled=True, num_replicas=2", {"instances": 2}),
        ("", {"autoscale": {"min": 1, "max": 10}}),
        (
            "autoscale_enabled=True, autoscale_min_replicas=2, autoscale_max_replicas=5, autoscale_target_utilization=50",
            {"autoscale": {"min": 2, "max": 5, "utilization_percent": 50}},
        ),
        (
            "num_replicas=1, scoring_timeout_ms=30000, replica_max_concurrent_requests=4, max_request_wait_time=1500",
            {"instances": 1, "requests": {"timeout_seconds": 30.0, "concurrent": 4, "queue_seconds": 1.5}},
        ),
    ],
    ids=["replicas", "token", "defaults", "scaled", "requests"],
)
def test_the_settings_of_a_service_keep_what_they_say(capsys: Capture, changed: str, deployment: dict[str, Any]) -> None:
    script = (
        "from azureml.core.model import Model\n"
        f"config = AksWebservice.deploy_configuration({changed})\n"
        "Model.deploy(ws, 'web', [Model(ws, 'm')], InferenceConfig('score.py'), config)\n"
    )
    out, _ = imported(capsys, {"deploy.py": script})
    endpoint = config_of(out)["azure-gpu:ml_endpoints"]["web"]
    said = endpoint["deployments"]["blue"]
    assert {key: said[key] for key in said if key in ("instances", "autoscale", "requests")} == deployment
    assert endpoint["auth"] == ("aml_token" if "token" in changed else "key")


def test_keys_that_a_script_gives_are_never_taken(capsys: Capture) -> None:
    script = (
        "from azureml.core.model import Model\n"
        "config = AksWebservice.deploy_configuration(num_replicas=1, primary_key='Hunter2-of-old')\n"
        "Model.deploy(ws, 'web', [Model(ws, 'm')], InferenceConfig('score.py'), config)\n"
    )
    out, _ = imported(capsys, {"deploy.py": script})
    assert "primary_key: the first key. Today: never carried over: Azure makes both." in " ".join(out.split())


def test_secrets_among_the_arguments_of_a_run_are_never_taken(capsys: Capture) -> None:
    vector = '  - "-v"\n  - "--db-password"\n  - "Hunter2-of-old"\n'
    out, _ = imported(capsys, {"dsvm.runconfig": RUNCONFIG.replace('  - "-v"\n', vector)})
    assert "-- 234 -v\n" in out
    assert "--db-password is likely a secret, and isn't taken" in out
    out, _ = imported(capsys, {"steps.txt": ATTACH + SUBMIT.replace(".py\n", ".py --token=Hunter2-of-old 3\n")})
    assert "--stack STACK -- 3\n" in out


def test_nothing_of_a_file_ends_a_comment_or_steers_a_terminal(capsys: Capture) -> None:
    text = 'type: "remotedocker"\naddress: "a\\e]0;owned\\a\\Lconfig: 1"\nusername: "x\\Nevil: 1"\n"\\e[2J": 1\n'
    Path("Pulumi.old.yaml").write_text(STACK)
    out, err = imported(capsys, {"dsvm.compute": text}, "--stack", "old", "--config-folder", ".", "--write")
    assert "address a ]0;owned config: 1: " in " ".join(out.split())
    assert not [each for each in out + err if not each.isprintable() and each != "\n"]
    assert "dsvm" in config_of(Path("Pulumi.old.yaml").read_text())["config"]["azure-gpu:vms"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("blank.yml", "\n" * 500_000),
        ("fences.md", "```a\n" * 200_000),
        ("blocks.md", "```a\n```\n" * 50_000),
        ("deep.ipynb", '{"cells": ' + "[" * 100_000),
        ("deep.py", "import azureml\nx = " + "-" * 100_000 + "1\n"),
        ("null.py", "import azureml\n\0"),
    ],
)
def test_files_of_a_foe_are_passed_over_at_once(name: str, text: str) -> None:
    began = time.process_time()
    found, problems = read([(name, text)])
    assert time.process_time() - began < 5, "what is linear takes a hundredth of this"
    assert found == OldProject()
    assert not errors(problems)


def test_a_script_with_a_long_sum_is_read_as_any_other(capsys: Capture) -> None:
    page = " + ".join(["'<p>'"] * 900)
    out, _ = imported(capsys, {"deploy.py": f"from azureml.core import Workspace\nPAGE = {page}\n{SERVICE}"})
    assert list(config_of(out)["azure-gpu:ml_endpoints"]) == ["gpu-rn"]


@pytest.mark.parametrize("value", ["'two'", "-1", "1e999", "0x" + "f" * 5000])
def test_a_setting_that_is_no_number_is_as_if_it_were_not_said(capsys: Capture, value: str) -> None:
    script = (
        "from azureml.core.model import Model\n"
        f"config = AksWebservice.deploy_configuration(num_replicas=2, replica_max_concurrent_requests={value})\n"
        "Model.deploy(ws, 'web', [Model(ws, 'm')], InferenceConfig('score.py'), config)\n"
    )
    out, err = imported(capsys, {"deploy.py": script})
    blue = config_of(out)["azure-gpu:ml_endpoints"]["web"]["deployments"]["blue"]
    assert (blue["instances"], "requests" in blue) == (2, False)
    assert ("replica_max_concurrent_requests: this takes a number" in err) == (value == "'two'")


def test_a_file_without_an_end_is_refused_by_its_size(capsys: Capture) -> None:
    assert main(["import", "/dev/zero"]) == 1
    assert "the file is too large" in capsys.readouterr().err


def test_a_notebook_is_read_cell_by_cell(capsys: Capture) -> None:
    head, tail = SERVICE.split("aks_service_name", 1)
    cells = [
        {"cell_type": "markdown", "source": ["# Deploy"]},
        {"cell_type": "code", "source": ["!pip install azureml-core\n", *head.splitlines(keepends=True)]},
        {"cell_type": "code", "source": f"aks_service_name{tail}"},
    ]
    out, err = imported(capsys, {"deploy.ipynb": json.dumps({"cells": cells, "nbformat": 4})})
    assert list(config_of(out)["azure-gpu:ml_endpoints"]) == ["gpu-rn"]
    assert "deploy.ipynb[cell 3]:" in err


def test_what_is_taken_is_a_stack_file_that_the_program_takes(capsys: Capture) -> None:
    file = Path("Pulumi.old.yaml")
    file.write_text(STACK)
    imported(capsys, SDK, "--stack", "old", "--config-folder", ".", "--write")
    settings = stack_settings.read(configuration(file.read_text()), TODAY)
    assert settings.problems == []
    problems = errors(all_problems(settings, "azure-gpu", "old"))
    assert [str(problem) for problem in problems] == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("dsvm.compute", "type: [remotedocker", "this is not YAML"),
        ("dsvm.compute", "- remotedocker\n", "not a file of Workbench"),
        ("dsvm.compute", "type: spaceship\n", "unknown kind of machine; given: 'spaceship'"),
        ("dsvm.runconfig", "Framework: Cobol\n", "unknown framework; given: 'Cobol'"),
        ("conda_dependencies.yml", "name: x\ndependencies:\n  python: 3\n", "not a conda file"),
    ],
    ids=["no yaml", "list", "kind", "framework", "conda"],
)
def test_what_is_wrong_is_said_with_its_place_and_nothing_is_taken(capsys: Capture, name: str, text: str, said: str) -> None:
    out, err = imported(capsys, {name: text}, code=1)
    assert out == ""
    assert said in err
    assert "nothing was taken" in err


def test_a_script_that_is_not_python_3_is_passed_over_with_its_line(capsys: Capture) -> None:
    broken = "from azureml.core import Workspace\nprint 'AksCompute'\n"
    _, err = imported(capsys, {"old.py": broken, **SDK})
    assert "project/old.py:2: this isn't Python 3, and is passed over" in err


@pytest.mark.parametrize(
    ("document", "section", "name"),
    [
        ("2-machine-learning-workbench-gpu.txt", "vms", "my-dsvm"),
        ("5-machine-learning-gpu-inference.txt", "ml_endpoints", "gpu-rn"),
    ],
)
def test_the_source_documents_themselves_are_taken(capsys: Capture, document: str, section: str, name: str) -> None:
    page = CHECKOUT.parent / "shared" / "documents" / document
    if not page.exists():
        pytest.skip("the source documents are not on this machine")
    out, _ = imported(capsys, {document: page.read_text(encoding="utf-8")})
    assert list(config_of(out)[f"azure-gpu:{section}"]) == [name]


def test_the_commands_of_the_documents_page_take_its_files(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (CHECKOUT / "examples" / "documents" / "machine-learning.md").read_text(encoding="utf-8")
    commands = [line.split()[3:] for line in page.splitlines() if line.startswith("python -m operations import ")]
    assert len(commands) == 2
    monkeypatch.chdir(CHECKOUT)
    assert [main(["import", *command[1:], "--as-of", TODAY]) for command in commands] == [0, 0]
    said = capsys.readouterr()
    assert "azure-gpu:ml_endpoints:" in said.out
    assert "my_password" not in said.out
    assert "nothing in the script is called aks_config" in said.err
