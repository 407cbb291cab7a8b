#!/usr/bin/env bash
# Makes the Conan package, and builds and runs a program with it. The package is without the parts for
# images and URLs, which take most of the time.
#
# usage: tests/install/conan_test.sh
#
# Conan comes from PyPI (tools/packaging/conan/requirements.txt); its cache is a temporary folder. Needs
# the packages of tools/install_packages.sh. Two minutes on two cores.
set -euo pipefail
if (($#)); then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
  [[ $1 == -h || $1 == --help ]] && exit || exit 2
fi
cd "$(dirname "$(readlink -f "$0")")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" --disable-pip-version-check install --quiet -r tools/packaging/conan/requirements.txt
export CONAN_HOME=$scratch/conan
"$scratch/venv/bin/conan" profile detect
left_out='"CMAKE_DISABLE_FIND_PACKAGE_JPEG": "ON", "CMAKE_DISABLE_FIND_PACKAGE_OpenSSL": "ON"'
"$scratch/venv/bin/conan" create tools/packaging/conan -s compiler.cppstd=20 \
  -c tools.build:jobs="$(nproc)" -c tools.cmake.cmake_layout:test_folder="$scratch/test" \
  -c "tools.cmake.cmaketoolchain:extra_variables={$left_out}"
