"""What a pull request's own run has written, read as text that nobody trusts: bounded, and harmless in a comment.

Whoever opens a pull request decides what its run writes, in a fork too. So a comment made of it may notify nobody, link to no
other issue, show no image, hide nothing, and run no command; and an archive is read in memory, file by file, to a limit.

Sources: GitHub Docs, "Mentioning people and teams", "Autolinked references and URLs"; GitLab Docs, "Quick actions", which lines
of a comment can be; GitHub Flavored Markdown Spec 0.29. A character of no width (U+200B) takes the meaning and leaves the look.
"""

import io
import json
import re
import unicodedata
import zipfile
import zlib
from typing import Any, NamedTuple, cast

MARKER = "<!-- azure-gpu-review -->"
COMMENT_FILE, ANNOTATIONS_FILE = "comment.md", "annotations.json"
MOST_COMMENT = 60_000  # characters
MOST_BYTES = 4 * 1024 * 1024  # of a file in an archive
MOST_ANNOTATIONS = 200
_MOST_MESSAGE, _MOST_TITLE, _MOST_PATH = 2000, 200, 400  # characters of an annotation
_LEVELS = {"error": "failure", "warning": "warning", "notice": "notice"}  # as GitHub's check runs spell them

_NOTHING = "\u200b"
_KEPT_FORMATS = "\u200d"  # joins the parts of an emoji
_TAGS = "details|summary|b|i|em|strong|code|pre|br|sub|sup|kbd|del|ins|ul|ol|li|p|table|thead|tbody|tr|th|td"
_TAG = re.compile(rf"<(?=[A-Za-z/!?])(?!/?(?:{_TAGS})\s*/?>|details open>)")
_MENTION = re.compile(r"(?<![A-Za-z0-9_])@(?=[A-Za-z0-9_<-])")
_NUMBER = re.compile(r"(?<!&)#(?=\d)|(?<=\bGH-)(?=\d)", re.IGNORECASE)
_URL = re.compile(r"(?<=/)(issues|pull|pulls|discussions|commit|merge_requests|work_items)/(?=\w)")
_ENTITY = re.compile(r"&(?=(#[xX]?[0-9a-fA-F]+|commat|num);)")
_SPEAKING = {"@", "#"}  # what an entity may not stand for: mentions and numbers are found in the text that is shown
_IMAGE = re.compile(r"!(?=\[)")
_SOURCES = r"https://(?:learn\.microsoft\.com|azure\.microsoft\.com|docs\.github\.com|www\.pulumi\.com)/"
_LINK = re.compile(rf"\](?=\()(?!\({_SOURCES}[^\s()]*\))|\](?=\[)|\](?=:)")
_COMMAND = re.compile(r"^(?=[ \t>]*/\w)", re.MULTILINE)
# As long as RFC 5321 allows, 4.5.3.1: without an end, a text that is made for it takes minutes.
_E_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")


class UntrustedError(ValueError):
    """An invalid artifact. The message is one line without the artifact's text."""


class Annotation(NamedTuple):
    """A message about a line of a file."""

    path: str
    line: int
    level: str  # as GitHub spells it
    title: str
    message: str


def files_of(archive: bytes, names: tuple[str, ...], most: int = MOST_BYTES) -> dict[str, str]:
    """The texts of the named files of a zip archive; what isn't in it is left out. UntrustedError."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            entries = opened.infolist()
            found: dict[str, str] = {}
            for name in names:
                mine = [entry for entry in entries if entry.filename == name]
                if len(mine) > 1:
                    raise UntrustedError(f"the artifact has {name} twice")
                for entry in mine:
                    with opened.open(entry) as file:
                        content = file.read(most + 1)
                    if len(content) > most:
                        raise UntrustedError(f"{name} of the artifact has more than {most:,} bytes")
                    found[name] = content.decode("utf-8")
            return found
    except UnicodeDecodeError:
        raise UntrustedError("a file of the artifact isn't UTF-8") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError):
        raise UntrustedError("the artifact isn't a readable zip archive") from None


def comment_of(text: str) -> str:
    """The review's Markdown, harmless and without its marker. UntrustedError."""
    if len(text) > MOST_COMMENT:
        raise UntrustedError(f"{COMMENT_FILE} has more than {MOST_COMMENT:,} characters")
    first, _, rest = text.lstrip("\ufeff").partition("\n")
    if first.strip() != MARKER:
        raise UntrustedError(f"{COMMENT_FILE} doesn't begin with the marker of a review")
    if not rest.strip():
        raise UntrustedError(f"{COMMENT_FILE} is empty")
    return closed(harmless(rest).strip("\n"))


def annotations_of(text: str) -> list[Annotation]:
    """The annotations; invalid entries are left out. UntrustedError if it isn't a list."""
    try:
        content: object = json.loads(text)
    except (ValueError, RecursionError):
        raise UntrustedError(f"{ANNOTATIONS_FILE} isn't JSON") from None
    if not isinstance(content, list):
        raise UntrustedError(f"{ANNOTATIONS_FILE} isn't a list")
    read = (_annotation(each) for each in cast(list[Any], content)[:MOST_ANNOTATIONS])
    return [each for each in read if each is not None]


def _annotation(content: Any) -> Annotation | None:
    if not isinstance(content, dict):
        return None
    entry = cast(dict[str, Any], content)
    path, line, level = entry.get("file"), entry.get("line"), entry.get("level")
    if not isinstance(path, str) or not path or len(path) > _MOST_PATH or path.startswith("/") or ".." in path.split("/"):
        return None
    if not isinstance(level, str) or level not in _LEVELS:
        return None
    if not isinstance(line, int) or isinstance(line, bool) or not 0 <= line <= 1_000_000:
        return None
    title, message = (_plain(str(entry.get(key) or "")) for key in ("title", "message"))
    return Annotation(_plain(path), max(line, 1), _LEVELS[level], title[:_MOST_TITLE], message[:_MOST_MESSAGE] or title or "-")


def harmless(text: str) -> str:
    """Markdown that notifies, links, shows, hides and commands nothing beyond its own text."""
    text = _E_MAIL.sub("[e-mail address]", _plain(text))
    text = _ENTITY.sub(_entity, text)
    for pattern in (_TAG, _MENTION, _IMAGE, _LINK):
        text = pattern.sub(lambda found: found[0] + _NOTHING, text)
    text = _NUMBER.sub(lambda found: found[0] + _NOTHING, text)
    text = _URL.sub(lambda found: found[0] + _NOTHING, text)
    return _COMMAND.sub(_NOTHING, text)


def fenced(text: str, most: int) -> str:
    """Lines as a block of code, the last `most` characters of them, with a fence that they can't end."""
    shown = _E_MAIL.sub("[e-mail address]", _plain(text)).strip("\n").replace("<!--", f"<{_NOTHING}!--")
    if len(shown) > most:
        shown = f"[…]\n{shown[-most:].partition(chr(10))[2]}"
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    return f"{fence}text\n{shown}\n{fence}"


def closed(text: str) -> str:
    """The text with every open block closed."""
    fence, deep = "", 0
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif found:
            fence = found[1]
        else:
            deep += line.count("<details>") + line.count("<details open>") - line.count("</details>")
            deep = max(deep, 0)
    return "\n".join([text, *([fence] if fence else []), *(["", "</details>"] * deep)])


def _plain(text: str) -> str:
    """The text without control, bidirectional and invisible characters."""
    return "".join(each for each in text.replace("\r\n", "\n").replace("\r", "\n") if each in "\n\t" or not _is_hidden(each))


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs") and character not in _KEPT_FORMATS


def _entity(found: "re.Match[str]") -> str:
    named = found[1]
    if not named.startswith("#"):
        return "&" + _NOTHING
    try:
        character = chr(int(named[2:], 16) if named[1] in "xX" else int(named[1:]))
    except (ValueError, OverflowError):
        return "&" + _NOTHING
    return "&" + _NOTHING if character in _SPEAKING or _is_hidden(character) else "&"
