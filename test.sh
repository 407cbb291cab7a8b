#!/usr/bin/env bash
# Installs missing packages, builds, and runs all tests, or those of another preset.
#   ./test.sh [PRESET] [ctest arguments]      PRESET: dev (default), asan, asan_programs, tsan
# Ends with a list of the skipped tests and the reasons.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"

preset=dev
case "${1-}" in
  -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" && exit 0 ;;
  release) echo "test.sh: the preset release builds no tests" >&2 && exit 2 ;;
  "" | -*) ;;
  *) preset=$1 && shift ;;
esac

sanitizers=()
[[ "$preset" == *san* ]] && sanitizers=(--sanitizers)
tools/install_packages.sh "${sanitizers[@]}"
# Without PyPI, everything else is built and tested.
[[ "$preset" == [at]san ]] || python/setup || echo "test.sh: going on without the Python package" >&2
cmake --preset "$preset"
cmake --build --preset "$preset" --parallel "$(nproc)"
status=0
jobs=$(nproc)
# Many tests of programs wait: for servers, signals or other processes.
[[ "$preset" == *san ]] || jobs=$((3 * jobs))
ctest --preset "$preset" --parallel "$jobs" "$@" || status=$?
python3 -B tests/list_skipped.py "build/$preset/Testing/Temporary/LastTest.log"
exit "$status"
