"""Starts executions of jobs by their schedules.

In UTC, to the minute. What was missed while no server ran stays missed.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from azure_gpu.formats import azure_types, cron
from localazure.arm.store import Body, Resource, Store
from localazure.services import Services

LOOK_SECONDS = 1.0
_MINUTE = timedelta(minutes=1)
_MOST_MINUTES = 60  # looked back over at most, where the clock jumped
log = logging.getLogger(__name__)
Begin = Callable[[Resource, Body | None, Services], Body]


async def keep(services: Services, begin: Begin) -> None:
    """Starts what comes due, until it is cancelled."""
    last = services.clock.now()
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        now = services.clock.now()
        start_due(last, now, services, begin)
        last = now


def start_due(last: datetime, now: datetime, services: Services, begin: Begin) -> list[str]:
    """Starts each job that came due after `last`, once. Their names."""
    started: list[str] = []
    for job in due(last, now, services.store):
        try:
            begin(job, None, services)
            started.append(job.id.name)
        except Exception:
            log.exception("the scheduled job %s couldn't be started", job.id.text)
    return started


def due(last: datetime, now: datetime, store: Store) -> list[Resource]:
    """The jobs whose schedule names a minute that began after `last` and not after `now`."""
    minutes = _minutes(last, now)
    if not minutes:
        return []
    jobs = [job for job in store.of_type(azure_types.JOB.arm_type) if job.state == "Succeeded"]
    return [job for job in jobs if (text := _schedule(job)) and any(cron.matches(text, minute) for minute in minutes)]


def _schedule(job: Resource) -> str:
    configuration = job.properties["configuration"]
    if configuration["triggerType"] != "Schedule":
        return ""
    return str(configuration["scheduleTriggerConfig"]["cronExpression"])


def _minutes(last: datetime, now: datetime) -> list[datetime]:
    newest = now.replace(second=0, microsecond=0)
    minutes: list[datetime] = []
    while newest > last and len(minutes) < _MOST_MINUTES:
        minutes.append(newest)
        newest -= _MINUTE
    return minutes
