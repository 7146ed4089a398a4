"""`python3 engine/build.py`: prints the folder to put first on PATH so that `pulumi` and its Python language host are found.

Uses the `pulumi` on PATH where it is new enough and builds the pinned one into the cache where it isn't.
On standard output: that folder, one line, and nothing else. See `command.py` for options and exit codes.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # Run as a file, Python looks for modules beside it; the package is found from the root of the checkout.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from engine.command import main

    raise SystemExit(main(sys.argv[1:]))
