"""The date at which a request is validated: the tag `as-of` on the resource, else on its group, else the server's date.

The body's tags count before the stored ones, so that a change of the tag holds for the request that brings it.
"""

from datetime import date

from azure_gpu.formats import dates, tags
from localazure.arm.errors import ArmError
from localazure.arm.store import Body, Resource
from localazure.services import Clock


def request_date(body: Body | None, stored: Resource | None, group: Resource | None, clock: Clock) -> date:
    """The date for a request with `body` about `stored` in `group`; each may be None. ArmError 400 for an invalid tag."""
    sent = body.get("tags") if body else None
    for given in (sent if isinstance(sent, dict) else None, stored.tags if stored else None, group.tags if group else None):
        # Azure compares tag keys without regard to letter case.
        value = next((value for key, value in (given or {}).items() if key.lower() == tags.AS_OF), None)
        if value is not None:
            return _date(value)
    return clock.as_of


def _date(value: object) -> date:
    day = dates.parse_day(value) if isinstance(value, str) else None
    if day is None:
        raise ArmError(
            400,
            "InvalidTagValue",
            f"The tag '{tags.AS_OF}' has the value '{value}', which is not {dates.SPELLING}. "
            "The embedded Azure validates this resource at that date.",
            target=f"tags.{tags.AS_OF}",
        )
    return day
