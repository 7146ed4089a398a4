"""Whatever a client sends to start a job or to schedule a build, the answer is a refusal or success, never the server's error."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.localazure.any_body import is_answer, json_of, many
from tests.localazure.apps.sdk import VERSION, Apps
from tests.localazure.containers.sdk import TASK_RUN

pytestmark = pytest.mark.usefixtures("judged")
NAMES = ["containers", "initContainers", "image", "name", "resources", "cpu", "memory", "gpu", "env", "value", "args", "type"]
JSON = json_of(NAMES, most_leaves=10)
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": st.just("main") | JSON, "image": st.just("none:1") | JSON},
        optional={name: JSON for name in ("resources", "env", "args", "command", "other")},
    ),
    max_size=2,
)
TEMPLATES = st.fixed_dictionaries({}, optional={"containers": CONTAINERS | JSON, "initContainers": CONTAINERS | JSON, "x": JSON})
REQUESTS = st.fixed_dictionaries(
    {"type": st.just("DockerBuildRequest") | JSON, "dockerFilePath": st.just("Dockerfile") | JSON, "platform": JSON},
    optional={name: JSON for name in ("sourceLocation", "imageNames", "arguments", "timeout", "credentials", "other")},
)


@pytest.fixture(scope="module")
def job(apps: Apps) -> str:
    name = "any-template"
    apps.create(name, apps.body("exit", "0"))
    return apps.job_path(name)


@many(60)
@given(body=TEMPLATES)
def test_no_template_of_an_execution_upsets_the_server(apps: Apps, job: str, body: dict[str, Any]) -> None:
    is_answer(apps.azure.post(f"{job}/start", VERSION, body))


@many(60)
@given(body=REQUESTS)
def test_no_request_of_a_build_upsets_the_server(apps: Apps, body: dict[str, Any]) -> None:
    is_answer(apps.azure.post(f"{apps.registry.id}/scheduleRun", TASK_RUN, body))


@many(60)
@given(body=st.fixed_dictionaries({"containers": CONTAINERS}))
def test_no_template_of_a_job_upsets_the_server(apps: Apps, body: dict[str, Any]) -> None:
    sent = apps.body()
    sent["properties"]["template"] = body
    is_answer(apps.azure.put(apps.job_path("any-job"), sent, VERSION))
