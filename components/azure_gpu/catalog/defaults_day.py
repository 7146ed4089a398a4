"""The day at which this version of the package chooses what nobody names: images, drivers, GPUs of an environment.

A plan follows from the stack file and the version, and not from the day on which it is made. Another day here may choose
otherwise: CHANGELOG.md tells what it changes of stacks that are up. Whether a choice can still be had is judged at the day of the
plan.
"""

from datetime import date

DAY = date(2026, 11, 25)


def chosen_at(as_of: date | None, today: date) -> date:
    """The day for defaults. `as_of`: what the settings give, which is then the day for everything."""
    return as_of or min(DAY, today)
