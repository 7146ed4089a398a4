"""A scoring program that answers with the colour that its deployment says."""

import os


def init() -> None:
    pass


def run(data: str) -> dict[str, str]:
    print("asked for a colour", flush=True)
    return {"colour": os.environ["COLOUR"]}
