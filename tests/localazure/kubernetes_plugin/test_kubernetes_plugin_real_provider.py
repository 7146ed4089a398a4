"""The stand-in against Pulumi's own provider, built out of its Go module: this folder's tests run against it at night.

Tests that fail there are rows of `real_provider.yaml`, with what differs and why. Another fails, and so does a row that passes.
"""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from engine import judge_tool
from tests.support.kubernetes import needed

HERE = Path(__file__).parent
RECORDING = "test_kubernetes_plugin_recording.py"  # of the variant that asks nobody
TABLE = yaml.load((HERE / "real_provider.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)


@pytest.mark.slow
@pytest.mark.nightly
def test_the_stand_in_differs_from_the_real_provider_in_what_is_known_alone(tmp_path: Path) -> None:
    needed()
    built = subprocess.run([sys.executable, "engine/build.py", "judge"], stdout=subprocess.PIPE, text=True, check=False)
    if built.returncode == 2:
        pytest.skip("Go is missing, which builds the real provider")
    assert built.returncode == 0
    assert TABLE["version"] == judge_tool.VERSION
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.localazure.kubernetes_plugin.real_provider"]
    ended = subprocess.run(
        [*command, f"--junitxml={report}", "-o", "junit_family=xunit1", f"--ignore={HERE / RECORDING}", str(HERE)],
        env=os.environ | {"REAL_PROVIDER": str(Path(built.stdout.strip()) / judge_tool.PROGRAM)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode in (0, 1), ended.stdout + ended.stderr
    cases = list(ET.parse(report).iter("testcase"))
    failed = {_id(each): str(each[0].get("message")) for each in cases if each.find("failure") is not None}
    known = {each for row in TABLE["differences"] for each in row["tests"]}
    wrong = [f"differs: {name}: {message}" for name, message in failed.items() if name not in known]
    wrong += [f"differs no more: {name}" for name in sorted(known - set(failed))]
    assert not wrong, "\n".join(wrong)
    assert not [_id(each) for each in cases if each.find("error") is not None]
    assert len(cases) > 2 * len(failed) > 0


def _id(case: ET.Element) -> str:
    return f"{Path(str(case.get('file'))).name}::{case.get('name')}"
