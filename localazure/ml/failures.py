"""Failures of deployments in the service's codes. They end the long operation, and the provisioning state is Failed.

Codes and what they mean: Microsoft Learn, machine-learning/how-to-troubleshoot-online-endpoints, read 2026-11-22. The sentences
about a crash and a quota are the service's own, from users' reports; the others are this project's.
"""

from localazure.arm.errors import ArmError

GUIDE = "Please see troubleshooting guide, available here: https://aka.ms/oe-tsg#error-"


def not_authorized(who: str, role: str, where: str, what: str) -> ArmError:
    message = (
        f"Startup task failed due to authorization error: {who} may not {what}. It needs the role {role} on {where}, and a role "
        "takes some minutes to hold."
    )
    return of("BadArgument", message)


def crashed(message: str, log: str) -> ArmError:
    shown = f" The last lines of its log:\n{log}" if log else " It has printed nothing."
    return of("ResourceNotReady", f"User container has crashed or terminated: {message}.", shown)


def never_ready(probe: str, message: str, log: str) -> ArmError:
    shown = f" The last lines of its log:\n{log}" if log else ""
    return of("ResourceNotReady", f"User container isn't ready: its {probe} probe failed: {message}.", shown)


def of(code: str, message: str, shown: str = "") -> ArmError:
    """`shown`: what follows the guide, such as lines of a log."""
    return ArmError(400, code, f"{message} {GUIDE}{code.lower()}.{shown}")
