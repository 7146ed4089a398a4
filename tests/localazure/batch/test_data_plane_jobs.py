"""Jobs and tasks over HTTP: what is answered, what is refused and by which code."""

from tests.localazure.batch.data_plane import VERSION, Account, code
from tests.support.embedded import until

UNLIMITED = "P10675199DT2H48M5.4775807S"


class TestJobs:
    def test_a_job_is_answered_with_the_service_s_defaults(self, account: Account) -> None:
        answer = account.post("jobs", {"id": "Job", "poolInfo": {"poolId": "P"}, "metadata": [{"name": "a", "value": "b"}]})
        assert answer.status_code == 201
        assert answer.headers["location"] == answer.headers["dataserviceid"] == f"{account.url}/jobs/Job"
        job = account.get("jobs/job").json()
        assert answer.headers["etag"] == job["eTag"]
        assert {name: job[name] for name in ("id", "url", "state", "priority", "maxParallelTasks")} == {
            "id": "Job",
            "url": f"{account.url}/jobs/Job",
            "state": "active",
            "priority": 0,
            "maxParallelTasks": -1,
        }
        assert job["constraints"] == {"maxWallClockTime": UNLIMITED, "maxTaskRetryCount": 0}
        assert job["usesTaskDependencies"] is False
        assert (job["onAllTasksComplete"], job["onTaskFailure"]) == ("noaction", "noaction")
        assert job["executionInfo"] == {"startTime": job["creationTime"], "poolId": "P"}

    def test_a_body_that_is_no_json_is_refused(self, account: Account) -> None:
        for content in (b"", b"{", b'{"id": NaN}', b'{"id": "\\ud800"}', b"[" * 100_000, b"\xff"):
            answer = account.client.post(f"/batch/{account.name}/jobs", params={"api-version": VERSION}, content=content)
            assert (answer.status_code, code(answer)) == (400, "InvalidRequestBody"), content[:20]

    def test_a_body_over_the_limit_is_refused_in_the_words_that_clients_wait_for(self, account: Account) -> None:
        account.add_job("big")
        body = {"value": [{"id": f"t{number}", "commandLine": "x" * 30_000} for number in range(50)]}
        answer = account.post("jobs/big/addtaskcollection", body)
        assert (answer.status_code, code(answer)) == (413, "RequestBodyTooLarge")

    def test_conditions_on_the_version_are_kept(self, account: Account) -> None:
        account.add_job("job")
        tag = account.get("jobs/job").json()["eTag"]
        changed = account.request("PATCH", "jobs/job", {"priority": 5}, headers={"If-Match": tag})
        assert changed.status_code == 200
        assert changed.headers["etag"] != tag
        stale = account.request("PATCH", "jobs/job", {"priority": 6}, headers={"If-Match": tag})
        assert (stale.status_code, code(stale)) == (412, "ConditionNotMet")
        assert account.get("jobs/job").json()["priority"] == 5

    def test_a_change_of_some_properties_leaves_the_others(self, account: Account) -> None:
        account.add_job("job", priority=3, metadata=[{"name": "a", "value": "b"}])
        assert account.request("PATCH", "jobs/job", {"maxParallelTasks": 2}).status_code == 200
        job = account.get("jobs/job").json()
        assert (job["priority"], job["maxParallelTasks"], job["metadata"]) == (3, 2, [{"name": "a", "value": "b"}])
        assert account.request("PUT", "jobs/job", {"poolInfo": {"poolId": "none"}}).status_code == 200
        job = account.get("jobs/job").json()
        assert (job["priority"], job["maxParallelTasks"]) == (0, -1)
        assert "metadata" not in job

    def test_a_job_is_terminated_and_deleted(self, account: Account) -> None:
        account.add_job("job")

        def state() -> str:
            return account.get("jobs/job").json()["state"]

        assert account.post("jobs/job/terminate", {"terminateReason": "enough"}).status_code == 202
        until(lambda: state() == "completed", "the job is completed")
        job = account.get("jobs/job").json()
        assert job["executionInfo"]["terminateReason"] == "enough"
        assert job["previousState"] == "terminating"
        for path, body in (("terminate", None), ("tasks", {"id": "t", "commandLine": "true"})):
            answer = account.post(f"jobs/job/{path}", body)
            assert (answer.status_code, code(answer)) == (409, "JobCompleted"), path
        assert account.request("DELETE", "jobs/job").status_code == 202
        until(lambda: account.get("jobs/job").status_code == 404, "the job is gone")


class TestTasks:
    def test_a_task_is_answered_with_the_service_s_defaults(self, account: Account) -> None:
        account.add_job("job")
        answer = account.post("jobs/job/tasks", {"id": "Task", "commandLine": "/bin/true"})
        assert answer.status_code == 201
        assert answer.headers["location"] == f"{account.url}/jobs/job/tasks/Task"
        task = account.get("jobs/job/tasks/task").json()
        assert (task["id"], task["state"], task["requiredSlots"]) == ("Task", "active", 1)
        assert task["constraints"] == {"maxWallClockTime": UNLIMITED, "retentionTime": "P7D", "maxTaskRetryCount": 0}
        assert task["executionInfo"] == {"retryCount": 0, "requeueCount": 0}
        assert "nodeInfo" not in task

    def test_each_task_of_a_collection_has_its_own_result(self, account: Account) -> None:
        account.add_job("job")
        account.add_tasks("job", "there")
        bodies = [
            {"id": "good", "commandLine": "/bin/true"},
            {"id": "there", "commandLine": "/bin/true"},
            {"id": "no/good", "commandLine": "/bin/true"},
            {"id": "nothing"},
            {"id": "later", "commandLine": "/bin/true", "dependsOn": {"taskIds": ["good"]}},
            {"id": "token", "commandLine": "/bin/true", "authenticationTokenSettings": {"access": ["job"]}},
            17,
        ]
        answer = account.post("jobs/job/addtaskcollection", {"value": bodies})
        assert answer.status_code == 200
        results = answer.json()["value"]
        assert [(each["taskId"], each["status"], each.get("error", {}).get("code")) for each in results] == [
            ("good", "success", None),
            ("there", "clienterror", "TaskExists"),
            ("no/good", "clienterror", "InvalidPropertyValue"),
            ("nothing", "clienterror", "MissingRequiredProperty"),
            ("later", "clienterror", "TaskDependenciesNotSpecifiedOnJob"),
            ("token", "clienterror", "NotImplemented"),
            ("", "clienterror", "InvalidRequestBody"),
        ]
        assert results[0]["location"] == f"{account.url}/jobs/job/tasks/good"
        assert [task["id"] for task in account.get("jobs/job/tasks").json()["value"]] == ["good", "there"]

    def test_no_more_than_a_hundred_tasks_come_together(self, account: Account) -> None:
        account.add_job("job")
        bodies = [{"id": f"t{number}", "commandLine": "true"} for number in range(101)]
        answer = account.post("jobs/job/addtaskcollection", {"value": bodies})
        assert (answer.status_code, code(answer)) == (400, "InvalidPropertyValue")
        assert account.get("jobs/job/tasks").json()["value"] == []

    def test_a_long_list_comes_in_pages_that_link_to_the_next(self, account: Account) -> None:
        account.add_job("job")
        names = [f"task-{number:03}" for number in range(25)]
        account.add_tasks("job", *names)
        found: list[str] = []
        query = {"maxresults": "10", "$select": "id,state", "$filter": "startswith(id, 'task-0')", "api-version": VERSION}
        answer = account.client.get(f"/batch/{account.name}/jobs/job/tasks", params=query)
        for _ in range(5):
            page = answer.json()
            assert all(set(task) == {"id", "state"} for task in page["value"])
            found += [task["id"] for task in page["value"]]
            if "odata.nextLink" not in page:
                break
            assert page["odata.nextLink"].startswith(f"{account.url}/jobs/job/tasks?")
            answer = account.client.get(page["odata.nextLink"])
        assert found == names

    def test_a_waiting_task_is_terminated(self, account: Account) -> None:
        account.add_job("job")
        account.add_tasks("job", "t")
        assert account.post("jobs/job/tasks/t/terminate").status_code == 204
        task = account.get("jobs/job/tasks/t").json()
        assert task["state"] == "completed"
        assert task["executionInfo"]["result"] == "failure"
        assert task["executionInfo"]["failureInfo"]["code"] == "TaskEnded"

    def test_a_deleted_task_is_gone(self, account: Account) -> None:
        account.add_job("job")
        account.add_tasks("job", "t")
        assert account.request("DELETE", "jobs/job/tasks/t").status_code == 200
        assert code(account.get("jobs/job/tasks/t")) == "TaskNotFound"

    def test_passwords_are_taken_and_never_answered(self, account: Account) -> None:
        account.add_job("job")
        registry = {"registryServer": "example.azurecr.io", "username": "me", "password": "hunter2"}
        account.add_tasks("job", "t", containerSettings={"imageName": "example.azurecr.io/x", "registry": registry})
        answer = account.get("jobs/job/tasks/t")
        assert answer.json()["containerSettings"]["registry"] == {"registryServer": "example.azurecr.io", "username": "me"}
        assert "hunter2" not in account.get("jobs/job/tasks").text


class TestPaths:
    def test_ids_of_the_request_are_told(self, account: Account) -> None:
        headers = {"client-request-id": "11111111-2222-3333-4444-555555555555", "return-client-request-id": "true"}
        answer = account.request("GET", "jobs", headers=headers)
        assert answer.headers["client-request-id"] == headers["client-request-id"]
        assert len(answer.headers["request-id"]) == 36
        assert "client-request-id" not in account.request("GET", "jobs").headers
