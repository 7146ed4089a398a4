# Says, a line for each, which tools this machine lacks and how to get them. Exit code 1 where one is missing.
# Go is checked by the builder itself, and only where it has something to build. With the word `python`: what the commands that
# work on Azure itself need, and no more.
missing=0
need() { # name, test command, how to get it
  if ! eval "$2" >/dev/null 2>&1; then
    echo "missing: $1. $3" >&2
    missing=1
  fi
}
need "Python 3.11 or later" "python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'" \
  "Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python; or https://www.python.org/downloads/"
[ "$1" != python ] || exit $missing
need "a C++ compiler (g++)" "command -v g++" "Debian, Ubuntu: apt install g++; macOS: xcode-select --install"
need "CMake 3.25 or later" "command -v cmake" "Debian, Ubuntu: apt install cmake; macOS: brew install cmake"
need "Node.js 20 or later with npm" "node -e 'process.exit(+(process.versions.node.split(\".\")[0] < 20))' && command -v npm" \
  "Debian, Ubuntu: apt install nodejs npm; macOS: brew install node; or https://nodejs.org/"
exit $missing
