"""`make replay`: sends recorded sessions with the real Azure to the embedded one, and shows where the two answer differently.

    python -m tests.recorded.replay [-v] [--json FILE] [--as-of DAY] [RECORDING or FOLDER ...]

Each session gets an embedded Azure of its own, in this process but for nodes of Batch, and the day of its recording. What was
there before it began is made first, and what it met of rough weather lasts as long as it did there. Its requests are sent in
their order, long operations are waited for, and each answer is compared with the recorded one:

    status    the same status code
    error     a refusal: the same error code
    headers   a change: the same of Azure-AsyncOperation and Location
    members   the recorded members that aren't null and are there
    values    of those there, and equal wherever they are answered: the same value

Two tables: the Resource Manager's answers, and what lies beside them: the end of each long operation as its address shows it,
what a provider's document lists, and the data plane of Batch. What the embedded Azure answers with 501 isn't served, and neither
is what lies below it, nor a refusal or a member that names it. Below a resource of a group that is gone Azure answers a DELETE
now with `ResourceGroupNotFound`, now with `ResourceNotFound` (20 and 16 times for subnets in the sessions that were read) or
`ParentResourceNotFound`: each will do.
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import date
from operator import itemgetter
from pathlib import Path
from typing import Any

import httpx

from azure_gpu.formats.arm_ids import parse
from localazure.batch.service.app import API_VERSIONS
from tests.recorded import sessions
from tests.recorded.members import GUID, HOST, comparable, flat, lowered, same
from tests.recorded.sessions import CHANGES, Exchange, Session, error_code
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure, ServedAzure
from tests.support.in_process import InProcessAzure

FIGURES = ("status", "error", "headers", "members", "values")
NOT_SERVED = 501
GROUPS = "2021-04-01"
ANY_PLACE = "westus"
# Of what a resource shows, those that a request for it holds as well: the rest is the service's.
_PLAIN_PROPERTIES = frozenset(
    {"workloadProfiles", "addressSpace", "addressPrefix", "accessTier", "Application_Type", "securityRules"}
)
HEADERS = ("azure-asyncoperation", "location")
_ENDED = {"succeeded", "failed", "canceled", "cancelled", "running", "stopped"}
# Staging and canary regions, which only their makers have.
_OWN_REGIONS = re.compile(r'("location": "[\w ]+?)(?: \(Stage\)|stage|euap| EUAP)"')
_OTHER_SUBSCRIPTION = re.compile(r"/subscriptions/[0-9A-Fa-f-]{36}/")  # that was left in a recording
_NODE = re.compile(r"^tvm[\w-]+$")  # Batch invents the names of nodes
_GROUP = re.compile(r"/subscriptions/[^/]+/resourcegroups/[^/]+", re.IGNORECASE)
# Refusals that pass by themselves, and the part of the weather in which they are met here.
_PASSING = {
    "PrincipalNotFound": "new-principals",
    "ManagedEnvironmentNotProvisioned": "slow-operations",
    "CannotDeleteResource": "slow-operations",
    "ResourceGroupBeingDeleted": "slow-operations",
    "AnotherOperationInProgress": "network-conflicts",
}
_LASTING = {"slow-operations", "network-conflicts"}
_OF_GONE_GROUPS = {"ResourceGroupNotFound", "ResourceNotFound", "ParentResourceNotFound"}
_PASSWORD = re.compile(r'("\w*[pP]assword": )"\{\w+\}"')  # taken out of the recording
_MADE_UP_NAME = re.compile(r"^(.*[./])([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$", re.IGNORECASE)
_DELETED = "/deletedvaults/"
_PROVIDER = re.compile(r"/subscriptions/[^/]+/providers/[^/]+", re.IGNORECASE)  # thousands of types and regions
_BATCH_RESOURCE = "https://batch.core.windows.net/.default"


@dataclass(slots=True)
class Row:
    """One answer, compared. A figure is (agreeing, compared); None where there was nothing to compare."""

    number: int
    method: str
    path: str
    recorded: int
    beside: bool  # no answer of the Resource Manager to a request for a resource
    answered: int | None = None
    served: bool = True
    status: tuple[int, int] | None = None
    error: tuple[int, int] | None = None
    headers: tuple[int, int] | None = None
    members: tuple[int, int] | None = None
    values: tuple[int, int] | None = None
    differences: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Replayed:
    """A session's rows, and how long they took."""

    session: Session
    rows: tuple[Row, ...]
    seconds: float


class Replay:
    """One session on its way through one embedded Azure."""

    def __init__(self, session: Session, azure: EmbeddedAzure) -> None:
        self._session = session
        self._azure = azure
        self._made_up: dict[str, str] = {}  # what Azure made up there, and what stands for it here
        self._operations: dict[str, str] = {}  # addresses of long operations: the recorded path, in lower case, and the one here
        self._unserved: list[str] = []
        # Changes that weren't waited for, by the path that tells how far they are.
        self._unfinished: dict[str, httpx.Response] = {}
        # Changes that name what the session makes after them, with the paths that aren't there yet.
        self._early: list[tuple[set[str], httpx.Response]] = []
        passing = [(part, each.number) for each in session.exchanges if (part := _PASSING.get(each.error_code or ""))]
        passing += [("slow-operations", number) for number in _lingering(session)]
        # Parts that hold, and the last answer that shows them: a refusal, or what is still there in a group that is leaving.
        self._weather = dict(sorted(passing, key=itemgetter(1)))
        self._batch_token = ""

    def rows(self) -> Iterator[Row]:
        """A row for each answer that can be compared, in order."""
        self._make_earlier()
        for part in self._weather:
            self._azure.command("fault", "weather", part)
        last = {each.path.lower(): each.number for each in self._session.exchanges if each.of_operation}
        for each in self._session.exchanges:
            self._calm_before(each.number)
            if each.of_operation:
                path = each.path.lower()
                if last[path] == each.number and (address := self._operations.get(path)):
                    if unfinished := self._unfinished.pop(path, None):
                        self._wait(unfinished)
                    yield self._compared(each, self._azure.client.get(address), beside=True)
            elif each.in_arm and each.status != httpx.codes.TOO_MANY_REQUESTS:
                yield self._sent(each, beside=_PROVIDER.fullmatch(each.path) is not None)
            elif each.in_batch:
                yield self._compared(each, self._to_batch(each), beside=True)

    def _calm_before(self, number: int) -> None:
        """Ends each part of the weather that the recording met for the last time."""
        for part in [part for part, last in self._weather.items() if last < number]:
            del self._weather[part]
            self._azure.command("fault", "calm", part)
            for unfinished in self._unfinished.values() if part in _LASTING else ():
                self._wait(unfinished)

    def _make_earlier(self) -> None:
        """What was there before the recording began: resource groups that are named or answered with 200, resources that a
        first GET shows, and vaults that it shows as deleted."""
        sent = [each for each in self._session.exchanges if each.in_arm and not each.of_operation]
        puts = {each.path.lower(): each for each in reversed(sent) if each.method == "PUT"}
        made = {path for path, each in puts.items() if not (_GROUP.fullmatch(path) and each.status == httpx.codes.OK)}
        places = (each.request["location"] for each in sent if isinstance(each.request, dict) and each.request.get("location"))
        named = {found.group().lower(): found.group() for each in sent if (found := _GROUP.match(each.path))}
        known = {path for path in puts if path not in made}  # groups of an earlier run, whose resources are there as well
        for key in named.keys() - made:
            for place in (next(places, ANY_PLACE), ANY_PLACE):  # the first may be a region that only its makers have
                if self._azure.put(named[key], {"location": place}, GROUPS).is_success:
                    break
        seen: set[str] = set()
        for each in sent:
            again = each.method == "PUT" and any(each.path.lower().startswith(f"{group}/") for group in known)
            if each.path.lower() not in seen and (again or each.method == "GET") and each.status == httpx.codes.OK:
                if _DELETED in each.path.lower():
                    self._make_deleted(puts.get(str(each.response["properties"]["vaultId"]).lower()))
                elif parse(each.path):
                    asked = puts.get(each.path.lower())
                    self._make(each.path, each.query, each.response, self._body(asked).get("json") if asked else None)
            seen.add(each.path.lower())

    def _make_principal(self, principal: str) -> None:
        """An identity in the place of one of the directory, or of a resource that isn't served."""
        theirs = f'"principalId": "{principal}"' if principal == SUBSCRIPTION else principal  # zeros: it was taken out
        if theirs in self._made_up or not GUID.match(principal):
            return
        group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/directory"
        self._azure.put(group, {"location": ANY_PLACE}, GROUPS)
        named = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{principal}"
        made = self._azure.put(named, {"location": ANY_PLACE}, "2023-01-31").json()["properties"]["principalId"]
        self._made_up[theirs] = f'"principalId": "{made}"' if principal == SUBSCRIPTION else made

    def _make_deleted(self, put: Exchange | None) -> None:
        """A vault that the session recovers, and that went with its resource group before."""
        if put is not None and (group := _GROUP.match(put.path)):
            asked = self._body(put)["json"]
            asked["properties"]["createMode"] = "default"
            self._azure.put(group[0], {"location": asked["location"]}, GROUPS)
            self._azure.client.put(put.path, params=dict(put.query), json=asked)
            self._wait(self._azure.client.delete(group[0], params={"api-version": GROUPS}))

    def _make(self, path: str, query: Mapping[str, str], shown: Any, asked: Any = None) -> None:
        """A resource as the session asks for it later, or as it was shown, as far as that is taken for a request."""
        if not isinstance(shown, dict) or parse(path) is None or "value" in shown:
            return
        inner = {name: value for name, value in (shown.get("properties") or {}).items() if name in _PLAIN_PROPERTIES}
        body = {name: shown[name] for name in ("location", "kind", "sku", "tags") if shown.get(name)} | {"properties": inner}
        answer = self._azure.client.put(path, params=dict(query), json=asked or self._translated(body))
        if answer.is_success:
            self._wait(answer)
            self._learn(shown, _content(self._azure.client.get(path, params=dict(query))))

    def _sent(self, each: Exchange, *, beside: bool) -> Row:
        path = self._translated(each.path)
        refusal = json.dumps(self._translated(each.response)).lower() if each.status >= httpx.codes.BAD_REQUEST else ""
        if path.lower().startswith(tuple(self._unserved)) or any(other in refusal for other in self._unserved):
            return Row(each.number, each.method, each.path, each.status, beside=beside, served=False)
        if each.method == "PUT" and "/roleassignments/" in path.lower():
            self._make_principal(str((each.request.get("properties") or {}).get("principalId")))
        query = self._translated(dict(each.query))
        for unfinished in self._unfinished.values() if each.method in CHANGES else ():
            if unfinished.request.url.path.lower() == path.lower():
                self._wait(unfinished)
        answer = self._azure.client.request(each.method, path, params=query, **self._body(each))
        if answer.status_code == NOT_SERVED:
            self._unserved.append(path.lower())
        for name in reversed(HEADERS):  # where both have one path, it shows the state of the operation
            if name in each.headers and name in answer.headers:
                path = httpx.URL(each.headers[name]).path.lower()
                self._operations[path] = answer.headers[name]
                if _LASTING & self._weather.keys():
                    self._unfinished[path] = answer
        if each.method in CHANGES and answer.is_success and not _LASTING & self._weather.keys():
            self._settle(each, answer)
        return self._compared(each, answer, beside=beside)

    def _settle(self, each: Exchange, answer: httpx.Response) -> None:
        """Waits for a change, and for those before it that it was the last thing missing for."""
        text = json.dumps(each.request).lower()
        later = {other.path.lower() for other in self._session.exchanges[each.number + 1 :] if other.method == "PUT"}
        before = {other.path.lower() for other in self._session.exchanges[: each.number + 1]}
        self._early.insert(0, ({path for path in later - before if f'"{path}"' in text}, answer))
        ready = [one for missing, one in self._early if not missing - before]
        self._early = [(missing, one) for missing, one in self._early if missing - before]
        for one in ready:
            self._wait(one)

    def _to_batch(self, each: Exchange) -> httpx.Response:
        """With a token, whatever signed the recorded request, and in a version that is served: the recorded ones are too old."""
        account = each.host.partition(".")[0]
        version = each.query.get("api-version", "")
        query = {**each.query, "api-version": version if version in API_VERSIONS else min(API_VERSIONS)}
        self._batch_token = self._batch_token or self._azure.token(_BATCH_RESOURCE)
        headers = {"Authorization": f"Bearer {self._batch_token}", "Content-Type": "application/json; odata=minimalmetadata"}
        path = f"/batch/{account}{self._translated(each.path)}"
        return self._azure.client.request(each.method, path, params=query, headers=headers, **self._body(each))

    def _body(self, each: Exchange) -> dict[str, Any]:
        if each.request is None:
            return {}
        text = _PASSWORD.sub(r'\g<1>"Not-recorded-1"', json.dumps(self._translated(each.request)))
        return {"json": json.loads(re.sub(rf'("tenantId": "){SUBSCRIPTION}"', rf'\g<1>{self._azure.tenant_id}"', text))}

    def _translated(self, value: Any) -> Any:
        """With what was made up here in place of what was made up there."""
        text = _OTHER_SUBSCRIPTION.sub(f"/subscriptions/{SUBSCRIPTION}/", _OWN_REGIONS.sub(r'\1"', json.dumps(value)))
        for theirs in sorted(self._made_up, key=len, reverse=True):
            text = text.replace(theirs, self._made_up[theirs])
        return json.loads(text)

    def _learn(self, theirs: Any, ours: Any) -> None:
        """GUIDs, hosts and names of nodes that stand at the same place in both answers."""
        here = lowered(flat(ours))
        for path, value in flat(theirs).items():
            mine = here.get(path.lower())
            if not isinstance(value, str) or not isinstance(mine, str) or value in (mine, SUBSCRIPTION) or len(value) < 8:
                continue
            if any(form.match(value) and form.match(mine) for form in (GUID, HOST, _NODE)):
                self._made_up[value] = mine
            elif (name := _MADE_UP_NAME.match(value)) and (own := _MADE_UP_NAME.match(mine)):
                self._made_up[name[2]] = own[2]

    def _wait(self, answer: httpx.Response) -> None:
        """Until a long operation has ended: by the header that the answer gave, or by the state of the resource."""
        status = answer.headers.get("azure-asyncoperation")
        address = status or answer.headers.get("location") or str(answer.request.url)
        by_state = address == str(answer.request.url)

        def is_over() -> bool:
            now = self._azure.client.get(address)
            return now.status_code != httpx.codes.ACCEPTED and (not (status or by_state) or _has_ended(now, by_state))

        with suppress(AssertionError):  # what it has come to by then, the next answers show
            self._azure.until(is_over, f"{address} ends")

    def _compared(self, each: Exchange, answer: httpx.Response, *, beside: bool) -> Row:
        ours = _content(answer)
        row = compared(each, answer.status_code, set(answer.headers) & set(HEADERS), ours, self._unserved, beside=beside)
        self._learn(each.response, ours)
        return row


def _lingering(session: Session) -> Iterator[int]:
    """Answers that show or change what lies in a group after the deletion of that group has begun and before it has ended."""
    leaving: dict[str, bool] = {}
    for each in session.exchanges:
        group = found.group().lower() if (found := _GROUP.match(each.path)) else ""
        if each.of_operation:
            leaving = {} if each.status == httpx.codes.OK else leaving
        elif each.method == "DELETE" and _GROUP.fullmatch(each.path):
            leaving[group] = True
        elif leaving.get(group) and each.status in (httpx.codes.OK, httpx.codes.CREATED):
            yield each.number


def compared(
    each: Exchange, status: int, headers: set[str], ours: Any, unserved: Sequence[str] = (), *, beside: bool = False
) -> Row:
    """An answer of the embedded Azure beside the recorded one. `unserved`: paths, in lower case, whose mention isn't compared."""
    row = Row(each.number, each.method, each.path, each.status, beside, answered=status, served=status != NOT_SERVED)
    if not row.served:
        row.differences.append(json.dumps(ours)[:300])
        return row
    row.status = (int(status == each.status), 1)
    if status != each.status:
        row.differences.append(f"status {status}, recorded {each.status}: {json.dumps(ours)[:300]}")
    if each.status >= httpx.codes.BAD_REQUEST and isinstance(each.response, dict):
        mine = error_code(ours)
        same_code = mine == each.error_code or (each.method == "DELETE" and {mine, each.error_code} <= _OF_GONE_GROUPS)
        row.error = (int(same_code), 1)
        if not same_code:
            row.differences.append(f"error code {mine}, recorded {each.error_code}")
        return row
    if each.in_arm and each.method in CHANGES and status == each.status:
        recorded = set(HEADERS) & set(each.headers)
        row.headers = (int(headers == recorded), 1)
        if headers != recorded:
            row.differences.append(f"headers {sorted(headers)}, recorded {sorted(recorded)}")
    if isinstance(each.response, dict) and isinstance(ours, dict) and status < httpx.codes.BAD_REQUEST:
        recorded_members = flat(each.response)
        named = {path for path, value in recorded_members.items() if str(value).lower().startswith(tuple(unserved))}
        _compare_members(row, {path: value for path, value in recorded_members.items() if path not in named}, lowered(flat(ours)))
    return row


def _compare_members(row: Row, there: dict[str, Any], here: dict[str, Any]) -> None:
    missing = [path for path in there if path.lower() not in here]
    both = [path for path in there if path.lower() in here and comparable(path, there[path])]
    wrong = [path for path in both if not same(there[path], here[path.lower()])]
    row.members = (len(there) - len(missing), len(there))
    row.values = (len(both) - len(wrong), len(both))
    row.differences += [f"missing {path} = {json.dumps(there[path])[:80]}" for path in missing]
    row.differences += [
        f"{path} = {json.dumps(here[path.lower()])[:80]}, recorded {json.dumps(there[path])[:80]}" for path in wrong
    ]


def _content(answer: httpx.Response) -> Any:
    try:
        return answer.json() if answer.content else None
    except ValueError:
        return answer.text


def _has_ended(answer: httpx.Response, by_state: bool) -> bool:
    """Whether the document of an operation, or a resource, shows no work any longer. An answer that refuses shows none."""
    found = _content(answer)
    if not answer.is_success or not isinstance(found, dict):
        return True
    state = (found.get("properties") or {}).get("provisioningState") if by_state else found.get("status", "")
    return (by_state and not state) or str(state).lower() in _ENDED


def replayed(file: Path, as_of: str = "") -> Replayed:
    """One recording against an embedded Azure that is started for it and ended after it."""
    session = sessions.read(file)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        azure = _azure_for(session, Path(folder) / "state", date.fromisoformat(as_of) if as_of else None)
        try:
            rows = tuple(Replay(session, azure).rows())
        finally:
            azure.stop()
    return Replayed(session, rows, time.monotonic() - began)


def _azure_for(session: Session, state: Path, as_of: date | None) -> ServedAzure | InProcessAzure:
    day = as_of or session.recorded or date.today()
    if any(each.in_batch for each in session.exchanges):  # whose tasks run
        return ServedAzure(state, as_of=day.isoformat())
    authority = state / "ca" / "ca.pem"  # which a cluster's kubeconfig has in it
    authority.parent.mkdir(parents=True)
    authority.write_text("an authority")
    return InProcessAzure(state, as_of=day)


def all_replayed(files: Sequence[Path], as_of: str = "") -> Iterator[Replayed]:
    """Every recording, one after the other."""
    return (replayed(file, as_of) for file in files)


def figures(rows: Iterable[Row]) -> dict[str, tuple[int, int]]:
    """What of the rows is served, and each figure over those that are, as (agreeing, compared)."""
    known = list(rows)
    here = [row for row in known if row.served]
    found = {"served": (len(here), len(known))}
    for name in FIGURES:
        each = [figure for row in here if (figure := getattr(row, name)) is not None]
        found[name] = (sum(good for good, _ in each), sum(of for _, of in each))
    return found


def line(name: str, found: dict[str, tuple[int, int]]) -> str:
    return f"{name[:56]:56} " + " ".join((f"{good}/{of}" if of else "-").rjust(10) for good, of in found.values())


def percentages(found: dict[str, tuple[int, int]]) -> str:
    return ", ".join(f"{name} {100 * good / of:.1f} %" for name, (good, of) in found.items() if of)


def total(title: str, rows: Sequence[Row]) -> None:
    """The sum over several sessions: the Resource Manager's answers, and those beside them. Nothing where there are none."""
    for beside in (False, True):
        if chosen := [row for row in rows if row.beside is beside]:
            found = figures(chosen)
            print(line(f"{title}{', beside the Resource Manager' if beside else ''}", found))
            print(f"  {percentages(found)}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.recorded.replay", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("recordings", nargs="*", type=Path, help=f"files and folders; else {sessions.FOLDER}")
    parser.add_argument("-v", action="store_true", dest="verbose", help="every difference")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all rows into this file")
    parser.add_argument("--as-of", default="", metavar="DAY", help="the day for all, in place of that of each recording")
    chosen = parser.parse_args(arguments)
    files = sessions.files(chosen.recordings)
    if not files:
        print(f"skipped: no recordings in {', '.join(map(str, chosen.recordings)) or sessions.FOLDER}")
        return 0
    done: list[Replayed] = []
    print(" " * 57 + " ".join(name.rjust(10) for name in ("served", *FIGURES)))
    for each in all_replayed(files, chosen.as_of):
        done.append(each)
        print(line(each.session.name, figures(row for row in each.rows if not row.beside)), flush=True)
        if chosen.verbose:
            for row in each.rows:
                for difference in row.differences:
                    print(f"    {row.number:3} {row.method} …{row.path[-70:]}: {difference}")
    print()
    for title, recent in (("sessions of 2024 and later", True), ("earlier sessions", False)):
        total(title, [row for each in done if each.session.recent is recent for row in each.rows])
    if chosen.json:
        kept = {
            each.session.name: {
                "recorded": each.session.day,
                "seconds": round(each.seconds, 1),
                "rows": [asdict(row) for row in each.rows],
            }
            for each in done
        }
        chosen.json.write_text(f"{json.dumps(kept, indent=1)}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
