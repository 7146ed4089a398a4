"""Explains a container group, or a job of Container Apps. Pure."""

from azure_gpu_operations.explain import container_rules, refusal_rules, table
from azure_gpu_operations.explain.facts import Facts, Finding

_STARTING = frozenset({"Pending", "Creating", "Processing", "InProgress", "Waiting", "Unknown", ""})


def explain(facts: Facts) -> Finding:
    details = (detail for container in facts.containers for detail in container.details)
    values = {
        "is_starting": facts.state in _STARTING and facts.provisioning != "Failed",
        "known_state": facts.state or facts.provisioning or "unknown",
        "last_sentences": facts.sentences[-3:],
        "all_said": [*facts.sentences, *details][-5:],
        "first_container": facts.containers[0].name if facts.containers else "",
    }
    rules: dict[str, table.Rule] = {
        "refused": refusal_rules.specific,
        "not_there": _not_there,
        "containers": container_rules.first,
        "other": refusal_rules.other,
    }
    return table.explain_surely("group or job", facts, rules, values)


def _not_there(facts: Facts) -> Finding | None:
    return None if facts.exists else refusal_rules.other(facts) or refusal_rules.not_there(facts.kind.value)
