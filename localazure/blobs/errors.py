"""Errors of blob storage in its own envelope: XML with a code that clients rely on.

Codes and messages: Microsoft Learn, rest/api/storageservices/common-rest-api-error-codes and blob-service-error-codes.
"""

from datetime import datetime
from xml.sax.saxutils import escape

from starlette.responses import Response

from localazure import evidence


class BlobError(Exception):
    """A refusal, raised anywhere below the front, which answers it."""

    def __init__(self, status: int, code: str, message: str, *, detail: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(f"{code}: {message}" + (f" {detail}" if detail else ""))
        self.status = status
        self.code = code
        self.message = message
        self.detail = detail  # what Azure tells beside the message where it could not authenticate a request
        self.headers = headers or {}

    def response(self, method: str, request_id: str, now: datetime) -> Response:
        headers = {"x-ms-error-code": self.code, **self.headers}
        if method == "HEAD":
            return Response(status_code=self.status, headers=headers)
        return Response(self.document(request_id, now), self.status, headers, media_type="application/xml")

    def document(self, request_id: str, now: datetime) -> str:
        told = f"{self.message}\nRequestId:{request_id}\nTime:{now:%Y-%m-%dT%H:%M:%S.%f}Z"
        detail = f"<AuthenticationErrorDetail>{_text(self.detail)}</AuthenticationErrorDetail>" if self.detail else ""
        return (
            f'<?xml version="1.0" encoding="utf-8"?><Error><Code>{_text(self.code)}</Code>'
            f"<Message>{_text(told)}</Message>{detail}</Error>"
        )


def blob_error(code: str, *, detail: str = "", headers: dict[str, str] | None = None, **words: str) -> BlobError:
    """A refusal with the status and the sentence of its row in `localazure/evidence/codes.tsv`."""
    row = evidence.codes()["Blob storage", code]
    return BlobError(int(row.status), code, row.message.format(**words), detail=detail, headers=headers)


def not_implemented(what: str) -> BlobError:
    """501: real blob storage may know `what`, the embedded one doesn't imitate it."""
    return BlobError(501, "NotImplemented", f"The embedded Azure does not implement {what}.")


def _text(text: str) -> str:
    """Text that XML can hold: without control characters, and whole characters alone."""
    plain = "".join(each if each in "\n\t" or (each >= " " and not 0xD800 <= ord(each) <= 0xDFFF) else "?" for each in text)
    return escape(plain.replace("\ufffe", "?").replace("\uffff", "?"))
