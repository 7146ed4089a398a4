"""What `import` says of a group whose parts don't fit each other: the same that the program would say of what is pasted."""

import pytest

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.formats.container_group_file import read
from azure_gpu_operations.importing.judging import check_wiring
from tests.support.container_group_files import PROBES_2021, SIDECAR_2018, VOLUMES_2019, WINDOWS_2020


def found(text: str) -> list[Problem]:
    groups, problems = read(text, "f.yaml")
    assert errors(problems) == []
    return list(check_wiring(groups[0]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            VOLUMES_2019.replace("name: out\n        mount", "name: output\n        mount"),
            "f.yaml:18: properties.containers[0].properties.volumeMounts[0].name: the group has no volume of this name",
        ),
        (
            VOLUMES_2019.replace("mountPath: /code", "mountPath: /out/"),
            "f.yaml:24: properties.containers[0].properties.volumeMounts[2].mountPath: two volumes are mounted in the same",
        ),
        (
            VOLUMES_2019.replace("mountPath: /code", "mountPath: ./code"),
            "f.yaml:24: properties.containers[0].properties.volumeMounts[2].mountPath: a volume can't be mounted here",
        ),
        (
            VOLUMES_2019.replace("server: example", "server: https://example"),
            "f.yaml:26: properties.imageRegistryCredentials[0].server: not a host name of a registry; "
            "given: 'https://example.azurecr.io'; allowed: a host name, such as ghcr.io or index.docker.io; "
            "fix: write example.azurecr.io",
        ),
        (
            VOLUMES_2019.replace("    username: example\n", ""),
            "f.yaml:26: properties.imageRegistryCredentials[0]: the name to log in with is missing",
        ),
        (
            SIDECAR_2018.replace("port: '80'", "port: '8080'"),
            "f.yaml:29: properties.ipAddress.ports[0].port: no container opens this port, so nothing answers there; given: 8080",
        ),
        (
            SIDECAR_2018.replace("      command:", "      ports: [{port: 80}]\n      command:"),
            "f.yaml:19: properties.containers[1].properties.ports[0].port: two containers can't open one port",
        ),
        (
            SIDECAR_2018.replace("shop-front", "shop"),
            "f.yaml:30: properties.ipAddress.dnsNameLabel: not a valid name for",
        ),
        (
            PROBES_2021.replace("        periodSeconds: 20\n", "        exec: {command: [a]}\n        periodSeconds: 20\n"),
            "f.yaml:26: properties.containers[0].properties.livenessProbe: a probe is exactly one of exec and httpGet",
        ),
        (
            PROBES_2021.replace("path: /alive", "path: alive"),
            "f.yaml:28: properties.containers[0].properties.livenessProbe.httpGet.path: the path of a request starts with",
        ),
        (
            PROBES_2021.replace("name: MODEL", "name: MODEL.NAME"),
            "f.yaml:17: properties.initContainers[1].properties.environmentVariables[0].name: not a valid name of an",
        ),
        (
            WINDOWS_2020.replace("protocol: TCP}]", "protocol: TCP}, {port: 70000}]"),
            "f.yaml:9: properties.containers[0].properties.ports[1].port: not a valid port; given: 70000",
        ),
    ],
)
def test_parts_that_dont_fit_are_refused_by_line(text: str, said: str) -> None:
    (problem,) = errors(found(text))
    assert str(problem).startswith(said)


def test_what_has_to_be_added_is_announced() -> None:
    text = SIDECAR_2018.replace("type: Public", "type: Private").replace("    dnsNameLabel: shop-front\n", "")
    (problem,) = found(text)
    assert errors([problem]) == []
    assert str(problem).startswith("f.yaml:26: properties.ipAddress.type: a private group lies in a subnet, and the file names")
    (problem,) = found(VOLUMES_2019.replace("      - name: code\n        mountPath: /code\n", ""))
    assert str(problem).startswith("f.yaml:43: properties.volumes[2].name: no container mounts this volume")
