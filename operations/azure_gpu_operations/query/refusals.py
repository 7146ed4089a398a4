"""Explains failed requests to an endpoint: cause, the server's message and the likely fix. Pure.

Source: MicrosoftDocs/azure-ai-docs, machine-learning/how-to-troubleshoot-online-endpoints.md, 2024-09-18, HTTP status codes. An
error of the scoring script reaches the client of a managed endpoint as 424, with the script's status in a header.
"""

import json
import re
from typing import NamedTuple

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations import terminal
from azure_gpu_operations.query.sending import Sent

MODEL_STATUS = "ms-azureml-model-error-statuscode"
MODEL_REASON = "ms-azureml-model-error-reason"
_LONGEST = 300  # characters of a server's message
_STATUS = re.compile(r"[1-5][0-9][0-9]")
_SECONDS = re.compile(r"[0-9]{1,6}")


class Refusal(NamedTuple):
    what: str
    fix: str
    said: str = ""  # the first line of the server's message


class _Row(NamedTuple):
    what: str
    fix: str


_LOGS = f"`{COMMAND} explain ENDPOINT --stack STACK` reads the deployment's log"
# Statuses of the endpoint.
_ENDPOINT = {
    301: _Row("it redirects to another URL, to which no key is sent", "use that URL"),
    400: _Row("it rejects this request", "send what the message asks for"),
    401: _Row(
        "it rejects this key or token",
        "if the endpoint uses a key, it was renewed: try again; with Entra, assign yourself the role AzureML Data Scientist on "
        "the endpoint or its workspace, which takes some minutes to work; a token expires after an hour",
    ),
    403: _Row(
        "access is denied from here",
        "query a private endpoint from inside its network; otherwise assign the identity a role that allows scoring",
    ),
    404: _Row(
        "no deployment takes this request: none has traffic, none has this name, or the URL is wrong",
        "give a deployment traffic in the stack's file, or name an existing one with --deployment; if the endpoint is stopped, "
        f"`{COMMAND} start ENDPOINT --stack STACK`",
    ),
    405: _Row("it rejects this HTTP method", "images and arrays are sent with POST, to the path /score"),
    408: _Row(
        "the deployment took longer than its request timeout",
        "send less at once, or raise `requests: {timeout_seconds: …}` of the deployment (default: 5 s)",
    ),
    413: _Row("the body is too large", "send a smaller image, or fewer at once"),
    415: _Row("it rejects this content type", "send a PNG or a JPEG, or an array as .json"),
    424: _Row("the deployment's server rejected the request or failed", _LOGS),
    429: _Row(
        "more requests are waiting than its instances accept",
        "use fewer --clients, give the deployment more `instances` or an `autoscale`, or more `requests: {concurrent: …}`",
    ),
    500: _Row("the server failed", _LOGS),
    502: _Row("the deployment's server broke the connection while answering", _LOGS),
    503: _Row(
        "no instance of the deployment is ready",
        f"wait until one is ready, or give it more `instances`; {_LOGS}",
    ),
    504: _Row("the deployment didn't answer in time", "send less at once, or give it more `instances`"),
}
# Statuses of the scoring script, passed on by the endpoint.
_MODEL = {
    400: _Row("the scoring script rejects this input", "send what the message asks for"),
    405: _Row("the scoring script rejects this HTTP method", "images and arrays are sent with POST"),
    413: _Row("the body is too large for the scoring script", "send a smaller image, or fewer at once"),
    415: _Row("the scoring script rejects this content type", "send a PNG or a JPEG, or an array as .json"),
    422: _Row("the scoring script can't use this input", "send what the message asks for"),
    500: _Row("the scoring script raised an exception", _LOGS),
    503: _Row("the scoring server accepts no more requests at the moment", "use fewer --clients, or give it more `instances`"),
}
_OTHER = _Row("unexpected HTTP status", _LOGS)


def refusal(sent: Sent, endpoint: str = "ENDPOINT", stack: str = "STACK") -> Refusal:
    """`endpoint` and `stack`: inserted into the commands of fixes."""
    if not sent.status:
        return Refusal(sent.failure, "check the URL, and firewalls and proxies on the way")
    model = sent.headers.get(MODEL_STATUS, "")
    row = _ENDPOINT.get(sent.status, _ENDPOINT[301] if 300 <= sent.status < 400 else _OTHER)
    if sent.status == 424 and _STATUS.fullmatch(model):
        row = _MODEL.get(int(model), _Row(f"the scoring script answered {model}", _LOGS))
    fix = row.fix.replace("ENDPOINT", endpoint).replace("STACK", stack)
    after = sent.headers.get("retry-after", "")
    if _SECONDS.fullmatch(after):
        fix = f"wait {after} s; {fix}"
    return Refusal(row.what, fix, message_of(sent.body) or printable(sent.headers.get(MODEL_REASON, "")))


def message_of(body: bytes) -> str:
    """The message of an error response: that of a JSON error object, else the first line."""
    text = body[:64_000].decode("utf-8", errors="replace").strip()
    try:
        found = json.loads(text)
        if isinstance(found, dict) and isinstance(found.get("error"), dict | str):
            found = found["error"]
        if isinstance(found, dict):
            parts = [str(found[name]) for name in ("message", "detail") if found.get(name)]
            parts += [f"expected: {found['expected']}"] if found.get("expected") else []
            found = "; ".join(parts) or found
        text = found if isinstance(found, str) else json.dumps(found)
    except (ValueError, RecursionError):
        pass
    return printable(text.splitlines()[0] if text else "")


def printable(text: str) -> str:
    """A server's text without terminal control characters, shortened."""
    clean = terminal.printable(text).strip()
    return clean if len(clean) <= _LONGEST else f"{clean[:_LONGEST]}…"
