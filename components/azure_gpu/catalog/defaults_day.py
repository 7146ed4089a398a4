"""The day of this version's defaults: images, drivers, GPUs of an environment.

A plan depends on the stack file and the version, not on the day on which it is made. A new day here may change defaults;
CHANGELOG.md describes what that changes in existing stacks. Whether a default is still available is checked as of the day of the
plan.
"""

from datetime import date

DAY = date(2026, 11, 25)


def chosen_at(as_of: date | None, today: date) -> date:
    """The day of the defaults: `as_of` of the settings, if set, else this version's."""
    return as_of or min(DAY, today)
