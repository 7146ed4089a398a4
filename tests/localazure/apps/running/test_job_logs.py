"""The log stream of a replica's container: followed, cut to its last lines, as text and as JSON, and who may read it."""

import json

from tests.localazure.apps.sdk import VERSION, Apps, lines


def test_a_followed_log_ends_when_the_execution_does(apps: Apps, job_name: str) -> None:
    script = "trap 'echo last; exit' TERM; echo first; while :; do sleep 0.1; done"
    apps.create(job_name, apps.body(container={"command": ["sh", "-c", script]}))
    execution = apps.start(job_name)
    apps.running_replica(job_name, execution)
    told: list[str] = []
    headers = {"Authorization": f"Bearer {apps.token(job_name)}"}
    query = {"follow": "true", "output": "text", "tailLines": "20"}
    address = apps.stream(job_name, execution)
    with apps.azure.http(headers=headers) as client, client.stream("GET", address, params=query) as answer:
        assert answer.status_code == 200
        for line in answer.iter_lines():
            told += lines(line)
            if told == ["first"]:  # it stays open until somebody ends the execution
                apps.azure.post(f"{apps.job_path(job_name)}/stop", VERSION).raise_for_status()
    assert told[-1] == "last"


def test_the_last_lines_alone_as_text_and_as_json(apps: Apps, job_name: str) -> None:
    line = {"command": ["sh", "-c", "for n in 0 1 2 3; do echo line $n; done; printf 'line 4'"]}
    execution, _ = apps.run(job_name, apps.body(container=line))
    address = apps.stream(job_name, execution)
    assert lines(apps.log(job_name, address, tailLines="2").text) == ["line 3", "line 4"]
    assert apps.log(job_name, address, tailLines="0").text == ""
    assert lines(apps.log(job_name, address, follow="true").text) == [f"line {number}" for number in range(5)]
    (last,) = apps.log(job_name, address, tailLines="1", output="json").text.splitlines()
    told = json.loads(last)
    assert set(told) == {"TimeStamp", "Log"}
    assert told["Log"] == "stdout F line 4"
    for wrong in ("many", "301", "9" * 5000):
        assert apps.log(job_name, address, tailLines=wrong).status_code == 400


def test_the_stream_is_opened_by_the_jobs_own_token_alone_and_dies_with_it(apps: Apps, job_name: str) -> None:
    execution, _ = apps.run(job_name, apps.body("say", "hidden"))
    address, token = apps.stream(job_name, execution), apps.token(job_name)
    other = f"{job_name}-b"
    apps.create(other, apps.body("say", "x"))
    for wrong in (apps.token(other), apps.azure.token(), "nobody"):
        answer = apps.log(job_name, address, token=wrong)
        assert answer.status_code == 401
        assert "hidden" not in answer.text
    as_job = {"Authorization": f"Bearer {token}"}
    assert apps.azure.client.get(apps.job_path(job_name), headers=as_job).status_code == 401
    for absent in (address.replace("/containers/main/", "/containers/other/"), address.replace(execution, f"{execution}x", 1)):
        assert apps.log(job_name, absent, token=token).status_code == 404
    assert apps.log(job_name, address, token=token).status_code == 200
    apps.azure.finished(apps.azure.delete(apps.job_path(job_name), VERSION))
    assert apps.log(job_name, address, token=token).status_code == 401
