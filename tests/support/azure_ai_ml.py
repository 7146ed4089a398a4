"""Microsoft's `azure-ai-ml`, unmodified, in an environment of its own, which is made once for this machine.

In: a server, a workspace's id, and a script. The script finds `client`, an MLClient of the workspace, and `given`, an object of
the test's; it leaves what it found in `found`. Out: that.
"""

import fcntl
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from tests.support.embedded import ServedAzure
from tests.support.patience import SECONDS

PACKAGES = ("azure-ai-ml==1.35.2", "azure-identity==1.25.1")
_HEAD = """
import json, os, sys
from azure.ai.ml import MLClient
from azure.identity import ClientSecretCredential

told = json.load(sys.stdin)
given, found = told["given"], {}
url = told["url"]
credential = ClientSecretCredential(
    told["tenant"], told["client"], told["secret"], authority=url, disable_instance_discovery=True
)
metadata = {
    "resource_manager": url + "/", "active_directory": url, "aml_resource_id": "https://ml.azure.com",
    "azure_portal": url, "storage_endpoint": url.replace("https://", "core."), "registry_discovery_endpoint": url + "/",
}
client = MLClient(
    credential, told["subscription"], told["group"], told["workspace"], enable_telemetry=False, cloud="LocalARM",
    cloud_metadata=metadata,
)
"""
_TAIL = '\nprint("\\nFOUND " + json.dumps(found, default=str))\n'


def run(azure: ServedAzure, workspace: str, script: str, **given: Any) -> Any:
    """What the script has put into `found`."""
    parts = workspace.split("/")
    told = {
        "url": azure.url,
        "tenant": azure.tenant_id,
        "client": azure.client_id,
        "secret": azure.client_secret,
        "subscription": parts[2],
        "group": parts[4],
        "workspace": parts[-1],
        "given": given,
    }
    # The client makes a storage account's address itself, below `localhost`, which not every machine's resolver knows.
    resolver = {"PYTHONPATH": str(Path(__file__).with_name("localhost_names"))}
    trust = {"REQUESTS_CA_BUNDLE": str(azure.ca_bundle), "SSL_CERT_FILE": str(azure.ca_bundle)}
    done = subprocess.run(
        [python(), "-c", _HEAD + textwrap.dedent(script) + _TAIL],
        input=json.dumps(told),
        env={
            **os.environ,
            **trust,
            **resolver,
            "NO_PROXY": "localhost,127.0.0.1,.localhost",
            "AZURE_ML_CLI_PRIVATE_FEATURES_ENABLED": "false",
        },
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    last = next(line for line in reversed(done.stdout.splitlines()) if line.startswith("FOUND "))
    return json.loads(last.removeprefix("FOUND "))


def python() -> str:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "azure-gpu" / "test-environments"
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / PACKAGES[0].replace("==", "-")
    interpreter, complete = folder / "bin" / "python", folder / "complete"
    with (cache / f"{folder.name}.lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not complete.exists():
            uv = Path(sys.executable).with_name("uv")
            subprocess.run([uv, "venv", "-q", "--clear", "--python", sys.executable, folder], check=True)
            subprocess.run([uv, "pip", "install", "-q", "--python", interpreter, *PACKAGES], check=True)
            complete.touch()
    return str(interpreter)
