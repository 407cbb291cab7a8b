#!/usr/bin/env bash
# Installs what is missing, builds, and runs the whole test suite.
#   ./test.sh [PRESET] [ctest arguments]      PRESET: dev (default), asan, tsan
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"

preset=dev
if (($#)) && [[ "$1" != -* ]]; then preset=$1 && shift; fi

tools/install_packages.sh
cmake --preset "$preset"
cmake --build --preset "$preset" --parallel "$(nproc)"
ctest --preset "$preset" --parallel "$(nproc)" "$@"
