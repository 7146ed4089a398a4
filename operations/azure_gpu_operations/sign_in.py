"""Signs a job of GitHub Actions in to Azure without a secret: writes its OpenID Connect token to a file for Azure's clients.

    PYTHONPATH=operations python3 -m azure_gpu_operations.sign_in     runs on any Python 3.11, without installed packages

Only the runner's user can read the file; variables for later steps name it. The provider requests its token from GitHub itself
(`ARM_USE_OIDC`); Azure's SDKs, Pulumi's backend and kubelogin read the file.

Sources: GitHub Docs, "OpenID Connect reference"; Microsoft Learn, "Workload identity federation"; azure-identity,
`WorkloadIdentityCredential`; Pulumi Registry, Azure Native, installation and configuration.

Exit codes: 0 signed in, 1 a variable isn't set or GitHub gives no token.
"""

import json
import os
import sys
import urllib.parse
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path

AUDIENCE = "api://AzureADTokenExchange"
LIMIT_SECONDS = 60.0


class SignInError(Exception):
    """The job can't sign in. The text is one line."""


def main(environment: Mapping[str, str]) -> int:
    try:
        print(sign_in(environment))
    except KeyError as error:
        print(f"error: {error.args[0]} isn't set; the runner sets it", file=sys.stderr)
        return 1
    except (SignInError, OSError, HTTPException, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def sign_in(environment: Mapping[str, str]) -> str:
    """SignInError if the job may not request a token, or a variable isn't set."""
    request_url = environment.get("ACTIONS_ID_TOKEN_REQUEST_URL", "")
    if not request_url:
        raise SignInError("the job has no OpenID Connect token; it needs `permissions: id-token: write`")
    required = ("ARM_CLIENT_ID", "ARM_TENANT_ID", "ARM_SUBSCRIPTION_ID")
    missing = [name for name in required if not environment.get(name)]
    if missing:
        raise SignInError(f"not set: {', '.join(missing)}; see docs/pull-requests.md for the variables of the repository")
    token = _token(request_url, environment["ACTIONS_ID_TOKEN_REQUEST_TOKEN"])
    print(f"::add-mask::{token}", flush=True)
    file = Path(environment["RUNNER_TEMP"], "azure-federated-token")
    file.unlink(missing_ok=True)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:  # noqa: PTH123 - of a descriptor
        opened.write(token)
    variables = {
        "AZURE_CLIENT_ID": environment["ARM_CLIENT_ID"],
        "AZURE_TENANT_ID": environment["ARM_TENANT_ID"],
        "AZURE_FEDERATED_TOKEN_FILE": str(file),
        "ARM_USE_OIDC": "true",
    }
    with Path(environment["GITHUB_ENV"]).open("a", encoding="utf-8") as opened:
        opened.writelines(f"{name}={value}\n" for name, value in variables.items())
    return f"signed in as {environment['ARM_CLIENT_ID']}"


def _token(request_url: str, bearer: str) -> str:
    address = urllib.parse.urlsplit(request_url)
    if address.scheme not in ("http", "https"):
        raise SignInError(f"{request_url!r} isn't a valid address; the runner sets it")
    query = urllib.parse.urlencode({**dict(urllib.parse.parse_qsl(address.query)), "audience": AUDIENCE})
    request = urllib.request.Request(address._replace(query=query).geturl(), headers={"Accept": "application/json"})  # noqa: S310 - checked above
    request.add_unredirected_header("Authorization", f"Bearer {bearer}")
    with urllib.request.urlopen(request, timeout=LIMIT_SECONDS) as answer:  # noqa: S310 - checked above
        return str(json.load(answer)["value"])


if __name__ == "__main__":
    sys.exit(main(os.environ))
