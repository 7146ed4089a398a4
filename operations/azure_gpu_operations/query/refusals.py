"""What it means that an endpoint doesn't answer with scores, and what to do about it.

In: a `Sent` that isn't good. Out: a `Refusal`: what happened, what the server said, the likely fix. Pure.

Source: MicrosoftDocs/azure-ai-docs, machine-learning/how-to-troubleshoot-online-endpoints.md, 2024-09-18, HTTP status codes. What
a scoring script itself answers reaches the client of a managed endpoint as 424, with its own status in a header.
"""

import json
import re
from typing import NamedTuple

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations import terminal
from azure_gpu_operations.query.sending import Sent

MODEL_STATUS = "ms-azureml-model-error-statuscode"
MODEL_REASON = "ms-azureml-model-error-reason"
_LONGEST = 300  # characters of what a server says
_STATUS = re.compile(r"[1-5][0-9][0-9]")
_SECONDS = re.compile(r"[0-9]{1,6}")


class Refusal(NamedTuple):
    what: str
    fix: str
    said: str = ""  # by the server, its first line


class _Row(NamedTuple):
    what: str
    fix: str


_LOGS = f"`{COMMAND} explain ENDPOINT --stack STACK` reads the deployment's log"
# Of the endpoint itself.
_ENDPOINT = {
    301: _Row("it answers with another address, to which no key is sent", "give that address"),
    400: _Row("it doesn't take this request", "send what the message asks for"),
    401: _Row(
        "it doesn't take this key or token",
        "of an endpoint with a key, it was renewed: ask again; with Entra, the identity needs the role AzureML Data Scientist on "
        "the endpoint or its workspace, which takes some minutes to be known; a token ends after an hour",
    ),
    403: _Row(
        "it may not be asked from here",
        "a private endpoint answers inside its network alone; else the identity needs the right to score",
    ),
    404: _Row(
        "there is no deployment that takes this request: none has traffic, or none is called so, or the address is wrong",
        "give a deployment traffic in the stack's file, or name one that is there with --deployment; where it was stopped, "
        f"`{COMMAND} start ENDPOINT --stack STACK`",
    ),
    405: _Row("it doesn't take this method", "images and arrays are sent with POST, to the path /score"),
    408: _Row(
        "the deployment took longer than its request timeout",
        "send less at once, or raise `requests: {timeout_seconds: …}` of the deployment (5 s where nothing is said)",
    ),
    413: _Row("the body is larger than it takes", "send a smaller image, or fewer at once"),
    415: _Row("it doesn't take this kind of content", "send a PNG or a JPEG, or an array as .json"),
    424: _Row("the deployment's own server refused it, or failed at it", _LOGS),
    429: _Row(
        "more requests wait than its instances take at a time",
        "ask with fewer --clients, give the deployment more `instances` or an `autoscale`, or more `requests: {concurrent: …}`",
    ),
    500: _Row("it failed", _LOGS),
    502: _Row("the deployment's server broke off while it answered", _LOGS),
    503: _Row(
        "no instance of the deployment is ready",
        f"wait until one is there, or give it more `instances`; {_LOGS}",
    ),
    504: _Row("the deployment didn't answer in time", "send less at once, or give it more `instances`"),
}
# Of the scoring script, where the endpoint passes its status on.
_MODEL = {
    400: _Row("the scoring script doesn't take this input", "send what the message asks for"),
    405: _Row("the scoring script doesn't take this method", "images and arrays are sent with POST"),
    413: _Row("the scoring script takes no body of this size", "send a smaller image, or fewer at once"),
    415: _Row("the scoring script doesn't take this kind of content", "send a PNG or a JPEG, or an array as .json"),
    422: _Row("the scoring script can't use this input", "send what the message asks for"),
    500: _Row("the scoring script raised", _LOGS),
    503: _Row("the scoring server takes no more at the moment", "ask with fewer --clients, or give it more `instances`"),
}
_OTHER = _Row("it answered with a status that isn't expected", _LOGS)


def refusal(sent: Sent, endpoint: str = "ENDPOINT", stack: str = "STACK") -> Refusal:
    """`endpoint` and `stack` fill in the commands that a fix names."""
    if not sent.status:
        return Refusal(sent.failure, "see that the address is right, and that nothing between here and there keeps it away")
    model = sent.headers.get(MODEL_STATUS, "")
    row = _ENDPOINT.get(sent.status, _ENDPOINT[301] if 300 <= sent.status < 400 else _OTHER)
    if sent.status == 424 and _STATUS.fullmatch(model):
        row = _MODEL.get(int(model), _Row(f"the scoring script answered {model}", _LOGS))
    fix = row.fix.replace("ENDPOINT", endpoint).replace("STACK", stack)
    after = sent.headers.get("retry-after", "")
    if _SECONDS.fullmatch(after):
        fix = f"wait {after} s; {fix}"
    return Refusal(row.what, fix, said(sent.body) or printable(sent.headers.get(MODEL_REASON, "")))


def said(body: bytes) -> str:
    """The message in an answer that refuses: of an error's object its own, else the first line."""
    text = body[:64_000].decode("utf-8", errors="replace").strip()
    try:
        found = json.loads(text)
        if isinstance(found, dict) and isinstance(found.get("error"), dict | str):
            found = found["error"]
        if isinstance(found, dict):
            told = [str(found[name]) for name in ("message", "detail") if found.get(name)]
            told += [f"expected: {found['expected']}"] if found.get("expected") else []
            found = "; ".join(told) or found
        text = found if isinstance(found, str) else json.dumps(found)
    except (ValueError, RecursionError):
        pass
    return printable(text.splitlines()[0] if text else "")


def printable(text: str) -> str:
    """What a server wrote, without what a terminal would act upon."""
    clean = terminal.printable(text).strip()
    return clean if len(clean) <= _LONGEST else f"{clean[:_LONGEST]}…"
