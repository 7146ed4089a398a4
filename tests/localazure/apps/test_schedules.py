"""Scheduled jobs: which moments a schedule names, and what a clock that is set by the test starts."""

from datetime import UTC, datetime, timedelta
from typing import Any

from azure_gpu.formats import cron
from localazure.apps import schedule
from localazure.arm.store import Body, Resource, Store
from tests.localazure.parts import arm_id
from tests.support.tables import of_table


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@of_table("text", "moment", "named")
def test_a_schedule_names_its_moments(text: str, moment: str, named: bool) -> None:
    assert cron.fault(text) is None
    assert cron.matches(text, at(moment)) is named


def put(store: Store, name: str, trigger: str, state: str = "Succeeded", **config: Any) -> None:
    job = arm_id(f"/subscriptions/s/resourceGroups/g/providers/Microsoft.App/jobs/{name}")
    configuration: Body = {"triggerType": trigger, **config}
    store.put(Resource(id=job, body={"properties": {"configuration": configuration}}, state=state))


def names(last: str, now: str, store: Store) -> list[str]:
    return [job.id.name for job in schedule.due(at(last), at(now), store)]


def test_a_job_comes_due_once_a_minute_that_its_schedule_names(store: Store) -> None:
    every: Body = {"scheduleTriggerConfig": {"cronExpression": "*/5 * * * *"}}
    put(store, "five", "Schedule", **every)
    put(store, "manual", "Manual")
    put(store, "half-made", "Schedule", state="Creating", **every)
    assert names("2026-11-21T10:04:59", "2026-11-21T10:05:00", store) == ["five"]
    assert names("2026-11-21T10:05:00", "2026-11-21T10:05:01", store) == []
    assert names("2026-11-21T10:05:01", "2026-11-21T10:09:59", store) == []
    assert names("2026-11-21T10:04:00", "2026-11-21T10:20:00", store) == ["five"]  # a clock that jumped starts it once


def test_what_comes_due_is_started_and_one_that_fails_keeps_no_other_from_it(store: Store) -> None:
    for name in ("bad", "good"):
        put(store, name, "Schedule", scheduleTriggerConfig={"cronExpression": "* * * * *"})
    begun: list[str] = []

    def begin(job: Resource, template: Body | None, services: Any) -> Body:
        assert template is None
        if job.id.name == "bad":
            raise ValueError("it can't")
        begun.append(job.id.name)
        return {}

    class Services:
        store: Store

    services: Any = Services()
    services.store = store
    now = at("2026-11-21T10:05:00")
    assert schedule.start_due(now - timedelta(seconds=1), now, services, begin) == ["good"]
    assert begun == ["good"]
