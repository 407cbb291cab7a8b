#!/usr/bin/env bash
# Checks in a bare Debian 13 that its compiler, GCC 14, accepts the sources, or that a new user's
# commands work.
#
# usage: tests/install/debian_13_test.sh [--all | --tests]
#
# debootstrap makes a minimal Debian 13 in a temporary folder; tools/install_packages.sh installs the
# packages there. The compiler reads the libraries with the public headers, the Python module and the
# tests, but generates no code (-fsyntax-only), so warnings of the optimiser are missing; warnings
# are errors. --all reads each file by itself, which finds missing includes, also each public header,
# the programs, the benchmarks and the fuzzers. --tests runs ./test.sh, ./quickstart.sh and
# pip install . instead, 20 minutes on two cores. Needs root, Debian's server and PyPI. Exit
# status 77: no bare Debian could be made.
set -euo pipefail
left_out='^(examples|tests/bench|tests/fuzz|tools)/|_verify_interface_header_sets' unity=ON
case "${1-}" in
  "" | --tests) ;;
  --all) left_out='^$' unity=OFF ;;
  *) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 2 ;;
esac
root=$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

scratch=$(mktemp -d)
debian=$scratch/debian
clean_up() {
  for mounted in dev/shm dev/pts proc; do
    ! mountpoint -q "$debian/$mounted" || umount "$debian/$mounted"
  done
  rm -rf --one-file-system "$scratch"
}
trap clean_up EXIT
if ! debootstrap --variant=minbase trixie "$debian" "$mirror" >"$scratch/log" 2>&1; then
  cat "$scratch/log" >&2
  echo "SKIPPED: no bare Debian 13 can be made here, so its compiler checks nothing" >&2
  exit 77
fi
# Names are resolved, and PyPI is trusted, as here.
for file in /etc/resolv.conf /etc/hosts; do
  [[ ! -e $file ]] || cp --dereference "$file" "$debian$file"
done
cp "${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}" "$debian/root/certificates.pem"
mkdir "$debian/root/recordpipe"
git -C "$root" ls-files -z --cached --others --exclude-standard |
  tar -C "$root" --null --files-from=- -cf - | tar -C "$debian/root/recordpipe" -xf -

# in_debian ASSIGNMENT... COMMAND...: runs the command there, in the sources.
in_debian() {
  chroot "$debian" env -i -C /root/recordpipe PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    LANG=C.UTF-8 PIP_CERT=/root/certificates.pem PIP_ROOT_USER_ACTION=ignore "$@"
}

if [[ "${1-}" == --tests ]]; then
  mount -t proc proc "$debian/proc"
  mount -t devpts devpts "$debian/dev/pts"
  mkdir -p "$debian/dev/shm"
  mount -t tmpfs tmpfs "$debian/dev/shm"
  in_debian ./test.sh
  in_debian ./quickstart.sh --synthetic --minutes 0.5
  in_debian python3 -m venv /root/environment
  in_debian /root/environment/bin/pip install .
  in_debian /root/environment/bin/python -c 'import recordpipe; print(recordpipe.__version__)'
  exit
fi

in_debian RECORDPIPE_WARNINGS_AS_ERRORS=ON bash -euo pipefail -c '
    tools/install_packages.sh
    python/setup
    c++ --version | head -1
    # Not in CMAKE_CXX_FLAGS: CMake checks the compiler by linking programs. Headers are precompiled;
    # with --all they are not, and no file is in a unit with others: both would provide what a file
    # forgot to include.
    cat >/root/syntax_only <<"EOF"
#!/bin/sh
case " $* " in *" c++-header "*) exec "$@" ;; *) exec "$@" -fsyntax-only ;; esac
EOF
    chmod +x /root/syntax_only
    cmake --preset dev -DCMAKE_CXX_COMPILER_LAUNCHER=/root/syntax_only \
      -DCMAKE_VERIFY_INTERFACE_HEADER_SETS=ON -DRECORDPIPE_PRECOMPILED_HEADERS="$2" \
      -DCMAKE_UNITY_BUILD="$2" -DRECORDPIPE_UNITY_TESTS="$2" >/root/log 2>&1 ||
      { cat /root/log; exit 1; }
    cd build/dev
    # The object files, but nothing that is made from them.
    ninja -t targets all | sed -nE "s/^(.*\.o): CXX_COMPILER.*/\1/p" | grep -vE "$1" >/root/objects
    xargs --arg-file=/root/objects ninja --quiet -k 0
    echo "accepted: $(wc -l </root/objects) files"' - "$left_out" "$unity"
