"""The identity endpoint that a job's replicas find in their variables, and who gets a token from it."""

from tests.localazure.apps.sdk import Apps, lines

BLOBS = {"resource": "https://storage.azure.com/", "api-version": "2019-08-01"}


def variables(apps: Apps, name: str) -> dict[str, str]:
    """Of a replica of the job."""
    replica = apps.running_replica(name, apps.start(name))
    stream = replica["containers"][0]["logStreamEndpoint"]
    shown = apps.azure.until(lambda: "PATH=" in (text := apps.log(name, stream).text) and text, "the variables are written")
    return dict(line.split("=", 1) for line in lines(shown))


def test_a_replica_gets_tokens_of_the_jobs_identity_by_the_header_that_it_was_given(apps: Apps, job_name: str) -> None:
    apps.create(job_name, apps.body("env", "wait"))
    found = variables(apps, job_name)
    with apps.azure.http() as client:
        header = {"X-IDENTITY-HEADER": found["IDENTITY_HEADER"]}
        answer = client.get(found["IDENTITY_ENDPOINT"], params=BLOBS, headers=header)
        assert answer.status_code == 200, answer.text
        assert answer.json()["resource"] == BLOBS["resource"]
        assert client.get(found["IDENTITY_ENDPOINT"], params=BLOBS).status_code == 401
        wrong = client.get(found["IDENTITY_ENDPOINT"], params=BLOBS, headers={"X-IDENTITY-HEADER": "another"})
        assert wrong.status_code == 401
        old = client.get(found["IDENTITY_ENDPOINT"], params={**BLOBS, "api-version": "2017-09-01"}, headers=header)
        assert old.status_code == 400
        other = client.get(found["IDENTITY_ENDPOINT"], params={**BLOBS, "resource": "https://vault.azure.net"}, headers=header)
        assert other.status_code == 400
        absent = {**BLOBS, "client_id": "00000000-0000-4000-8000-000000000000"}
        assert client.get(found["IDENTITY_ENDPOINT"], params=absent, headers=header).status_code == 400


def test_two_jobs_have_headers_of_their_own(apps: Apps, job_name: str) -> None:
    one, other = job_name, f"{job_name}b"
    for name in (one, other):
        apps.create(name, apps.body("env", "wait"))
    assert variables(apps, one)["IDENTITY_HEADER"] != variables(apps, other)["IDENTITY_HEADER"]
