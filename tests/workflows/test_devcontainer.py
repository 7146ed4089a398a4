"""The development container: pinned, and set up by the project's make targets."""

import json
import re

from tests.support.embedded import CHECKOUT

FOLDER = CHECKOUT / ".devcontainer"
MAKEFILE = (CHECKOUT / "Makefile").read_text(encoding="utf-8")


def content() -> dict[str, object]:
    return json.loads((FOLDER / "devcontainer.json").read_text(encoding="utf-8"))


def test_the_base_image_and_the_features_have_exact_versions_and_digests() -> None:
    [base] = re.findall(r"^FROM (\S+)$", (FOLDER / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert re.fullmatch(r"mcr\.microsoft\.com/devcontainers/base:\d+\.\d+\.\d+-\w+", base)
    features = content()["features"]
    assert isinstance(features, dict)
    locked = json.loads((FOLDER / "devcontainer-lock.json").read_text(encoding="utf-8"))["features"]
    assert features.keys() == locked.keys()
    for name, lock in locked.items():
        assert name.rpartition(":")[2] == lock["version"]
        assert re.fullmatch(r"sha256:[0-9a-f]{64}", lock["integrity"])
        assert lock["resolved"] == f"{name.rpartition(':')[0]}@{lock['integrity']}"


def test_it_is_set_up_by_targets_that_exist() -> None:
    make, *targets = str(content()["postCreateCommand"]).split()
    assert make == "make"
    assert {".venv/ready", "engine", "kubernetes"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{re.escape(target)}:", MAKEFILE, re.MULTILINE), target


def test_go_is_the_one_that_the_workflows_set_up() -> None:
    text = (CHECKOUT / ".github" / "actions" / "set-up" / "action.yml").read_text(encoding="utf-8")
    of_workflows = re.search(r'go-version: "([\d.]+)"', text)
    features = content()["features"]
    assert isinstance(features, dict)
    [go] = [options["version"] for name, options in features.items() if "/go:" in name]
    assert of_workflows is not None
    assert go == of_workflows[1]
