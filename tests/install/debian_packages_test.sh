#!/usr/bin/env bash
# Installs the Debian packages on a bare Debian 12 and uses them there.
#
# usage: debian_packages_test.sh BUILD
#
# BUILD is a build folder with all programs. `cpack` makes the packages in it; debootstrap makes a
# minimal Debian in a temporary folder. There, tfrecord reads a golden file, its man page and
# completions are checked, and a program of another project is built with CMake and with pkg-config.
# Needs root and access to Debian's server. Exit status 77: no bare Debian could be made.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
root=$(dirname "$(dirname "$here")")
build=$(readlink -f "$1")
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
quietly() { "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; echo "Failed: $*" >&2; exit 1; }; }

rm -f "$build"/*.deb
(cd "$build" && quietly cpack)
debian=$scratch/debian
if ! debootstrap --variant=minbase bookworm "$debian" "$mirror" >"$scratch/log" 2>&1; then
  cat "$scratch/log" >&2
  echo "SKIPPED: no bare Debian can be made here, so the packages are not installed anywhere" >&2
  exit 77
fi
cp "$build"/*.deb "$debian/root/"
cp "$root/data/golden/examples.tfrecords" "$here/consumer/CMakeLists.txt" "$debian/root/"
cp "$root/examples/records_to_batches.cc" "$debian/root/program.cc"
inside() { quietly chroot "$debian" env DEBIAN_FRONTEND=noninteractive HOME=/root sh -ec "cd /root; $1"; }
says() { grep -q -- "$1" "$scratch/log" || { cat "$scratch/log" >&2; echo "Not said: $1" >&2; exit 1; }; }

inside 'apt-get install -y --no-install-recommends ./recordpipe_*.deb'
inside 'tfrecord info examples.tfrecords && tfrecord verify examples.tfrecords'
says '10 records'
inside 'test -s /usr/share/man/man1/tfrecord.1.gz -o -s /usr/share/man/man1/tfrecord.1
  test -s /usr/share/bash-completion/completions/tfrecord
  generate_cifar10_tfrecords --synthetic --data-dir data && cifar10_batches --data-dir data --digest'
echo "recordpipe: installed and used on a bare Debian"

inside 'apt-get install -y --no-install-recommends ./recordpipe-trainer_*.deb && cifar10_main --help'
says 'job-dir'
echo "recordpipe-trainer: installed and used on a bare Debian"

inside 'apt-get install -y --no-install-recommends ./librecordpipe-dev_*.deb cmake g++ make pkg-config'
inside 'cmake -B build -DSOURCE=program.cc "-DCOMPONENTS=example;pipeline" && cmake --build build'
inside './build/consumer records.tfrecords'
inside 'c++ -std=c++20 program.cc -o program \
    $(pkg-config --cflags --libs recordpipe-example recordpipe-pipeline) && ./program records.tfrecords'
echo "librecordpipe-dev: programs are built with it on a bare Debian"
