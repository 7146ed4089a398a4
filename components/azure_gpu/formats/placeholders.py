"""Finds placeholders, which somebody or another tool was to fill in: `<acrLoginServer>`, `${TAG}`, `$TAG`, `{{ image }}`.

`quoted` puts those that neither YAML nor JSON takes as a value into quotes, so that a reader sees and reports them: to YAML
`#{TAG}#` is a comment, and `@TAG@` a mistake.
"""

import re

_PLACEHOLDER = re.compile(
    r"\{\{(?:(?!\{\{).)*?\}\}"  # Jinja, Helm, Mustache; one that isn't closed ends at the next, so that many take no longer
    r"|\$\{[^{}]*\}"  # envsubst, Terraform
    r"|(?<!\S)\$[A-Za-z_][A-Za-z0-9_]*(?!\S)"  # envsubst without braces, where it is a word
    r"|\$\((?:[^()]|\([^()]*\))*\)"  # a shell's command, Azure Pipelines
    r"|#\{[^{}]*\}#"  # Replace Tokens of Azure Pipelines, Octopus
    r"|__[A-Z][A-Z0-9_]*__"
    r"|<[A-Za-z][^<>\n/]{0,60}>"
    r"|(?<!\S)@[A-Z][A-Z0-9_]*@(?!\S)|(?<!\S)%[A-Z][A-Z0-9_]*%(?!\S)"
    r"|\[(?:your|insert|my)[ _-][^\[\]]*\]",
    re.IGNORECASE,
)


def find(text: str) -> str:
    """The first placeholder."""
    match = _PLACEHOLDER.search(text)
    return match[0] if match else ""


_BARE = r"#\{[^{}\n]*\}#|@[A-Za-z]\w*@|%[A-Za-z]\w*%"
_BARE_IN_YAML = re.compile(rf"^([ \t]*(?:-[ \t]+)*(?:[\w.$/\"'-]+:[ \t]+)?)({_BARE})(?=[ \t]*$)", re.MULTILINE)
_BARE_IN_JSON = re.compile(
    rf"([:,\[]\s*)({_BARE}|\$\{{[^{{}}\n\"]*\}}|\{{\{{[^{{}}\n\"]*\}}\}}|\$\([^()\n\"]*\)|__[A-Z]\w*__|<[A-Za-z][^<>\n\"]*>)"
    r"(?=\s*[,\]}\n])"
)


def quoted(text: str, *, json: bool) -> str:
    """The text with quotes around every value that is a bare placeholder."""
    if not json:
        return _BARE_IN_YAML.sub(r'\1"\2"', text)

    def in_quotes(found: re.Match[str]) -> str:
        before = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
        inside = (before.count('"') - before.count('\\"')) % 2
        return found[0] if inside else f'{found[1]}"{found[2]}"'

    return _BARE_IN_JSON.sub(in_quotes, text)
