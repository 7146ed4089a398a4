"""Who may speak to the data plane: the holder of a key, and of a token for Batch; nobody else."""

import base64
import json
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import jwt
import pytest

from tests.localazure.batch.data_plane import AUDIENCE, VERSION, Account, code, sign, values
from tests.support.embedded import EmbeddedAzure

NO_KEY = base64.b64encode(b"x" * 64).decode()


def ask(account: Account, authorization: str, name: str = "") -> httpx.Response:
    with account.azure.http() as client:
        headers = {"Authorization": authorization} if authorization else {}
        return client.get(f"/batch/{name or account.name}/jobs", params={"api-version": VERSION}, headers=headers)


def refused(answer: httpx.Response, status: int = 403, said: str = "", refusal: str = "AuthenticationFailed") -> None:
    assert (answer.status_code, code(answer)) == (status, refusal), answer.text
    assert said in values(answer).get("AuthenticationErrorDetail", "")


class TestKeys:
    def test_each_of_the_two_keys_opens_until_it_is_renewed(self, account: Account) -> None:
        keys = account.keys
        for which in ("primary", "secondary"):
            assert account.signed("GET", "jobs", keys[which]).status_code == 200
        assert account.azure.post(f"{account.id}/regenerateKeys", "2024-07-01", {"keyName": "Primary"}).status_code == 200
        refused(account.signed("GET", "jobs", keys["primary"]))
        assert account.signed("GET", "jobs", account.keys["primary"]).status_code == 200

    def test_a_body_headers_and_a_filter_are_part_of_what_is_signed(self, account: Account) -> None:
        key = account.keys["primary"]
        body = {"id": "signed", "poolInfo": {"poolId": "none"}}
        headers = {"Content-Type": "application/json; odata=minimalmetadata", "If-None-Match": "x", "ocp-range": "bytes=0-1"}
        assert account.signed("POST", "jobs", key, json=body, headers=headers).status_code == 201
        query = {"$filter": "state eq 'active' and startswith(id, 'sig')", "maxresults": "7"}
        answer = account.signed("GET", "jobs", key, params=query)
        assert [job["id"] for job in answer.json()["value"]] == ["signed"]
        assert account.signed("DELETE", "jobs/signed", key).status_code == 202

    def test_a_header_that_was_changed_on_the_way_is_noticed(self, account: Account) -> None:
        for changed in (
            {"ocp-date": "Sat, 21 Nov 2026 00:00:00 GMT"},
            {"ocp-range": "bytes=0-1"},
            {"If-Match": "another"},
            {"Content-Type": "text/plain"},
        ):
            refused(account.signed("GET", "jobs", account.keys["primary"], changed=changed))

    def test_nothing_can_be_added_to_a_signed_request_that_stands_there_already(self, account: Account) -> None:
        """A signature covers one of two; which of them counts, readers may differ about."""
        key, path = account.keys["primary"], f"/batch/{account.name}/jobs"
        with account.azure.http() as client:
            cases: list[tuple[dict[str, Any], str]] = [
                ({"query": "&maxresults=7"}, "InvalidQueryParameterValue"),
                ({"query": "&MaxResults=7"}, "AuthenticationFailed"),
                ({"header": ("ocp-date", "Sat, 21 Nov 2026 00:00:00 GMT")}, "InvalidHeaderValue"),
                ({"header": ("If-Match", "x")}, "InvalidHeaderValue"),
            ]
            for added, refusal in cases:
                params = {"api-version": VERSION, "maxresults": "5"}
                request = client.build_request("GET", path, params=params, headers={"If-Match": "*"})
                request.headers["ocp-date"] = format_datetime(account.azure.now(), usegmt=True)
                authorization = f"SharedKey {account.name}:{sign(request, key, account.name)}"
                url = f"{request.url}{added.get('query', '')}"
                headers = [*request.headers.multi_items(), *([added["header"]] if "header" in added else [])]
                answer = client.request("GET", url, headers=[*headers, ("Authorization", authorization)])
                assert code(answer) == refusal, (added, answer.text)

    def test_another_key_opens_nothing_and_no_answer_tells_a_key(self, account: Account, group: str) -> None:
        other = Account(account.azure, group)
        refused(account.signed("GET", "jobs", other.keys["primary"]))
        refused(account.signed("GET", "jobs", other.keys["primary"], name=other.name))
        answer = account.signed("GET", "jobs", NO_KEY)
        refused(answer)
        assert not any(key in answer.text for key in (account.keys["primary"], account.keys["secondary"]))

    @pytest.mark.parametrize("minutes", [-16, 16])
    def test_a_request_lives_for_fifteen_minutes(self, account: Account, minutes: int) -> None:
        key, now = account.keys["primary"], account.azure.now()
        refused(account.signed("GET", "jobs", key, date=now + timedelta(minutes=minutes)), said="15 minutes")
        near = account.azure.now() + timedelta(minutes=minutes - minutes // 8)
        assert account.signed("GET", "jobs", key, date=near).status_code == 200

    def test_a_header_of_another_form_is_refused(self, account: Account) -> None:
        for header in ("SharedKey", "SharedKey x", "SharedKey :", "Basic YTpi"):
            refused(ask(account, header), 400, refusal="InvalidAuthenticationInfo")
        for header in ("SharedKey a:b", "SharedKey a:b:c"):
            refused(ask(account, header))


@pytest.mark.parametrize(
    ("modes", "token", "key", "said"),
    [
        (["AAD", "TaskAuthenticationToken"], True, False, "SharedKey"),
        (["SharedKey"], False, True, "AAD"),
        ([], False, False, "it allows none"),
    ],
    ids=["tokens", "keys", "nothing"],
)
def test_an_account_lets_in_by_the_ways_that_it_allows(
    azure: EmbeddedAzure, group: str, modes: list[str], token: bool, key: bool, said: str
) -> None:
    account = Account(azure, group, allowedAuthenticationModes=modes)
    for allowed, answer in (
        (token, account.get("jobs")),
        (key, account.signed("GET", "jobs", account.keys["primary"] if key else NO_KEY)),
    ):
        if allowed:
            assert answer.status_code == 200
        else:
            refused(answer, said=said)


class TestTokens:
    @pytest.mark.parametrize("slashes", ["", "/", "//"])
    def test_a_token_for_batch_opens_however_its_audience_ends(self, account: Account, slashes: str) -> None:
        for audience in (f"https://batch.core.windows.net{slashes}", f"{account.azure.url}/batch{slashes}"):
            assert ask(account, f"Bearer {account.azure.token(f'{audience}/.default')}").status_code == 200

    @pytest.mark.parametrize("audience", ["", "https://storage.azure.com/", "https://batch.core.windows.net.example.org/"])
    def test_a_token_for_somebody_else_does_not(self, account: Account, audience: str) -> None:
        token = account.azure.token(f"{audience}/.default" if audience else None)  # "": ARM's
        answer = ask(account, f"Bearer {token}")
        refused(answer, 401, "InvalidAuthenticationTokenAudience")
        assert 'resource_id="https://batch.core.windows.net/"' in answer.headers["www-authenticate"]

    def test_a_token_that_was_changed_or_is_over_is_noticed(self, account: Account) -> None:
        token = account.azure.token(f"{AUDIENCE}/.default")
        head, payload, signature = token.split(".")
        claims = jwt.decode(token, options={"verify_signature": False})
        forged = jwt.encode({**claims, "exp": claims["exp"] + 9999}, "key" * 20, algorithm="HS256")
        unsigned = jwt.encode(claims, "", algorithm="none")
        for each in (forged, unsigned, f"{head}.{payload[:-4]}AAAA.{signature}", "x", ".."):
            refused(ask(account, f"Bearer {each}"), 401)
        identity = json.loads((account.azure.state / "identity.json").read_text())
        over = claims | {"nbf": claims["nbf"] - 9000, "exp": claims["exp"] - 9000}
        key_id = {"kid": jwt.get_unverified_header(token)["kid"]}
        signed = jwt.encode(over, identity["signing_key"], "RS256", headers=key_id)
        refused(ask(account, f"Bearer {signed}"), 401, "ExpiredAuthenticationToken")

    def test_nothing_at_all_is_refused_with_a_word_on_where_to_go(self, account: Account) -> None:
        answer = ask(account, "")
        refused(answer, 401)
        assert account.azure.tenant_id in answer.headers["www-authenticate"]

    def test_an_account_that_is_not_there_is_told_to_whom_has_a_token(self, account: Account) -> None:
        token = account.azure.token(f"{AUDIENCE}/.default")
        refused(ask(account, f"Bearer {token}", "nosuchaccount"), 404, refusal="ResourceNotFound")
        assert ask(account, "", "nosuchaccount").status_code == 401

    def test_an_account_shows_nothing_of_another(self, account: Account, group: str) -> None:
        other = Account(account.azure, group)
        other.add_job("theirs")
        assert account.get("jobs").json()["value"] == []
        refused(account.get("jobs/theirs"), 404, refusal="JobNotFound")


def test_the_versions_of_azure_batch_and_of_the_azure_cli_are_served(account: Account) -> None:
    for version in ("2025-06-01", "2024-07-01.20.0", "2024-02-01.19.0"):
        assert account.get("jobs", **{"api-version": version}).status_code == 200
