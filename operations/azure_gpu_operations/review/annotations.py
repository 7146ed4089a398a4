"""Annotations of stack files' lines, from a review: objects with `file`, `line`, `level`, `title` and `message`. Pure."""

from collections.abc import Iterator

from azure_gpu_operations.review.model import DONE, Danger, Review, StackReview, without_mail

Annotation = dict[str, str | int]


def annotations(review: Review) -> list[Annotation]:
    """The annotations with a known file; a line may have several."""
    found = [each for stack in review.stacks for each in _of(stack)]
    for each in found:
        each["message"] = without_mail(str(each["message"]))
    return sorted(found, key=lambda each: (str(each["file"]), int(each["line"]), str(each["title"])))


def _of(stack: StackReview) -> Iterator[Annotation]:
    causes: dict[tuple[str, int, str], list[Danger]] = {}
    for each in stack.dangers:
        if each.place.file:
            causes.setdefault((each.place.file, each.place.line, each.cause), []).append(each)
    for (file, line, cause), those in causes.items():
        first = those[0]
        others = f" and {len(those) - 1} more" if len(those) > 1 else ""
        message = f"{first.what} {first.name}{others}: {DONE[first.operation]} by {cause} ({first.before} -> {first.after})"
        message += f"; lost: {first.lost}" if first.lost else ""
        message += f"; alternative: {first.milder}" if first.milder else ""
        level = "error" if first.is_held else "warning"
        yield {
            "file": file,
            "line": line,
            "level": level,
            "title": f"{stack.stack}: {DONE[first.operation]}",
            "message": message,
        }
    for each in (*stack.problems, *(one for one in stack.findings if one.is_new)):
        if each.place.file:
            yield {
                "file": each.place.file,
                "line": each.place.line,
                "level": "error" if each.severity == "error" else "warning",
                "title": f"{stack.stack}: {each.code}",
                "message": each.message,
            }
