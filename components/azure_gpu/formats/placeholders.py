"""Finds placeholders, which somebody or another tool was to fill in: `<acrLoginServer>`, `${TAG}`, `$TAG`, `{{ image }}`."""

import re

_PLACEHOLDER = re.compile(
    r"\{\{(?:(?!\{\{).)*?\}\}"  # Jinja, Helm, Mustache; one that isn't closed ends at the next, so that many take no longer
    r"|\$\{[^{}]*\}"  # envsubst, Terraform
    r"|(?<!\S)\$[A-Za-z_][A-Za-z0-9_]*(?!\S)"  # envsubst without braces, where it is a word
    r"|\$\((?:[^()]|\([^()]*\))*\)"  # a shell's command, Azure Pipelines
    r"|#\{[^{}]*\}#"  # Replace Tokens of Azure Pipelines, Octopus
    r"|__[A-Z][A-Z0-9_]*__"
    r"|<[A-Za-z][^<>\n/]{0,60}>"
    r"|\[(?:your|insert|my)[ _-][^\[\]]*\]",
    re.IGNORECASE,
)


def find(text: str) -> str:
    """The first placeholder."""
    match = _PLACEHOLDER.search(text)
    return match[0] if match else ""
