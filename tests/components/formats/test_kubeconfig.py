"""Kubeconfigs: the context that is meant, the ways to log in, and texts that are none, of which nothing is told."""

import pytest
import yaml

from azure_gpu.formats import kubeconfig
from azure_gpu.formats.kubeconfig import KubeconfigError
from tests.support.tables import of_table

WHOLE = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "edge",
    "contexts": [
        {"name": "edge", "context": {"cluster": "device", "user": "me", "namespace": "work"}},
        {"name": "other", "context": {"cluster": "device", "user": "by-command"}},
    ],
    "clusters": [{"name": "device", "cluster": {"server": "https://10.0.0.4:6443", "certificate-authority-data": "QUE="}}],
    "users": [
        {"name": "me", "user": {"client-certificate-data": "Q0M=", "client-key-data": "S0s="}},
        {
            "name": "by-command",
            "user": {
                "exec": {
                    "apiVersion": "client.authentication.k8s.io/v1beta1",
                    "command": "kubelogin",
                    "args": ["get-token", "--login", "spn"],
                    "env": [{"name": "AZURE_AUTHORITY_HOST", "value": "https://login.microsoftonline.com/"}],
                }
            },
        },
    ],
}


def test_the_current_context_is_read_with_its_certificates() -> None:
    found = kubeconfig.read(yaml.safe_dump(WHOLE))
    assert (found.context, found.server, found.namespace) == ("edge", "https://10.0.0.4:6443", "work")
    assert (found.authority, found.certificate, found.key) == ("QUE=", "Q0M=", "S0s=")
    assert found.exec is None


def test_another_context_is_read_by_its_name_with_the_command_that_logs_in() -> None:
    found = kubeconfig.read(yaml.safe_dump(WHOLE), "other")
    assert found.exec is not None
    assert found.exec.command == "kubelogin"
    assert found.exec.args == ("get-token", "--login", "spn")
    assert found.exec.environment == {"AZURE_AUTHORITY_HOST": "https://login.microsoftonline.com/"}


@of_table("changed", "message")
def test_what_is_missing_is_said(changed: dict[str, object], message: str) -> None:
    with pytest.raises(KubeconfigError, match=message):
        kubeconfig.read(yaml.safe_dump({**WHOLE, **changed}))


@pytest.mark.parametrize("text", ["", "a secret that is no kubeconfig", "{a: [", "- 1", "\t:", "[" * 5000])
def test_a_text_that_is_none_is_refused_without_a_word_of_it(text: str) -> None:
    with pytest.raises(KubeconfigError) as refused:
        kubeconfig.read(text)
    assert "secret" not in str(refused.value)
