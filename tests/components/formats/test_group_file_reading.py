"""Container-group files as they are found: read into ARM's bodies, with what is wrong by file, line and path, and no secret."""

import json

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from azure_gpu.catalog.problems import Problem, Severity, errors
from azure_gpu.formats.container_group_file import GroupInFile, read
from azure_gpu.formats.container_group_settings import settings_of
from azure_gpu.formats.stack_file import SECRET
from tests.support.container_group_files import (
    EXPORTED_2018,
    FILES,
    GPU_TEMPLATE,
    GPU_YAML,
    PASSWORD,
    SIDECAR_2018,
    TEMPLATE_2021,
    VOLUMES_2019,
)
from tests.support.examples import examples
from tests.support.rows import each_row
from tests.support.tables import of_table


def taken(text: str, file: str = "f.yaml") -> GroupInFile:
    groups, problems = read(text, file)
    assert errors(problems) == []
    assert len(groups) == 1
    return groups[0]


def refused(text: str, file: str = "f.yaml") -> list[Problem]:
    found = errors(read(text, file)[1])
    assert found
    return found


def test_the_yaml_file_of_the_first_document() -> None:
    groups, problems = read(GPU_YAML, "gpu-deploy-aci.yaml")
    assert problems == []
    assert [group.name for group in groups] == ["gpucontainergroup"]
    assert {**groups[0].body, "additional_properties": {}} == yaml.safe_load(GPU_YAML)
    assert groups[0].secrets == ()
    assert groups[0].at("properties.osType") == "gpu-deploy-aci.yaml:16: properties.osType"


def test_the_template_of_the_first_document() -> None:
    groups, problems = read(GPU_TEMPLATE, "gpudeploy.json")
    assert problems == []
    assert [group.name for group in groups] == ["gpucontainergrouprm"]
    body = groups[0].body
    assert "location" not in body  # that of the resource group, which nobody knows here
    assert body["properties"]["containers"] == [
        {
            "name": "gpucontainer",
            "properties": {
                "image": "microsoft/samples-tf-mnist-demo:gpu",
                "resources": {"requests": {"cpu": 4, "memoryInGB": 12, "gpu": {"count": 1, "sku": "V100"}}},
            },
        }
    ]
    memory = "properties.containers[0].properties.resources.requests.memoryInGB"
    assert groups[0].at(memory) == f"gpudeploy.json:32: resources[0].{memory}"


@each_row("file", sorted(FILES))
def test_files_of_many_years_are_taken(file: str) -> None:
    groups, problems = read(FILES[file], file)
    assert errors(problems) == []
    for group in groups:
        assert group.name
        assert {"containers", "osType", "restartPolicy"} >= group.body["properties"].keys() & {"containers", "osType"}
        assert group.document.value is None


def test_spellings_that_arm_takes_become_its_own() -> None:
    group = taken(SIDECAR_2018)
    web = group.body["properties"]["containers"][0]["properties"]
    assert web["resources"]["requests"] == {"cpu": 1, "memoryInGB": 1.5}
    assert group.body["properties"]["ipAddress"]["ports"] == [{"port": 80, "protocol": "TCP"}]
    assert group.line_of("properties.containers[0].properties.resources.requests.memoryInGB") == 12


def test_letter_case_of_names_doesnt_matter() -> None:
    group = taken(
        GPU_YAML.replace("properties:", "Properties:").replace("containers:", "CONTAINERS:").replace("sku: K80", "SKU: k80")
    )
    assert group.body["properties"]["containers"][0]["properties"]["resources"]["requests"]["gpu"] == {"count": 1, "sku": "K80"}


def test_secrets_are_located_and_not_copied() -> None:
    group = taken(VOLUMES_2019)
    assert set(group.secrets) == {
        "properties.containers[0].properties.environmentVariables[1].secureValue",
        "properties.imageRegistryCredentials[0].password",
        "properties.diagnostics.logAnalytics.workspaceKey",
        "properties.volumes[0].azureFile.storageAccountKey",
        "properties.volumes[1].secret['client.pem']",
        "properties.volumes[1].secret['ca.pem']",
    }
    assert PASSWORD not in str(group)
    assert group.body["properties"]["imageRegistryCredentials"][0]["password"] == SECRET


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DB_PASSWORD", PASSWORD),
        ("apiKey", PASSWORD),
        ("DATABASE_URL", f"postgresql://app:{PASSWORD}@db:5432/app"),
        ("STORE", f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={PASSWORD}=="),
    ],
)
def test_what_reads_like_a_secret_is_taken_as_one(name: str, value: str) -> None:
    text = GPU_YAML.replace(
        "      resources:\n", f"      environmentVariables:\n      - name: {name}\n        value: '{value}'\n      resources:\n"
    )
    groups, problems = read(text, "f.yaml")
    variables = groups[0].body["properties"]["containers"][0]["properties"]["environmentVariables"]
    assert variables == [{"name": name, "secureValue": SECRET}]
    assert [(problem.severity, problem.path.split(":")[1]) for problem in problems] == [(Severity.WARNING, "11")]
    assert PASSWORD not in str(problems)


def test_a_password_in_a_command_or_an_address_is_no_part_of_the_body() -> None:
    text = VOLUMES_2019.replace("https://example.com/reports.git", f"https://me:{PASSWORD}@example.com/reports.git")
    text = text.replace(
        "      environmentVariables:\n", f"      command: [run, --password={PASSWORD}]\n      environmentVariables:\n"
    )
    groups, problems = read(text, "f.yaml")
    assert PASSWORD not in str(groups) + str(problems)
    assert {"properties.volumes[2].gitRepo.repository", "properties.containers[0].properties.command[1]"} <= set(
        groups[0].secrets
    )


@of_table("old", "new", "line", "said")
def test_what_is_wrong_is_said_with_its_line(old: str, new: str, line: int, said: str) -> None:
    assert old in GPU_YAML
    problems = refused(GPU_YAML.replace(old, new))
    told = [problem for problem in problems if said in problem.message]
    assert [problem.path.split(":")[:2] for problem in told] == [["f.yaml", str(line)]], problems


def test_a_property_at_the_wrong_place_is_sent_to_the_right_one() -> None:
    (problem,) = refused(GPU_YAML.replace("  - name: gpucontainer\n", "  - name: gpucontainer\n    command: [sleep, '1']\n"))
    assert problem.fix == "move it to properties.containers[].properties"


def test_all_problems_come_at_once_and_in_the_order_of_the_lines() -> None:
    text = GPU_YAML.replace("cpu: 1.0", "cpu: one").replace("osType: Linux", "osType: Lunix").replace("count: 1", "count: many")
    lines = [int(problem.path.split(":")[1]) for problem in refused(text)]
    assert lines == [11, 14, 16]


def test_names_that_are_there_twice() -> None:
    (problem,) = refused(SIDECAR_2018.replace("name: watcher", "name: web"))
    assert (problem.path, problem.value) == ("f.yaml:16: properties.containers[1].name", "web")


def test_an_unquoted_api_version_is_a_warning_and_understood() -> None:
    groups, problems = read(GPU_YAML.replace("'2018-10-01'", "2018-10-01"), "f.yaml")
    assert groups[0].body["apiVersion"] == "2018-10-01"
    assert [(problem.severity, problem.path) for problem in problems] == [(Severity.WARNING, "f.yaml:2: apiVersion")]


def test_a_number_for_text_is_taken_with_a_warning() -> None:
    text = SIDECAR_2018.replace("tags: null", "tags: {cost-centre: 4711}")
    groups, problems = read(text, "f.yaml")
    assert groups[0].body["tags"] == {"cost-centre": "4711"}
    assert {problem.severity for problem in problems} == {Severity.WARNING}


@pytest.mark.parametrize(("value", "severity"), [("${DB}", Severity.ERROR), ("host=${DB};port=1", Severity.WARNING)])
def test_a_placeholder_in_a_variable_may_be_the_programs_own(value: str, severity: Severity) -> None:
    text = GPU_YAML.replace(
        "      resources:\n", f"      environmentVariables: [{{name: A, value: '{value}'}}]\n      resources:\n"
    )
    (problem,) = read(text, "f.yaml")[1]
    assert (problem.severity, problem.path.split(":")[1]) == (severity, "9")
    assert "${DB} is a placeholder" in problem.message


@pytest.mark.parametrize("value", ["${API_KEY}", "$API_KEY", "<your key>"])
def test_a_placeholder_in_a_variable_that_is_a_secret_by_its_name_is_a_reminder(value: str) -> None:
    variables = f"      environmentVariables: [{{name: MY_API_KEY, value: '{value}'}}]\n      resources:\n"
    (group,), (problem,) = read(GPU_YAML.replace("      resources:\n", variables), "f.yaml")
    path = "properties.containers[0].properties.environmentVariables[0]"
    assert (problem.severity, problem.path) == (Severity.WARNING, f"f.yaml:9: {path}.value")
    assert "a placeholder stands here" in problem.message
    assert settings_of(group)[2] == ["secret_environment.MY_API_KEY"]


def test_a_key_that_nothing_reads_is_a_warning() -> None:
    # `az container create` asks for apiVersion, and takes its own default where that isn't there.
    (group,), problems = read(GPU_YAML.replace("apiVersion:", "api-version:"), "f.yaml")
    assert [(problem.severity, problem.path, problem.fix) for problem in problems] == [
        (Severity.WARNING, "f.yaml:2: api-version", "write apiVersion")
    ]
    assert "apiVersion" not in group.body


def test_an_unknown_property_without_a_value_says_nothing_and_is_a_warning() -> None:
    (problem,) = read(GPU_YAML.replace("  osType", "  nodeSelector: null\n  osType"), "f.yaml")[1]
    assert (problem.severity, problem.path) == (Severity.WARNING, "f.yaml:16: properties.nodeSelector")


def test_what_exports_have_since_2024_is_known() -> None:
    text = EXPORTED_2018.replace("location:", "extended_location: null\nlocation:").replace(
        "  provisioningState: Succeeded\n",
        "  isCreatedFromStandbyPool: false\n  isCustomProvisioningTimeout: false\n  provisioningTimeoutInSeconds: 1800\n",
    )
    text = text.replace("  - server: example", "  - isDelegatedIdentity: false\n    server: example")
    assert "isDelegatedIdentity" in text
    assert read(text, "f.yaml")[1] == []


def test_a_placeholder_for_a_secret_is_a_reminder() -> None:
    groups, problems = read(VOLUMES_2019.replace(f'"{PASSWORD}"', "<your-password>"), "f.yaml")
    assert [(problem.severity, problem.path) for problem in problems] == [
        (Severity.WARNING, "f.yaml:28: properties.imageRegistryCredentials[0].password")
    ]
    assert "properties.imageRegistryCredentials[0].password" in groups[0].secrets


@of_table("text", "said")
def test_what_is_no_container_group_is_called_what_it_is(text: str, said: str) -> None:
    groups, problems = read(text, "f")
    assert groups == []
    assert said in str(problems)


def test_nothing_of_a_file_that_is_no_group_is_shown() -> None:
    assert PASSWORD not in str(read(f"password: {PASSWORD}\n", "f.yaml")[1])


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_no_change_of_a_file_makes_it_raise(file: str, data: st.DataObject) -> None:
    lines = FILES[file].splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        change = data.draw(st.sampled_from(("drop", "double", "cut", "swap", "indent", "letters")))
        line = lines[at]
        if change == "drop":
            lines[at] = ""
        elif change == "double":
            lines[at] = line * 2
        elif change == "cut":
            lines[at] = line[: data.draw(st.integers(0, len(line)))]
        elif change == "swap":
            other = data.draw(st.integers(0, len(lines) - 1))
            lines[at], lines[other] = lines[other], lines[at]
        elif change == "indent":
            lines[at] = data.draw(st.sampled_from((" ", "\t", "  - "))) + line
        else:
            lines[at] = line.replace(data.draw(st.sampled_from(":'\"[]{},-")), data.draw(st.sampled_from(":'\"[]{},- x")))
    groups, problems = read("".join(lines), file)
    assert groups or problems
    json.dumps([group.body for group in groups])


SECRET_KEYS = ("secureValue", "password", "storageAccountKey", "workspaceKey")


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from(("volumes-2019.yaml", "template-2021.json")), st.data())
def test_no_secret_is_ever_told(file: str, data: st.DataObject) -> None:
    """Whatever else is wrong with the file: a line missing, a key misspelt, a value of another type."""
    lines = FILES[file].splitlines(keepends=True)
    at = data.draw(st.sampled_from([number for number, line in enumerate(lines) if PASSWORD not in line]))
    lines[at] = data.draw(st.sampled_from(("", lines[at] * 2, lines[at].replace(":", ": [x] #", 1), lines[at].upper())))
    text = "".join(lines)
    key = data.draw(st.sampled_from(SECRET_KEYS))
    text = text.replace(f"{key}:", f"{data.draw(st.sampled_from((key, key.upper(), key + 's', key[1:])))}:")
    groups, problems = read(text, file)
    assert PASSWORD not in str(groups) + str(problems)


def test_both_groups_of_a_template_are_found_and_the_rest_is_named() -> None:
    groups, problems = read(TEMPLATE_2021, "t.json")
    assert [group.name for group in groups] == ["night-train", "night-report"]
    assert [(problem.severity, problem.path) for problem in problems] == [(Severity.WARNING, "t.json:17: resources[0]")]
    assert "Microsoft.Storage/storageAccounts isn't taken" in problems[0].message
    assert PASSWORD not in str(groups)
