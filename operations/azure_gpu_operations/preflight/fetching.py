"""Reads several lists at once; each yields an `Outcome` with its value or the reason why it is missing.

Waits as long as ARM asks when it throttles, within the time limit. Failures of Azure or the network raise nothing.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from azure.core.credentials import AccessToken, TokenCredential
from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError
from azure.core.pipeline.policies import RetryPolicy
from requests.exceptions import RequestException

from azure_gpu_operations.azure import not_signed_in

LIMIT_SECONDS = 60.0  # for all lists together, as they are read at once
TOKEN_MARGIN_SECONDS = 300
_AGAIN = (429, 500, 502, 503, 504)
_MOST_ATTEMPTS = 4  # if ARM sends no Retry-After
_LONGEST_REASON = 300  # characters

Value = TypeVar("Value")
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Value]):
    """The result of one list: a value, or why it is missing."""

    value: Value | None = None
    missing: str = ""
    seconds: float = 0.0


class SharedCredential:
    """One login for all threads: the first that needs a token gets it, the others wait. A login that fails, fails for all."""

    def __init__(self, credential: TokenCredential) -> None:
        self._credential = credential
        self._lock = threading.Lock()
        self._tokens: dict[tuple[str, ...], AccessToken] = {}
        self._failed: ClientAuthenticationError | None = None

    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        with self._lock:
            if self._failed is not None:
                raise self._failed
            held = None if options.get("claims") else self._tokens.get(scopes)
            if held is None or held.expires_on - time.time() < TOKEN_MARGIN_SECONDS:
                try:
                    held = self._credential.get_token(*scopes, **options)
                except ClientAuthenticationError as error:
                    self._failed = error
                    raise
                self._tokens[scopes] = held
            return held


def retries() -> RetryPolicy:
    """For the clients of these lists: lost connections are tried again at once, statuses are left to `fetch`."""
    return RetryPolicy(retry_status=0, retry_total=2, timeout=int(LIMIT_SECONDS))


def fetch(
    readers: Mapping[Key, Callable[[], Any]],
    *,
    limit_seconds: float = LIMIT_SECONDS,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[Key, Outcome[Any]]:
    """Reads every list at once, each in a separate thread, within the time limit."""
    deadline = time.monotonic() + limit_seconds
    found: dict[Key, Outcome[Any]] = {}

    def run(key: Key, read: Callable[[], Any]) -> None:
        found[key] = _read(read, deadline, sleep)

    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in readers.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    late: Outcome[Any] = Outcome(missing=f"no answer within {limit_seconds:g} seconds", seconds=limit_seconds)
    return {key: found.get(key, late) for key in readers}


def _read(read: Callable[[], Any], deadline: float, sleep: Callable[[float], None]) -> Outcome[Any]:
    began = time.monotonic()
    attempt = 0
    while True:
        attempt += 1
        try:
            return Outcome(read(), seconds=time.monotonic() - began)
        except HttpResponseError as error:
            wait = _wait(error, attempt)
            if wait is None or time.monotonic() + wait >= deadline:
                return Outcome(missing=why(error, wait), seconds=time.monotonic() - began)
            sleep(wait)
        except (AzureError, RequestException, OSError) as error:
            return Outcome(missing=f"Azure is unreachable: {_short(error)}", seconds=time.monotonic() - began)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return Outcome(missing=f"unexpected answer: {_short(error)}", seconds=time.monotonic() - began)


def _wait(error: HttpResponseError, attempt: int) -> float | None:
    """Seconds until the next attempt: `Retry-After`, else the number of attempts. None: no retry."""
    if isinstance(error, ClientAuthenticationError) or error.status_code not in _AGAIN:
        return None
    headers: Mapping[str, str] = getattr(error.response, "headers", {})
    given = headers.get("Retry-After", "")
    if given.isdecimal():
        return float(given)
    return float(attempt) if attempt < _MOST_ATTEMPTS else None


def why(error: HttpResponseError, wait: float | None = None) -> str:
    """Why a list is missing, in a line for people."""
    if isinstance(error, ClientAuthenticationError) or error.status_code == 401:
        return not_signed_in(error)
    code = error.error.code if error.error is not None and getattr(error.error, "code", None) else f"HTTP {error.status_code}"
    if error.status_code == 429:
        hint = f"; retry after {wait:g} seconds" if wait is not None else ""
        return f"Azure throttled the requests{hint}: run it again later"
    if error.status_code == 403:
        return f"this login has no right to read it; it requires the role Reader ({code})"
    if code == "MissingSubscriptionRegistration":
        return f"the subscription isn't registered for its resource provider ({code})"
    return f"Azure answered {code}: {_short(error)}"


def _short(error: Exception) -> str:
    """The first line of a message, which for some clients is a page."""
    text = getattr(error, "message", "") or str(error) or type(error).__name__
    return text.strip().splitlines()[0][:_LONGEST_REASON]
