"""What of a text that somebody else wrote may be shown on a terminal.

In: text. Out: text.
"""


def printable(text: str) -> str:
    """Without what a terminal would act upon, and without the line ends that only some programs know."""
    return "".join(each if each.isprintable() else " " for each in text)
