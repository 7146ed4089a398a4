"""Errors of an endpoint: a status, and a JSON body with the reason.

Statuses: Microsoft Learn, machine-learning/how-to-troubleshoot-online-endpoints, "HTTP status codes", of managed and of
Kubernetes online endpoints. The two codes of 401 were read in users' reports; the other codes and the sentences aren't known.
"""

import json

GUIDE = "https://aka.ms/oe-tsg#http-status-codes"


class RefusedError(Exception):
    """A request that isn't answered by a container."""

    def __init__(self, status: int, code: str, message: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers

    def body(self) -> bytes:
        return json.dumps({"error": {"code": self.code, "message": self.message}}).encode()


def bad_header() -> RefusedError:
    return RefusedError(
        401,
        "key_auth_bad_header_forbidden",
        f"The request needs the header 'Authorization: Bearer <key or token>'. Please check this guide: {GUIDE}",
        ((b"www-authenticate", b"Bearer"),),
    )


def access_denied(why: str) -> RefusedError:
    message = f"{why} Please check this guide: {GUIDE}"
    return RefusedError(401, "key_auth_access_denied", message, ((b"www-authenticate", b"Bearer"),))


def not_public(name: str) -> RefusedError:
    # That the service answers so, and not by a name that leads nowhere, is assumed.
    message = f"The endpoint '{name}' doesn't allow public network access. Please check this guide: {GUIDE}"
    return RefusedError(403, "PublicNetworkAccessDenied", message)


def no_endpoint(name: str) -> RefusedError:
    return RefusedError(404, "EndpointNotFound", f"There is no online endpoint '{name}' in this region.")


def no_traffic(name: str) -> RefusedError:
    message = f"The endpoint '{name}' has no deployment with traffic. Set its traffic, or name one with azureml-model-deployment."
    return RefusedError(404, "NoDeploymentWithTraffic", message)


def no_deployment(name: str, endpoint: str) -> RefusedError:
    return RefusedError(404, "DeploymentNotFound", f"The endpoint '{endpoint}' has no deployment '{name}'.")


def slow_body(why: str) -> RefusedError:
    return RefusedError(408, "RequestBodyTimeout", f"The request's body didn't arrive: {why}.")


def timed_out(seconds: float, *, kubernetes: bool) -> RefusedError:
    message = f"The deployment took longer than its request timeout of {seconds:g} seconds."
    return RefusedError(504 if kubernetes else 408, "ScoreRequestTimeout", message)


def too_large(limit: int) -> RefusedError:
    return RefusedError(413, "RequestTooLarge", f"The request's body is larger than {limit} bytes, the most that is taken.")


def no_memory(limit: int) -> RefusedError:
    message = f"The bodies of all requests under way have {limit} bytes, the most that are held at a time. Try again later."
    return RefusedError(503, "TooManyBytesPending", message)


def too_many(name: str, *, kubernetes: bool) -> RefusedError:
    message = (
        f"Too many requests are pending at the deployment '{name}': it takes twice what its instances may answer at a time "
        "(maxConcurrentRequestsPerInstance). Try again later."
    )
    return RefusedError(503 if kubernetes else 429, "TooManyPendingRequests", message)


def not_ready(name: str) -> RefusedError:
    return RefusedError(503, "DeploymentNotReady", f"No instance of the deployment '{name}' is ready.")


def lost(name: str) -> RefusedError:
    return RefusedError(502, "ContainerLost", f"The container of the deployment '{name}' ended before it had answered.")
