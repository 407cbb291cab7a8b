#!/usr/bin/env bash
# Installs the Debian packages on a bare Debian 12 and uses them there.
#
# usage: debian_packages_test.sh BUILD | --source
#
# BUILD is a build folder with all programs: `cpack` makes the packages in it. --source: they are built
# on the bare Debian from the source package of the committed files, without an error or a warning of
# lintian (20 minutes on two cores); piuparts installs, removes and purges them. debootstrap makes a
# minimal Debian in a temporary folder. There, tools/packaging/debian/tests run. Needs root and access to
# Debian's server. Exit status 77: no bare Debian could be made.
set -euo pipefail
if (($# != 1)) || [[ $1 == -* && $1 != --source ]]; then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
  exit 2
fi
root=$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

scratch=$(mktemp -d)
debian=$scratch/debian
clean_up() {
  ! mountpoint -q "$debian/proc" || umount "$debian/proc"
  rm -rf --one-file-system "$scratch"
}
trap clean_up EXIT
quietly() { "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; echo "Failed: $*" >&2; exit 1; }; }

if ! debootstrap --variant=minbase bookworm "$debian" "$mirror" >"$scratch/log" 2>&1; then
  cat "$scratch/log" >&2
  echo "SKIPPED: no bare Debian can be made here, so the packages are not installed anywhere" >&2
  exit 77
fi
mount -t proc proc "$debian/proc"
inside() {
  quietly chroot "$debian" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive DEB_BUILD_OPTIONS="noautodbgsym parallel=$(nproc)" \
    bash -euo pipefail -c "cd /root; $1"
}

if [[ $1 == --source ]]; then
  quietly "$root/tools/packaging/debian_source" "$debian/root"
  inside 'apt-get update && apt-get install -y --no-install-recommends autopkgtest build-essential lintian piuparts'
  inside 'apt-get build-dep -y --no-install-recommends ./recordpipe-*'
  inside 'cd recordpipe-* && dpkg-buildpackage -us -uc'
  echo "the source package: built on a bare Debian"
  # (The project has no mail address.)
  inside 'lintian --allow-root --fail-on error,warning --suppress-tags \
    bogus-mail-host,bogus-mail-host-in-debian-changelog *.changes'
  echo "lintian: no error or warning"
  inside "piuparts --mirror '$mirror main' --distribution bookworm *.changes"
  echo "piuparts: installed, removed and purged"
  inside 'autopkgtest *.changes -- null'
  echo "autopkgtest: passed"
  exit
fi

build=$(readlink -f "$1")
rm -f "$build"/*.deb
(cd "$build" && quietly cpack)
cp "$build"/*.deb "$debian/root/"
(cd "$root" && cp --parents -r data/golden tests/install tools/packaging/debian/tests "$debian/root/")

inside 'apt-get install -y --no-install-recommends ./recordpipe_*.deb && tools/packaging/debian/tests/tfrecord'
echo "recordpipe: installed and used on a bare Debian"

inside 'apt-get install -y --no-install-recommends ./recordpipe-trainer_*.deb
  cifar10_main --help | grep job-dir'
echo "recordpipe-trainer: installed and used on a bare Debian"

inside 'apt-get install -y --no-install-recommends ./librecordpipe-dev_*.deb cmake g++ make pkg-config
  tools/packaging/debian/tests/development'
echo "librecordpipe-dev: programs are built with it on a bare Debian"
