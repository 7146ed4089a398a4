"""Kubeconfigs: which cluster and which user they mean, and what is said of one that leads nowhere."""

import textwrap

import pytest

from azure_gpu_operations.clusters.kubeconfig import KubeconfigError, read, single_context

TWO = textwrap.dedent("""
    apiVersion: v1
    kind: Config
    current-context: here
    clusters:
    - {name: a, cluster: {server: "https://a:443", certificate-authority-data: QUJD}}
    - {name: b, cluster: {server: "https://b:443"}}
    users:
    - {name: me, user: {client-certificate-data: QUJD, client-key-data: QUJD}}
    - {name: kubelogin, user: {exec: {command: kubelogin}}}
    contexts:
    - {name: here, context: {cluster: a, user: me, namespace: jobs}}
    - {name: there, context: {cluster: b, user: kubelogin}}
    - {name: nowhere, context: {cluster: gone, user: me}}
""")


def test_the_current_context_is_meant_where_none_is_named() -> None:
    found = read(TWO)
    assert (found.server, found.context, found.namespace, found.has_credentials) == ("https://a:443", "here", "jobs", True)


def test_a_user_that_a_program_signs_in_has_no_credentials_of_its_own() -> None:
    found = read(TWO, "there")
    assert (found.server, found.has_credentials) == ("https://b:443", False)


def test_one_context_alone_keeps_its_cluster_and_may_get_another_user() -> None:
    made = single_context(read(TWO), user={})
    assert made["clusters"][0]["cluster"]["certificate-authority-data"] == "QUJD"
    assert made["users"] == [{"name": "user", "user": {}}]


@pytest.mark.parametrize(
    ("text", "context", "said"),
    [
        (
            "a: [",
            "",
            "it can't be read: line 1: this is not YAML: expected the node content; correct this line or the one before it",
        ),
        ("just words", "", "not a kubeconfig: it has no list `clusters`"),
        (TWO, "elsewhere", "it has no context 'elsewhere'; it has here, nowhere, there"),
        (TWO, "nowhere", "it has no cluster 'gone'; it has a, b"),
        (TWO.replace("current-context: here", ""), "", "it has no current context; choose one of here, nowhere, there"),
        (TWO.replace("https://a:443", "a:443"), "", "the cluster of its context here has no address"),
    ],
    ids=["no YAML", "no kubeconfig", "unknown context", "unknown cluster", "no context", "no address"],
)
def test_a_kubeconfig_that_leads_nowhere_is_named(text: str, context: str, said: str) -> None:
    with pytest.raises(KubeconfigError) as refused:
        read(text, context)
    assert str(refused.value) == said
