"""A job of GitHub Actions signs in to Azure by its own token."""

import io
import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from azure_gpu_operations import sign_in


def test_a_job_signs_in_by_its_own_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []

    def answer(request: Any, timeout: float) -> io.BytesIO:
        asked.append((request.full_url, request.unredirected_hdrs, timeout > 0))
        return io.BytesIO(json.dumps({"value": "header.payload.signature"}).encode())

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    environment = {
        "ACTIONS_ID_TOKEN_REQUEST_URL": "https://runner.test/oidc?api-version=2.0",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "runner",
        "ARM_CLIENT_ID": "client",
        "ARM_TENANT_ID": "tenant",
        "ARM_SUBSCRIPTION_ID": "subscription",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_ENV": str(tmp_path / "env"),
    }
    assert sign_in.main(environment) == 0
    url = "https://runner.test/oidc?api-version=2.0&audience=api%3A%2F%2FAzureADTokenExchange"
    assert asked == [(url, {"Authorization": "Bearer runner"}, True)]
    file = tmp_path / "azure-federated-token"
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("header.payload.signature", 0o600)
    assert (tmp_path / "env").read_text().splitlines() == [
        "AZURE_CLIENT_ID=client",
        "AZURE_TENANT_ID=tenant",
        f"AZURE_FEDERATED_TOKEN_FILE={file}",
        "ARM_USE_OIDC=true",
    ]
    assert capsys.readouterr().out == "::add-mask::header.payload.signature\nsigned in as client\n"


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({}, "the job has no OpenID Connect token; it needs `permissions: id-token: write`"),
        (
            {"ACTIONS_ID_TOKEN_REQUEST_URL": "https://x", "ARM_CLIENT_ID": "c", "ARM_SUBSCRIPTION_ID": "s"},
            "not set: ARM_TENANT_ID; see docs/pull-requests.md for the variables of the repository",
        ),
        (
            {
                "ACTIONS_ID_TOKEN_REQUEST_URL": "file:///etc/passwd",
                "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "t",
                "ARM_CLIENT_ID": "c",
                "ARM_SUBSCRIPTION_ID": "s",
                "ARM_TENANT_ID": "t",
            },
            "'file:///etc/passwd' isn't a valid address; the runner sets it",
        ),
    ],
)
def test_a_job_that_can_t_sign_in_says_why_in_a_line(
    environment: dict[str, str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sign_in.main(environment) == 1
    assert capsys.readouterr().err == f"error: {told}\n"
