"""The identity endpoint that a job's replicas find in their variables, and who gets a token from it."""

import pytest

from tests.localazure.apps.sdk import Apps

BLOBS = {"resource": "https://storage.azure.com/", "api-version": "2019-08-01"}


@pytest.fixture
def found(apps: Apps, job_name: str) -> dict[str, str]:
    """The variables of a job's replica."""
    execution, _ = apps.run(job_name, apps.body("env"))
    return dict(line.split("=", 1) for line in apps.printed(job_name, execution))


def test_a_replica_gets_tokens_of_the_jobs_identity_by_the_header_that_it_was_given(
    apps: Apps, job_name: str, found: dict[str, str]
) -> None:
    header = {"X-IDENTITY-HEADER": found["IDENTITY_HEADER"]}
    nobody = "00000000-0000-4000-8000-000000000000"
    with apps.azure.http() as client:
        answer = client.get(found["IDENTITY_ENDPOINT"], params=BLOBS, headers=header)
        assert answer.status_code == 200, answer.text
        assert answer.json()["resource"] == BLOBS["resource"]
        for asked, headers, status in (
            ({}, {}, 401),
            ({}, {"X-IDENTITY-HEADER": "another"}, 401),
            ({"api-version": "2017-09-01"}, header, 400),
            ({"resource": "https://vault.azure.net"}, header, 400),
            ({"client_id": nobody}, header, 400),
        ):
            assert client.get(found["IDENTITY_ENDPOINT"], params={**BLOBS, **asked}, headers=headers).status_code == status
    other = f"{job_name}b"
    execution, _ = apps.run(other, apps.body("env"))
    assert f"IDENTITY_HEADER={header['X-IDENTITY-HEADER']}" not in apps.printed(other, execution)
