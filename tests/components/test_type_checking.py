"""What a type checker tells the author of a program: it knows every key of the arguments, at any depth."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.embedded import CHECKOUT
from tests.support.installed import UV

PYRIGHT = Path(sys.executable).with_name("pyright")
WRONG = "  # wrong"
# Each line that ends in WRONG has something that isn't taken; all others are.
PROGRAM = """
import pulumi
from azure_gpu import BatchPool, ContainerGroup, GpuCluster, GpuClusterArgs, GpuVm, MlEndpoint, ServerlessGpuJob

group = ContainerGroup("a", image="python:3.11", restart_policy="Never", tags={"a": pulumi.Output.from_input("b")})
pulumi.export("a", group.group_id)
ContainerGroup("b", image="python:3.11", restart_policy="Newer")  # wrong
ContainerGroup("c", image="python:3.11", memory_in_bg=3)  # wrong
ContainerGroup("d", image="python:3.11", liveness={"http_get": {"path": "/", "port": 80}, "periods": 5})  # wrong
BatchPool("e", batch_account="id", size="s", autoscale={"max_nodes": 2, "scenario": "workday"}, containers=True)
BatchPool("f", batch_account="id", size="s", autoscale={"max_node": 2})  # wrong
BatchPool("g", batch_account="id", size="s", autoscale={"scenario": "pending"})  # wrong
BatchPool("h", batch_account="id", size="s", task_slots="two")  # wrong
BatchPool("i", batch_account="id", size=pulumi.Output.from_input("s"))  # wrong
BatchPool("j", size="s")  # wrong
GpuCluster("k", gpu_pools={"t4": {"size": "s", "max_nodes": 2, "spot": True}}, device_plugin=False)
GpuCluster("l", gpu_pools={"t4": {"size": "s", "maxnodes": 2}})  # wrong
GpuCluster("m", {"gpu_pools": {"t4": {"size": "s", "sharing": {"strategy": "time_slicing", "replica": 2}}}})  # wrong
args: GpuClusterArgs = {"gpu_pools": {"t4": {"size": "s", "max_node": 2}}}  # wrong
GpuVm("n", size="s", admin={"ssh_publc_key": "k"})  # wrong
MlEndpoint("o", workspace="id", deployments={"blue": {"instance_type": "s", "scale": {"min": 1, "maxi": 2}}})  # wrong
ServerlessGpuJob("p", job_environment="id", image="python:3.11", event={"rules": {"a": {"typ": "azure-queue"}}})  # wrong
"""


def shown(folder: Path) -> list[Path]:
    """The programs that the pages show as a whole, which anybody copies into a project with strict types, as files."""
    texts = [(CHECKOUT / "examples" / "languages" / "python" / "__main__.py").read_text(encoding="utf-8")]
    for page, heading in (("README.md", "## In your own Pulumi program"), ("components/README.md", ""), ("docs/testing.md", "")):
        text = (CHECKOUT / page).read_text(encoding="utf-8")
        texts.append(text[text.index(heading) :].partition("```python\n")[2].partition("```")[0])
    files = [folder / f"shown_{number}.py" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(f"# pyright: strict\n{text}")
    return files


@pytest.mark.slow
def test_mypy_takes_the_programs_that_are_shown(tmp_path: Path) -> None:
    command = [UV, "tool", "run", "mypy==2.4.1", "--strict", "--python-executable", sys.executable, *shown(tmp_path)]
    variables = {**os.environ, "MYPYPATH": str(CHECKOUT / "components")}
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_a_type_checker_finds_what_is_wrong_at_any_depth_and_takes_the_rest(tmp_path: Path) -> None:
    """That it takes the programs of tests/stack/own_programs, `make lint` shows."""
    (tmp_path / "program.py").write_text(PROGRAM)
    shown(tmp_path)
    settings = {"extraPaths": [str(CHECKOUT / "components")], "typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [PYRIGHT, "--project", tmp_path / "pyrightconfig.json", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = [each for each in json.loads(done.stdout)["generalDiagnostics"] if each["severity"] == "error"]
    assert [each for each in told if "shown_" in each["file"]] == []
    found = {each["range"]["start"]["line"] for each in told}
    lines = PROGRAM.splitlines()
    assert {lines[each] for each in found} == {line for line in lines if line.endswith(WRONG)}
