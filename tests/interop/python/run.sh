#!/bin/sh
# run.sh <library>: peer_test.py under $ENGINE_PYTHON (default: python3). Exit code 77: skipped.
python=${ENGINE_PYTHON:-python3}
if ! "$python" -c '' 2>/dev/null; then
  echo "!!! SKIPPED: there is no Python ('$python'); set ENGINE_PYTHON"
  [ -z "${ENGINE_REQUIRE_PYTHON:-}" ] || exit 1
  exit 77
fi
exec "$python" "$(dirname "$0")/peer_test.py" "$1"
