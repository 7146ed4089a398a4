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


def ask(account: Account, authorization: str) -> httpx.Response:
    with account.azure.http() as client:
        headers = {"Authorization": authorization} if authorization else {}
        return client.get(f"/batch/{account.name}/jobs", params={"api-version": VERSION}, headers=headers)


class TestKeys:
    @pytest.mark.parametrize("which", ["primary", "secondary"])
    def test_each_of_the_two_keys_opens(self, account: Account, which: str) -> None:
        assert account.signed("GET", "jobs", account.keys[which]).status_code == 200

    def test_a_body_headers_and_a_filter_are_part_of_what_is_signed(self, account: Account) -> None:
        key = account.keys["primary"]
        body = {"id": "signed", "poolInfo": {"poolId": "none"}}
        headers = {"Content-Type": "application/json; odata=minimalmetadata", "If-None-Match": "x", "ocp-range": "bytes=0-1"}
        assert account.signed("POST", "jobs", key, json=body, headers=headers).status_code == 201
        query = {"$filter": "state eq 'active' and startswith(id, 'sig')", "maxresults": "7"}
        answer = account.signed("GET", "jobs", key, params=query)
        assert [job["id"] for job in answer.json()["value"]] == ["signed"]
        assert account.signed("DELETE", "jobs/signed", key).status_code == 202

    def test_a_key_that_was_renewed_opens_no_more(self, account: Account) -> None:
        old = account.keys["primary"]
        assert account.azure.post(f"{account.id}/regenerateKeys", "2024-07-01", {"keyName": "Primary"}).status_code == 200
        answer = account.signed("GET", "jobs", old)
        assert (answer.status_code, code(answer)) == (403, "AuthenticationFailed")
        assert account.signed("GET", "jobs", account.keys["primary"]).status_code == 200

    @pytest.mark.parametrize(
        "changed",
        [
            {"ocp-date": "Sat, 21 Nov 2026 00:00:00 GMT"},
            {"ocp-range": "bytes=0-1"},
            {"If-Match": "another"},
            {"Content-Type": "text/plain"},
        ],
        ids=lambda changed: next(iter(changed)),
    )
    def test_a_header_that_was_changed_on_the_way_is_noticed(self, account: Account, changed: dict[str, str]) -> None:
        answer = account.signed("GET", "jobs", account.keys["primary"], changed=changed)
        assert (answer.status_code, code(answer)) == (403, "AuthenticationFailed")

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

    def test_another_key_and_another_account_s_key_open_nothing(self, account: Account, group: str) -> None:
        other = Account(account.azure, group)
        foreign = account.signed("GET", "jobs", other.keys["primary"])
        assert (foreign.status_code, code(foreign)) == (403, "AuthenticationFailed")
        named = account.signed("GET", "jobs", other.keys["primary"], name=other.name)
        assert (named.status_code, code(named)) == (403, "AuthenticationFailed")
        made_up = account.signed("GET", "jobs", base64.b64encode(b"x" * 64).decode())
        assert (made_up.status_code, code(made_up)) == (403, "AuthenticationFailed")

    @pytest.mark.parametrize("minutes", [-16, 16])
    def test_a_request_lives_for_fifteen_minutes(self, account: Account, minutes: int) -> None:
        key = account.keys["primary"]
        late = account.signed("GET", "jobs", key, date=account.azure.now() + timedelta(minutes=minutes))
        assert (late.status_code, code(late)) == (403, "AuthenticationFailed")
        assert "15 minutes" in values(late)["AuthenticationErrorDetail"]
        near = account.azure.now() + timedelta(minutes=minutes - minutes // 8)
        assert account.signed("GET", "jobs", key, date=near).status_code == 200

    def test_the_key_is_in_no_answer(self, account: Account) -> None:
        answer = account.signed("GET", "jobs", base64.b64encode(b"x" * 64).decode())
        assert account.keys["primary"] not in answer.text
        assert account.keys["secondary"] not in answer.text

    def test_an_account_without_shared_keys_takes_none(self, azure: EmbeddedAzure, group: str) -> None:
        account = Account(azure, group, allowedAuthenticationModes=["AAD", "TaskAuthenticationToken"])
        answer = account.signed("GET", "jobs", base64.b64encode(b"x" * 64).decode())
        assert (answer.status_code, code(answer)) == (403, "AuthenticationFailed")
        assert "SharedKey" in values(answer)["AuthenticationErrorDetail"]
        assert account.get("jobs").status_code == 200

    @pytest.mark.parametrize(
        "header", ["SharedKey", "SharedKey x", "SharedKey :", "SharedKey a:", "Basic YTpi", "SharedKey a:b:c"]
    )
    def test_a_header_of_another_form_is_refused(self, account: Account, header: str) -> None:
        answer = ask(account, header)
        assert answer.status_code in (400, 403)
        assert code(answer) in ("InvalidAuthenticationInfo", "AuthenticationFailed")


def test_an_account_that_allows_no_way_in_at_all_lets_nobody_in(azure: EmbeddedAzure, group: str) -> None:
    account = Account(azure, group, allowedAuthenticationModes=[])
    for answer in (account.get("jobs"), account.signed("GET", "jobs", base64.b64encode(b"x" * 64).decode())):
        assert (answer.status_code, code(answer)) == (403, "AuthenticationFailed")
        assert "it allows none" in values(answer)["AuthenticationErrorDetail"]


class TestTokens:
    @pytest.mark.parametrize("slashes", ["", "/", "//"])
    def test_a_token_for_batch_opens_however_its_audience_ends(self, account: Account, slashes: str) -> None:
        for audience in (f"https://batch.core.windows.net{slashes}", f"{account.azure.url}/batch{slashes}"):
            assert ask(account, f"Bearer {account.azure.token(f'{audience}/.default')}").status_code == 200

    @pytest.mark.parametrize("audience", ["", "https://storage.azure.com/", "https://batch.core.windows.net.example.org/"])
    def test_a_token_for_somebody_else_does_not(self, account: Account, audience: str) -> None:
        token = account.azure.token(f"{audience}/.default" if audience else None)  # "": ARM's
        answer = ask(account, f"Bearer {token}")
        assert (answer.status_code, code(answer)) == (401, "AuthenticationFailed")
        assert "InvalidAuthenticationTokenAudience" in values(answer)["AuthenticationErrorDetail"]
        assert 'resource_id="https://batch.core.windows.net/"' in answer.headers["www-authenticate"]

    def test_a_changed_token_is_noticed(self, account: Account) -> None:
        token = account.azure.token(f"{AUDIENCE}/.default")
        head, payload, signature = token.split(".")
        claims = jwt.decode(token, options={"verify_signature": False})
        forged = jwt.encode({**claims, "exp": claims["exp"] + 9999}, "key" * 20, algorithm="HS256")
        unsigned = jwt.encode(claims, "", algorithm="none")
        other = f"{head}.{payload[:-4]}AAAA.{signature}"
        for each in (forged, unsigned, other, "x", ".."):
            answer = ask(account, f"Bearer {each}")
            assert (answer.status_code, code(answer)) == (401, "AuthenticationFailed"), each

    def test_a_token_that_is_over_opens_no_more(self, account: Account) -> None:
        token = account.azure.token(f"{AUDIENCE}/.default")
        identity = json.loads((account.azure.state / "identity.json").read_text())
        key_id = jwt.get_unverified_header(token)["kid"]
        claims = jwt.decode(token, options={"verify_signature": False})
        over = claims | {"nbf": claims["nbf"] - 9000, "exp": claims["exp"] - 9000}
        answer = ask(account, f"Bearer {jwt.encode(over, identity['signing_key'], 'RS256', headers={'kid': key_id})}")
        assert (answer.status_code, code(answer)) == (401, "AuthenticationFailed")
        assert "ExpiredAuthenticationToken" in values(answer)["AuthenticationErrorDetail"]

    def test_nothing_at_all_is_refused_with_a_word_on_where_to_go(self, account: Account) -> None:
        answer = ask(account, "")
        assert (answer.status_code, code(answer)) == (401, "AuthenticationFailed")
        assert account.azure.tenant_id in answer.headers["www-authenticate"]

    def test_an_account_for_keys_alone_takes_no_token(self, azure: EmbeddedAzure, group: str) -> None:
        account = Account(azure, group, allowedAuthenticationModes=["SharedKey"])
        answer = account.get("jobs")
        assert (answer.status_code, code(answer)) == (403, "AuthenticationFailed")
        assert account.signed("GET", "jobs", account.keys["primary"]).status_code == 200

    def test_an_account_that_is_not_there_is_told_to_whom_has_a_token(self, account: Account) -> None:
        answer = account.client.get("/batch/nosuchaccount/jobs", params={"api-version": VERSION})
        assert (answer.status_code, code(answer)) == (404, "ResourceNotFound")
        with account.azure.http() as client:
            assert client.get("/batch/nosuchaccount/jobs", params={"api-version": VERSION}).status_code == 401

    def test_an_account_shows_nothing_of_another(self, account: Account, group: str) -> None:
        other = Account(account.azure, group)
        other.add_job("theirs")
        assert account.get("jobs").json()["value"] == []
        answer = account.get("jobs/theirs")
        assert (answer.status_code, code(answer)) == (404, "JobNotFound")
