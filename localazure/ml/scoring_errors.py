"""Errors of an endpoint: a status, and a JSON body with the reason. Their statuses and sentences are rows of `codes.tsv`.

Statuses: Microsoft Learn, machine-learning/how-to-troubleshoot-online-endpoints, "HTTP status codes", of managed endpoints; those
of Kubernetes are here. But for the two codes of 401 the codes and the sentences aren't known.
"""

import json

from localazure import evidence

_OF_KUBERNETES = {"ScoreRequestTimeout": 504, "TooManyPendingRequests": 503}


class RefusedError(Exception):
    """A request that isn't answered by a container. `words`: those of its sentence."""

    def __init__(self, code: str, *, kubernetes: bool = False, **words: object) -> None:
        row = evidence.codes()["Scoring of Azure ML", code]
        self.code = code
        self.status = (kubernetes and _OF_KUBERNETES.get(code)) or int(row.status)
        self.message = row.message.format(**words)
        self.headers = ((b"www-authenticate", b"Bearer"),) if self.status == 401 else ()
        super().__init__(f"{self.status} {code}: {self.message}")

    def body(self) -> bytes:
        return json.dumps({"error": {"code": self.code, "message": self.message}}).encode()
