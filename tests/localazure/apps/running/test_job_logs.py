"""The log stream of a replica's container: followed, cut to its last lines, as text and as JSON, and who may read it."""

import json

from tests.localazure.apps.sdk import VERSION, Apps, lines


def endpoint(apps: Apps, job: str, execution: str) -> str:
    return apps.replicas(job, execution)[0]["containers"][0]["logStreamEndpoint"]


def test_a_followed_log_ends_when_the_execution_does(apps: Apps, job_name: str) -> None:
    apps.create(job_name, apps.body("say", "first", "wait"))
    execution = apps.start(job_name)
    address = apps.running_replica(job_name, execution)["containers"][0]["logStreamEndpoint"]
    told: list[str] = []
    headers = {"Authorization": f"Bearer {apps.token(job_name)}"}
    query = {"follow": "true", "output": "text", "tailLines": "20"}
    with apps.azure.http(headers=headers) as client, client.stream("GET", address, params=query) as answer:
        assert answer.status_code == 200
        for line in answer.iter_lines():
            told += lines(line)
            if told == ["first"]:  # it stays open until somebody ends the execution
                apps.azure.post(f"{apps.job_path(job_name)}/stop", VERSION).raise_for_status()
    assert told == ["first"]


def test_the_last_lines_alone_as_text_and_as_json(apps: Apps, job_name: str) -> None:
    apps.create(job_name, apps.body("lines", "5"))
    execution = apps.start(job_name)
    apps.ended(job_name, execution)
    address = endpoint(apps, job_name, execution)
    assert lines(apps.log(job_name, address, tailLines="2").text) == ["line 3", "line 4"]
    assert apps.log(job_name, address, tailLines="0").text == ""
    assert lines(apps.log(job_name, address, follow="true").text) == [f"line {number}" for number in range(5)]
    (last,) = apps.log(job_name, address, tailLines="1", output="json").text.splitlines()
    told = json.loads(last)
    assert set(told) == {"TimeStamp", "Log"}
    assert told["Log"] == "stdout F line 4"
    assert apps.log(job_name, address, tailLines="many").status_code == 400
    assert apps.log(job_name, address, tailLines="301").status_code == 400
    assert apps.log(job_name, address, tailLines="9" * 5000).status_code == 400


def test_the_stream_is_opened_by_the_jobs_own_token_alone(apps: Apps, job_name: str) -> None:
    apps.create(job_name, apps.body("say", "hidden"))
    execution = apps.start(job_name)
    apps.ended(job_name, execution)
    address = endpoint(apps, job_name, execution)
    other = f"{job_name}-b"
    apps.create(other, apps.body("say", "x"))
    for token in (apps.token(other), apps.azure.token(), "nobody"):
        answer = apps.log(job_name, address, token=token)
        assert answer.status_code == 401
        assert "hidden" not in answer.text
    assert (
        apps.azure.client.get(apps.job_path(job_name), headers={"Authorization": f"Bearer {apps.token(job_name)}"}).status_code
        == 401
    )


def test_a_token_dies_with_its_job(apps: Apps, job_name: str) -> None:
    apps.create(job_name, apps.body("say", "x"))
    execution = apps.start(job_name)
    apps.ended(job_name, execution)
    address, token = endpoint(apps, job_name, execution), apps.token(job_name)
    assert apps.log(job_name, address, token=token).status_code == 200
    apps.azure.finished(apps.azure.delete(apps.job_path(job_name), VERSION))
    assert apps.log(job_name, address, token=token).status_code == 401


def test_what_isnt_there_has_no_log(apps: Apps, job_name: str) -> None:
    apps.create(job_name, apps.body("say", "x"))
    execution = apps.start(job_name)
    apps.ended(job_name, execution)
    address = endpoint(apps, job_name, execution)
    assert apps.log(job_name, address.replace("/containers/main/", "/containers/other/")).status_code == 404
    assert apps.log(job_name, address.replace(execution, f"{execution}x", 1)).status_code == 404
