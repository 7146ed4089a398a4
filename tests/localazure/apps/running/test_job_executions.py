"""Executions of jobs over HTTP: timed out, stopped, read. The replicas are real processes."""

from tests.localazure.apps.sdk import VERSION, Apps, containers


def test_a_replica_that_takes_too_long_is_ended_and_not_retried(apps: Apps, job_name: str) -> None:
    _, ended = apps.run(job_name, apps.body("wait", replicaTimeout=1, replicaRetryLimit=3))
    assert (ended["status"], ended["reason"]) == ("Failed", "DeadlineExceeded")
    assert "replicaTimeout of 1 seconds" in ended["message"]
    assert [one["code"] for one in containers(ended)] == [143]  # ended by SIGTERM
    assert ended["startTime"] < ended["endTime"]


def test_stopping_a_job_stops_all_of_its_executions(apps: Apps, job_name: str) -> None:
    apps.create(job_name, apps.body("wait"))
    started = {apps.start(job_name), apps.start(job_name)}
    third = apps.start(job_name)
    apps.running_replica(job_name, third)
    assert apps.azure.post(f"{apps.job_path(job_name)}/stop/{third}", VERSION).status_code == 200  # as the Azure CLI asks
    shown = apps.execution(job_name, third)
    assert (shown["status"], [one["status"] for one in containers(shown)]) == ("Stopped", ["Failed"])
    stopped = apps.azure.post(f"{apps.job_path(job_name)}/stop", VERSION).json()["value"]
    assert {one["name"] for one in stopped} == started
    assert {one["properties"]["status"] for one in stopped} == {"Stopped"}


def test_a_template_stands_in_place_of_the_jobs_own(apps: Apps, job_name: str) -> None:
    body = apps.body(container={"command": ["echo", "a"], "args": ["b"], "env": [{"name": "WHO", "value": "the job"}]})
    own, _ = apps.run(job_name, body)
    assert apps.printed(job_name, own) == ["a b"]
    template = {"containers": [{"name": "main", "image": apps.image, "args": ["env"], "env": [{"name": "OTHER", "value": "x"}]}]}
    execution = apps.start(job_name, template)
    assert apps.ended(job_name, execution)["status"] == "Succeeded"
    printed = apps.printed(job_name, execution)
    assert "OTHER=x" in printed
    assert not any(line.startswith("WHO=") for line in printed)
    assert f"CONTAINER_APP_JOB_EXECUTION_NAME={execution}" in printed
    assert apps.execution(job_name, execution)["template"]["containers"][0]["resources"] == {"cpu": 0.5, "memory": "1Gi"}


def test_secrets_reach_the_container_and_no_answer(apps: Apps, job_name: str) -> None:
    secret = {"name": "token", "value": "s3cret"}
    body = apps.body("env", container={"env": [{"name": "TOKEN", "secretRef": "token"}]}, secrets=[secret])
    execution, _ = apps.run(job_name, body)
    assert "TOKEN=s3cret" in apps.printed(job_name, execution)
    shown = apps.azure.get(apps.job_path(job_name), VERSION)
    assert shown.json()["properties"]["configuration"]["secrets"] == [{"name": "token"}]
    for path in ("", "/executions", f"/executions/{execution}", f"/executions/{execution}/replicas"):
        assert "s3cret" not in apps.azure.get(apps.job_path(job_name) + path, VERSION).text
    assert apps.azure.post(f"{apps.job_path(job_name)}/listSecrets", VERSION).json() == {"value": [secret]}


def test_the_public_sample_image_prints_its_line_and_ends(apps: Apps, job_name: str) -> None:
    body = apps.body(container={"image": "mcr.microsoft.com/k8se/quickstart-jobs:latest"}, registries=[])
    execution, ended = apps.run(job_name, body)
    assert ended["status"] == "Succeeded"
    (line,) = apps.printed(job_name, execution)
    assert line.endswith("This is a sample application that demonstrates how to use Azure Container Apps jobs")


def test_a_job_takes_its_executions_with_it(apps: Apps, job_name: str) -> None:
    apps.create(job_name, apps.body("wait"))
    execution = apps.start(job_name)
    apps.running_replica(job_name, execution)
    assert apps.azure.finished(apps.azure.delete(apps.job_path(job_name), VERSION))["status"] == "Succeeded"
    assert not list((apps.azure.state / "replicas").glob(f"{execution}*"))
    apps.create(job_name, apps.body("wait"))
    assert apps.azure.get(f"{apps.job_path(job_name)}/executions", VERSION).json() == {"value": []}
