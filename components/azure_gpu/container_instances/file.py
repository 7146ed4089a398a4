"""Merges the `file` of a container group under its settings: the YAML of `az container create --file`, or a template.

Secrets are never read from the file: where the file has one, the stack file must set it. The file is read by a function that
tests can replace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import container_group_file, container_group_settings
from azure_gpu.formats.arm_template import Scope
from azure_gpu.formats.container_group_file import GroupInFile
from azure_gpu.shared.context import Context
from azure_gpu.shared.files import Reader
from azure_gpu.shared.validation import check
from azure_gpu.shared.wording import a_secret, give_secret

Settings = Mapping[str, Any]

# Mutually exclusive keys: where the stack file sets one of a set, the file's others are dropped.
_ALTERNATIVES = (
    {"image", "workload"},
    {"command", "http"},
    {"empty_dir", "secret", "azure_file", "git_repo"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A group's settings, merged with its file."""

    settings: Settings
    file: str = ""
    problems: list[Problem] = field(default_factory=list[Problem])
    own: Settings = field(default_factory=dict[str, Any])  # of the stack file itself
    missing: tuple[str, ...] = ()  # paths of secrets that the file has and the stack file lacks
    found: bool = True  # False where the file has no group

    def together(self, found: Sequence[Problem], path: str) -> list[Problem]:
        """Combines all problems, without those that `missing` explains; problems of the file's values name the file."""
        if not self.file:
            return list(found)
        combined: list[Problem] = []
        for problem in found:
            explained = any(_is_at_or_below(secret, problem.path) for secret in self.missing)
            if problem.value is None and (explained or not self.found):
                continue
            from_file = not _has(self.own, problem.path.removeprefix(f"{path}.")) and problem.path.startswith(f"{path}.")
            set_in = f"; the value is set in {self.file}" if from_file and problem.value is not None else ""
            combined.append(problem._replace(message=f"{problem.message}{set_in}"))
        return [*self.problems, *combined]


def fill(own: Settings, expected: Any, path: str, context: Context, read: Reader) -> Filled:
    """Merges the settings at `path` with their file, if there is one. `expected`: the TypedDict of both."""
    if "file" not in own:
        return Filled(settings=own)
    file = own["file"]
    group, problems = _group(file, own, path, context, read)
    if group is None:
        return Filled(settings=own, file=file, problems=problems, own=own, found=False)
    from_file, left, secrets = container_group_settings.settings_of(group)
    checked = check(from_file, expected, path)
    of_file = cast(dict[str, Any], checked.value or {})
    if "dns_label" in of_file:
        of_file.setdefault("dns_label_scope", "Unsecure")  # Azure's default for such a file
    missing = [key for key in secrets if not _has(own, key)]
    problems += [problem._replace(message=f"{problem.message}; the value is set in {file}") for problem in checked.problems]
    problems += [_left_out(group, one) for one in left]
    problems += [_missing(group, f"{path}.{key}") for key in missing]
    return Filled(
        settings=merged(of_file, own), file=file, problems=problems, own=own, missing=tuple(f"{path}.{key}" for key in missing)
    )


def _group(file: str, own: Settings, path: str, context: Context, read: Reader) -> tuple[GroupInFile | None, list[Problem]]:
    try:
        text = read(file)
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or an invalid path
        reason = getattr(error, "strerror", None) or ("it isn't UTF-8" if isinstance(error, UnicodeDecodeError) else str(error))
        return None, [refused("group.unreadable_file", f"{path}.file", file, reason=reason)]
    scope = Scope(
        subscription_id=context.subscription_id or None,
        tenant_id=None,
        resource_group=None,
        location=context.location,
        deployment=None,
    )
    groups, problems = container_group_file.read(text, file, own.get("file_parameters", {}), scope)
    if len(groups) > 1:
        groups = [group for group in groups if group.name == own.get("group_name")] or groups
    if len(groups) > 1:
        problems.append(
            refused(
                "group.several_in_file",
                f"{path}.file",
                file,
                allowed=", ".join(group.name for group in groups),
                count=len(groups),
                first=groups[0].name,
            )
        )
        return None, problems
    return (groups[0] if groups else None), problems


def _left_out(group: GroupInFile, left: container_group_settings.Left) -> Problem:
    return refused("group.left_out", group.at(left.path), fix=left.fix, left=left)


def _missing(group: GroupInFile, path: str) -> Problem:
    return refused("group.secret_in_file", path, allowed=a_secret(path), fix=give_secret(path), group=group)


def _is_at_or_below(path: str, place: str) -> bool:
    return path == place or path.startswith((f"{place}.", f"{place}["))


def _has(settings: Any, key: str) -> bool:
    """Whether `key` is set, such as `containers.web.secret_environment.TOKEN` or `registries[0].password`."""
    if not key:
        return True
    if isinstance(settings, list):
        index, _, rest = key.removeprefix("[").partition("]")
        entries = cast(list[Any], settings)
        return index.isdigit() and int(index) < len(entries) and _has(entries[int(index)], rest.removeprefix("."))
    if not isinstance(settings, Mapping):
        return False
    for name, value in cast(Mapping[str, Any], settings).items():
        for spelling in (name, f'["{name}"]'):
            rest = key.removeprefix(spelling)
            if rest != key and (not rest or rest[0] in ".["):
                return _has(value, rest.removeprefix("."))
    return False


def merged(below: Settings, above: Settings) -> dict[str, Any]:
    """Merges both key by key; `above` takes precedence. Lists are replaced, except registries for which only the password is
    set."""
    result = {
        key: value
        for key, value in below.items()
        if not any(key in alternatives and above.keys() & (alternatives - {key}) for alternatives in _ALTERNATIVES)
        or key in above
    }
    for key, value in above.items():
        under = result.get(key)
        if isinstance(value, Mapping) and isinstance(under, Mapping):
            result[key] = merged(cast(Settings, under), cast(Settings, value))
        elif key == "registries" and isinstance(under, list):
            result[key] = _registries(cast(list[Settings], under), cast(list[Settings], value))
        else:
            result[key] = value
    return result


def _registries(below: Sequence[Settings], above: Sequence[Settings]) -> list[Settings]:
    logins = [
        {**below[index], **login} if index < len(below) and "server" not in login else login for index, login in enumerate(above)
    ]
    return [*logins, *(below[len(above) :] if all("server" not in login for login in above) else [])]
