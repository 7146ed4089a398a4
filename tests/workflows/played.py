"""Plays a verb of `operations` in a workflow that a test runs: `played.py SCENARIO -m operations VERB …`.

The scenario is JSON: `log` (a file that takes the command line), `output` (printed), `code` (of the exit), `files` (written, by
their paths). `state` is a file with a number in place of a stack's state: `preview --save-plan` writes it into the plan, and
`up --plan` refuses another one as the verb does, and counts.
"""

import json
import sys
from pathlib import Path

from azure_gpu_operations.exit_codes import STALE_PLAN


def main(scenario: Path, words: list[str]) -> int:
    plays = json.loads(scenario.read_text(encoding="utf-8"))
    with Path(plays["log"]).open("a", encoding="utf-8") as log:
        log.write(json.dumps([words, str(Path.cwd())]) + "\n")
    for path, text in plays.get("files", {}).items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    print(plays.get("output", ""))
    if plays.get("code"):
        return int(plays["code"])
    if "state" in plays:
        state = Path(plays["state"])
        if "--save-plan" in words:
            Path(words[words.index("--save-plan") + 1]).write_text(state.read_text())
        if "--plan" in words:
            if Path(words[words.index("--plan") + 1]).read_text() != state.read_text():
                print("error: the stack has been updated since the plan was made", file=sys.stderr)
                return STALE_PLAN
            state.write_text(str(int(state.read_text()) + 1))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[4:]))
