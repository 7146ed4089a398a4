"""Output of `query`, as text or JSON: for each file its highest scores, then latencies. Contains no key.

These forms of scores in an answer are understood: a list of numbers, a list of such lists, an object with one of them under a
usual name, an object of names and numbers, a list of objects with a name and a number, and each of them as a JSON string, from
scripts that call `json.dumps`. Percentiles are by nearest rank, so that each is a measured value.
"""

import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from azure_gpu_operations.query.inputs import Input
from azure_gpu_operations.query.refusals import Refusal, printable, refusal
from azure_gpu_operations.query.sending import Sent
from azure_gpu_operations.tables import Heading, of_rows, print_table

_HOLDERS = ("scores", "predictions", "probabilities", "outputs", "output", "result", "results", "prediction", "logits")
_NAMES = ("label", "class", "name", "category", "className", "class_name")
_NUMBERS = ("score", "probability", "confidence", "value")
_DEEPEST = 8


class Score(NamedTuple):
    label: str
    value: float


def score_rows(body: bytes, labels: Sequence[str] = ()) -> list[list[Score]]:
    """By image, each with the highest score first."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return []
    found = _score_rows(answer, labels, 0)
    return [sorted(row, key=lambda score: -score.value) for row in found or []]


def _score_rows(answer: Any, labels: Sequence[str], depth: int) -> list[list[Score]] | None:
    if depth > _DEEPEST:
        return None
    if isinstance(answer, str):
        try:
            return _score_rows(json.loads(answer), labels, depth + 1)
        except (ValueError, RecursionError):
            return None
    if isinstance(answer, Mapping):
        return _of_mapping(answer, labels, depth)
    if not isinstance(answer, list) or not answer:
        return None
    if all(_is_number(each) for each in answer):
        return [[Score(_label(index, labels), float(each)) for index, each in enumerate(answer)]]
    named = [_named(each) for each in answer]
    if all(named):
        return [[each for each in named if each is not None]]
    inner = [_score_rows(each, labels, depth + 1) for each in answer]
    if all(each is not None and len(each) == 1 for each in inner):
        return [row for each in inner if each is not None for row in each]
    return inner[0] if len(inner) == 1 else None


def _of_mapping(answer: Mapping[str, Any], labels: Sequence[str], depth: int) -> list[list[Score]] | None:
    for name in _HOLDERS:
        if name in answer:
            return _score_rows(answer[name], labels, depth + 1)
    if answer and all(_is_number(each) for each in answer.values()):
        return [[Score(str(name), float(value)) for name, value in answer.items()]]
    if len(answer) == 1:
        return _score_rows(next(iter(answer.values())), labels, depth + 1)
    return None


def _named(one: Any) -> Score | None:
    if not isinstance(one, Mapping):
        return None
    name = next((one[each] for each in _NAMES if each in one), None)
    number = next((one[each] for each in _NUMBERS if _is_number(one.get(each))), None)
    return Score(str(name), float(number)) if name is not None and number is not None else None


def _is_number(value: Any) -> bool:
    """A number in float's range: `json` also reads larger integers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _label(index: int, labels: Sequence[str]) -> str:
    return labels[index] if index < len(labels) else str(index)


PERCENTILES = (50, 90, 99)


class Latency(NamedTuple):
    """In seconds."""

    requests: int
    least: float
    p50: float
    p90: float
    p99: float
    most: float


def latency(seconds: Sequence[float]) -> Latency | None:
    """None without values."""
    if not seconds:
        return None
    ordered = sorted(seconds)
    p50, p90, p99 = (_rank(ordered, each) for each in PERCENTILES)
    return Latency(len(ordered), ordered[0], p50, p90, p99, ordered[-1])


def _rank(ordered: Sequence[float], percentile: int) -> float:
    return ordered[max(0, math.ceil(percentile / 100 * len(ordered)) - 1)]


_LONGEST_ANSWER = 400  # characters of an answer without scores
_BAR = 20  # columns of a score of 1


class Report(NamedTuple):
    """`sent` in the order in which the answers came."""

    endpoint: str  # its name; "" for a URL
    uri: str
    signed_with: str
    stack: str
    inputs: Sequence[Input]
    sent: Sequence[Sent]
    seconds: float  # of everything
    clients: int
    labels: Sequence[str] = ()
    top: int = 3

    @property
    def good(self) -> list[Sent]:
        return [one for one in self.sent if one.is_good]

    @property
    def timed(self) -> list[Sent]:
        """Answers for latencies: without those that opened a connection, unless there are no others."""
        kept = [one for one in self.good if not one.opened]
        return kept or self.good

    def first(self, index: int) -> Sent | None:
        """An input's first good answer, else its first."""
        own = [one for one in self.sent if one.input == index]
        return next((one for one in own if one.is_good), own[0] if own else None)

    def refusal(self, sent: Sent) -> Refusal:
        return refusal(sent, self.endpoint or "ENDPOINT", self.stack or "STACK")


def show(report: Report, console: Console) -> None:
    for index, one in enumerate(report.inputs):
        sent = report.first(index)
        if sent is not None:
            for line in _words(report, one, sent):
                console.print(line)
    _failures(report, console)
    if report.good:
        _latencies(report, console)
        _shares(report, console)


def _words(report: Report, one: Input, sent: Sent) -> Iterable[Text]:
    status = str(sent.status) if sent.status else "no answer"
    deployment = f", {printable(sent.deployment)}" if sent.deployment else ""
    yield Text(f"{one.name}: {status}{deployment}, {_ms(sent.seconds)}{_parts(sent)}", style="bold")
    if not sent.is_good:
        yield from (Text(line) for line in _refused(report.refusal(sent)))
        return
    rows = score_rows(sent.body, report.labels)
    if not rows:
        text = printable(sent.body[: 4 * _LONGEST_ANSWER].decode("utf-8", errors="replace"))
        yield Text(f"  {text[:_LONGEST_ANSWER]}")
    for number, row in enumerate(rows, start=1):
        if len(rows) > 1:
            yield Text(f"  {number} of {len(rows)}:")
        yield from (_line(score, row[: report.top]) for score in row[: report.top])


def _line(score: Score, shown: Sequence[Score]) -> Text:
    width = max(len(each.label) for each in shown)
    bar = "█" * round(_BAR * score.value) if 0 <= score.value <= 1 else ""
    return Text(f"  {printable(score.label):<{width}}  {score.value:.4f}  {bar}".rstrip())


def _parts(sent: Sent) -> str:
    if sent.server_seconds is None or sent.network_seconds is None:
        return ""
    opened = ", including a new connection" if sent.opened else ""
    return f" (server {_ms(sent.server_seconds)}, network {_ms(sent.network_seconds)}{opened})"


def _refused(found: Refusal) -> Iterable[str]:
    yield f"  {found.what}"
    if found.said:
        yield f"  server: {found.said}"
    yield f"  fix: {found.fix}"


def _failures(report: Report, console: Console) -> None:
    """Summary of the failures among many requests."""
    failed = [one for one in report.sent if not one.is_good]
    if len(report.sent) == len(report.inputs) or not failed:
        return
    kinds = Counter(one.status for one in failed)
    console.print(f"{len(failed)} of {len(report.sent)} requests weren't answered:")
    for status, count in kinds.most_common():
        found = report.refusal(next(one for one in failed if one.status == status))
        console.print(Text(f"  {count} x {status or 'no answer'}: {found.what}"))
        console.print(Text(f"    fix: {found.fix}"))


def _latencies(report: Report, console: Console) -> None:
    if len(report.good) < 2:
        return
    rows = [
        (name, str(found.requests), *map(_ms, (found.least, found.p50, found.p90, found.p99, found.most)))
        for name, found in _measured(report).items()
        if found is not None
    ]
    print_table(console, of_rows([Heading(each) for each in ("", "requests", "least", "p50", "p90", "p99", "most")], rows))
    rate = len(report.good) / report.seconds if report.seconds else 0.0
    opened = sum(1 for one in report.good if one.opened)
    left = f"; {opened} that opened a connection aren't included in the latencies" if len(report.timed) < len(report.good) else ""
    clients = "1 client" if report.clients == 1 else f"{report.clients} clients"
    console.print(f"{len(report.good)} answers in {report.seconds:.2f} s by {clients}: {rate:.1f} a second{left}")


def _measured(report: Report) -> dict[str, Latency | None]:
    timed = report.timed
    server = [one.server_seconds for one in timed if one.server_seconds is not None]
    network = [one.network_seconds for one in timed if one.network_seconds is not None]
    return {"in all": latency([one.seconds for one in timed]), "server": latency(server), "network": latency(network)}


def _shares(report: Report, console: Console) -> None:
    """The deployments that answered, if there are several."""
    found = Counter(one.deployment for one in report.good if one.deployment)
    if len(found) > 1:
        total = sum(found.values())
        shares = ", ".join(f"{printable(name)} {count} ({100 * count / total:.1f} %)" for name, count in found.most_common())
        console.print(Text(f"answered by {shares}"))


def as_json(report: Report) -> dict[str, Any]:
    measured = {name: found._asdict() if found else None for name, found in _measured(report).items()}
    return {
        "endpoint": report.endpoint or None,
        "uri": report.uri,
        "signed_with": report.signed_with or None,
        "requests": len(report.sent),
        "answered": len(report.good),
        "clients": report.clients,
        "seconds": report.seconds,
        "a_second": len(report.good) / report.seconds if report.seconds else None,
        "latency_seconds": {"all": measured["in all"], "server": measured["server"], "network": measured["network"]},
        "deployments": dict(Counter(one.deployment for one in report.good if one.deployment)),
        "statuses": {str(status): count for status, count in sorted(Counter(one.status for one in report.sent).items())},
        "answers": [_answer(report, index, one) for index, one in enumerate(report.inputs)],
    }


def _answer(report: Report, index: int, one: Input) -> dict[str, Any]:
    sent = report.first(index)
    if sent is None:
        return {"file": one.name, "status": None}
    found = report.refusal(sent) if not sent.is_good else None
    return {
        "file": one.name,
        "status": sent.status or None,
        "deployment": sent.deployment or None,
        "seconds": sent.seconds,
        "server_seconds": sent.server_seconds,
        "network_seconds": sent.network_seconds,
        "answer": _decoded(sent.body) if found is None else None,
        "scores": [[score._asdict() for score in row[: report.top]] for row in score_rows(sent.body, report.labels)]
        if found is None
        else [],
        "error": found._asdict() if found else None,
    }


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body.decode("utf-8", errors="replace")


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"
