#!/usr/bin/env bash
# usage: install_packages.sh [--ci] [--sanitizers]
# Installs the packages of tools/packages.txt that are missing. --ci adds the packages for .ci/run,
# --sanitizers those for the presets asan and tsan. Needs root or sudo only if packages are missing.
set -euo pipefail
for option in "$@"; do
  case "$option" in
    --ci | --sanitizers) ;;
    *) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; [[ "$option" == -h || "$option" == --help ]]; exit ;;
  esac
done
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

echo "Installing ${#missing[@]} packages (may take some minutes): ${missing[*]}"
as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null ||
    { echo "Neither root nor sudo; install these packages first: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# On failure, prints the whole log: `apt-get update` succeeds even if it reaches no server, and the
# `apt-get install` that then finds no package does not give the reason.
run() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "$@" >>"$log" 2>&1 ||
    { cat "$log" >&2; echo "Failed: $*" >&2; exit 1; }
}
# On a machine that was just started, automatic updates may hold the lock.
run apt-get -o DPkg::Lock::Timeout=300 update
run apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}"
