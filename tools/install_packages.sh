#!/usr/bin/env bash
# usage: install_packages.sh [--ci] [--sanitizers]
# Installs the packages of tools/packages.txt that are missing, with --ci those for .ci/run, too, and
# with --sanitizers those for the presets asan and tsan.
# Needs root or sudo only for that.
set -euo pipefail
list="$(dirname "$(readlink -f "$0")")/packages.txt"

missing=()
while read -r package; do
  if [[ "$package" =~ ^([a-z]+):\ (.*) ]]; then
    [[ " $* " == *" --${BASH_REMATCH[1]} "* ]] || continue
    package=${BASH_REMATCH[2]}
  fi
  package=${package%%#*} package=${package%% *}
  [[ -z "$package" ]] && continue
  [[ "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null)" == "install ok installed" ]] ||
    missing+=("$package")
done <"$list"
((${#missing[@]})) || exit 0

echo "Installing ${#missing[@]} packages, which may take some minutes: ${missing[*]}"
as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null ||
    { echo "Not root and no sudo: install these packages first: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# All that was said so far: an update that reached no server is not a failure to apt-get, and the
# install that then finds no package doesn't say why.
run() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "$@" >>"$log" 2>&1 ||
    { cat "$log" >&2; echo "Failed: $*" >&2; exit 1; }
}
# A machine that was just started may be busy with updates of its own, and hold the lock.
run apt-get -o DPkg::Lock::Timeout=300 update
run apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}"
