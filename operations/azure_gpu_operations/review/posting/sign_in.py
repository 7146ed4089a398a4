"""Signs a job of GitHub Actions in to Azure without a secret: writes its OpenID Connect token to a file for Azure's clients.

Only the runner's user can read the file; variables for later steps name it. The provider requests its token from GitHub itself
(`ARM_USE_OIDC`); Azure's SDKs, Pulumi's backend and kubelogin read the file.

Sources: GitHub Docs, "OpenID Connect reference"; Microsoft Learn, "Workload identity federation"; azure-identity,
`WorkloadIdentityCredential`; Pulumi Registry, Azure Native, installation and configuration.
"""

import os
import urllib.parse
from collections.abc import Mapping
from pathlib import Path

from azure_gpu_operations.review.posting.api import Api, HostError

AUDIENCE = "api://AzureADTokenExchange"


def sign_in(environment: Mapping[str, str]) -> str:
    """HostError if the job may not request a token, or a variable isn't set."""
    request_url = environment.get("ACTIONS_ID_TOKEN_REQUEST_URL", "")
    if not request_url:
        raise HostError("the job has no OpenID Connect token; it needs `permissions: id-token: write`")
    required = ("ARM_CLIENT_ID", "ARM_TENANT_ID", "ARM_SUBSCRIPTION_ID")
    missing = [name for name in required if not environment.get(name)]
    if missing:
        raise HostError(f"not set: {', '.join(missing)}; see docs/pull-requests.md for the variables of the repository")
    address = urllib.parse.urlsplit(request_url)
    query = {**dict(urllib.parse.parse_qsl(address.query)), "audience": AUDIENCE}
    bearer = {"Authorization": f"Bearer {environment['ACTIONS_ID_TOKEN_REQUEST_TOKEN']}"}
    token = Api(f"{address.scheme}://{address.netloc}", bearer).get(address.path, **query)["value"]
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
