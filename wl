#!/usr/bin/env bash
# Builds static libraries for Python wheels from the sources of Debian's packages, with Debian's
# patches, and prints the folder that has them.
#
# usage: tools/wheel_libraries [ARCHITECTURE]
#
# build/wheel_libraries/ARCHITECTURE (x86_64 or aarch64; default: this machine's) receives include/,
# lib/ and licenses/LIBRARY; what it has already is not built again. PATH must have zig
# (python/setup_wheel_tools). Needs Debian's cmake, curl, make, nasm, ninja-build, patch, perl and
# unicode-data.
set -euo pipefail
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
  exit
fi
cd /tmp/59/c1
architecture=${1:-$(uname -m)}
folder=$PWD/build/wheel_libraries/$architecture
toolchain=$PWD/cmake/zig.cmake
glibc=$(sed -n 's/^set(RECORDPIPE_GLIBC \(.*\))/\1/p' "$toolchain")
flags=$(sed -n 's/.*_FLAGS_INIT "\(.*\)")$/\1/p' "$toolchain")
cc="zig cc -target $architecture-linux-gnu.$glibc $flags -fPIC"

# The libraries: the name of the source package, its version, and the SHA-256 and the suffixes of its
# two files. The order: those that take longest come first, so that no processor is idle at the end.
libraries=(
  "openssl 3.0.20-1~deb12u2
    c80a01dfc70ece4dc21168932c37739042d404d46ccc81a5986dd75314ecda6f .orig.tar.gz
    7279efe85c359500c95aa88347e3395dd303d7566e2bb818d80d96e0c3bb9629 .debian.tar.xz"
  "libzstd 1.5.4+dfsg2-5
    8cf4bbb65e77ec348d052c8d6230eba66d435bddf64c8b5be2fcb16880c19953 .orig.tar.xz
    82ce911445772861d0838bd4545f93bc50658bc7f3cefdb17a307dfb8ffca5d8 .debian.tar.xz"
  "libwebp 1.2.4-0.2+deb12u1
    7bf5a8a28cc69bcfa8cb214f2c3095703c6b73ac5fba4d5480c205331d9494df .orig.tar.gz
    69cdba4dfe2e1b34d55fa80c1b29c31cacd40dd183812d6bcca7e508a2f7afcd .debian.tar.xz"
  "re2 20220601+dfsg-1
    3bc61251da3b0b97be40a8a127818c517c62516e4eda11fc901d29496663df54 .orig.tar.xz
    6e93860fc6d5a7bc94f0cb235f107545a332e6cd37c3a4060982b9caa47a2570 .debian.tar.xz"
  "xz-utils 5.4.1-1+deb12u2
    5d9827aa1875b21c288f78864bb26d2650b436ea8d2cad364e4921eb6266a5a5 .orig.tar.xz
    7e0b1d1448520ea4f88ec05136a88f07564cc4a1abd6dfcf53c1f822a3e4f64f .debian.tar.xz"
  "libjpeg-turbo 2.1.5-2
    254f3642b04e309fee775123133c6464181addc150499561020312ec61c1bf7c .orig.tar.gz
    cdb2433c2f7101345c1ffa14efb943787c675b86354691a32490845fe4bc9237 .debian.tar.xz"
  "lz4 1.9.4-1
    0b0e3aa07c8c063ddf40b082bdf7e37a1562bda40a0ff5272957f3e987e0e54b .orig.tar.gz
    47ceec5b95f42598f7b9280b03df9659f2ee6852720ec181488e83bd643f0e5f .debian.tar.xz"
  "libisal 2.31.1-1.1
    e1d5573a4019738243b568ab1e1422e6ab7557c5cae33cc8686944d327ad6bb4 .orig.tar.gz
    5babff9e499f271249ba2b8679755e4490c5cf9b51440d6ba2078331aa493327 .debian.tar.xz"
  "zlib 1.2.13.dfsg-1
    71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1 .orig.tar.bz2
    f66cf3d4f2d7defcd4d1fd1fb0a11ee39f1e01b42ec7d059c9dc5c1695133c44 .debian.tar.xz"
  "bzip2 1.0.8-5
    ab5a03176ee106d3f0fa90e381da478ddae405918153cca248e682cd0c4a2269 .orig.tar.gz
    d68c6eba11d70e14319e24ef1451880a03023b2b75364646adb117086db36039 .debian.tar.bz2"
  "fmtlib 9.1.0+ds1-2
    84ce1c2d0be3a9863935137969dcec6970125caac032f82474640bfc81463583 .orig.tar.gz
    aead535c0b3d7a02a89f6e004ac62d1e15bdbf8d34c36cd37038dcc7d37bc9e3 .debian.tar.xz"
  "highway 1.0.3-3+deb12u1
    566fc77315878473d9a6bd815f7de78c73734acdcb745c3dde8579560ac5440e .orig.tar.gz
    798af33a087d0e7877ebecc5eb9d87ea92eefd4ca1d059db4db7583711871f40 .debian.tar.xz"
  "cli11 2.1.2+ds-1
    8143d20b688e98ccce8e24562d3b68e5f47c12e896c42c7ca8553dbde5bed55d .orig.tar.xz
    5fe18c0752d45508e6fa7e213dd3d826e71ce7600a5ce96c4c4cca7cf7d7fec7 .debian.tar.xz"
  "nlohmann-json3 3.11.2-2
    d69f9deb6a75e2580465c6c4c5111b89c4dc2fa94e3a85fcd2ffcd9a143d9273 .orig.tar.gz
    8c038cbbb09e719d856320006a6d16425c732a73574d03fe089e477c73022ab3 .debian.tar.xz"
)
# Those that need others.
libraries_on_top=(
  "libarchive 3.6.2-1+deb12u5
    9e2c1b80d5fbe59b61308fdfab6c79b5021d7ff4ff2489fb12daf0a96a83551d .orig.tar.xz
    5b32794076e9b0d8cd74fd2c453340b72c6362188f40fa1aac96304cb5683315 .debian.tar.xz"
  "curl 7.88.1-10+deb12u15
    cdb38b72e36bc5d33d5b8810f8018ece1baa29a8f215b4495e495ded82bbf3c7 .orig.tar.gz
    961b78bc48492c5693e4decb352ddd176f343260a8956f48b2887874048ef23b .debian.tar.xz"
  "libpng1.6 1.6.39-2+deb12u5
    a00e9d2f2f664186e4202db9299397f851aea71b36a35e74910b8820e380d441 .orig.tar.gz
    ab14906eda9fddf14cbb1e589b9ba7439c22e233dc3c5e3cf9356c9625565a82 .debian.tar.xz"
)

# Only http and https, with the resolver's own threads. It has no certificates compiled in:
# dataset/http/transfer/certificates.cc finds those of the system where the wheel runs.
options_of_curl=(
  -DHTTP_ONLY=ON -DBUILD_CURL_EXE=OFF -DENABLE_MANUAL=OFF -DENABLE_UNIX_SOCKETS=OFF
  -DCURL_USE_OPENSSL=ON -DOPENSSL_USE_STATIC_LIBS=ON -DCURL_CA_BUNDLE=none -DCURL_CA_PATH=none
  -DCURL_USE_LIBSSH2=OFF -DCURL_USE_LIBPSL=OFF -DUSE_LIBIDN2=OFF -DUSE_NGHTTP2=OFF
  -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF
)

# Tar and zip, with the compressions of dataset/decompression.
options_of_libarchive=(
  -DENABLE_TEST=OFF -DENABLE_TAR=OFF -DENABLE_CPIO=OFF -DENABLE_CAT=OFF -DENABLE_ACL=OFF
  -DENABLE_XATTR=OFF -DENABLE_OPENSSL=OFF -DENABLE_LIBXML2=OFF -DENABLE_EXPAT=OFF
  -DENABLE_LIBB2=OFF -DENABLE_ZSTD=OFF -DENABLE_LZO=OFF -DENABLE_PCREPOSIX=OFF -DENABLE_NETTLE=OFF
  -DENABLE_MBEDTLS=OFF -DENABLE_WERROR=OFF
)

options_of_lz4=(-DLZ4_BUILD_CLI=OFF -DLZ4_BUILD_LEGACY_LZ4C=OFF)
options_of_xz_utils=(-DENABLE_NLS=OFF -DCREATE_XZ_SYMLINKS=OFF -DCREATE_LZMA_SYMLINKS=OFF)
options_of_libzstd=(
  -DZSTD_BUILD_PROGRAMS=OFF -DZSTD_BUILD_SHARED=OFF -DZSTD_BUILD_DICTBUILDER=OFF
  -DZSTD_BUILD_DEPRECATED=OFF -DZSTD_LEGACY_SUPPORT=OFF
)
options_of_libjpeg_turbo=(-DENABLE_SHARED=OFF -DWITH_TURBOJPEG=OFF -DREQUIRE_SIMD=ON)
options_of_libwebp=(
  -DWEBP_BUILD_ANIM_UTILS=OFF -DWEBP_BUILD_CWEBP=OFF -DWEBP_BUILD_DWEBP=OFF
  -DWEBP_BUILD_GIF2WEBP=OFF -DWEBP_BUILD_IMG2WEBP=OFF -DWEBP_BUILD_VWEBP=OFF
  -DWEBP_BUILD_WEBPINFO=OFF -DWEBP_BUILD_WEBPMUX=OFF -DWEBP_BUILD_EXTRAS=OFF
)
options_of_cli11=(-DCLI11_BUILD_EXAMPLES=OFF -DCLI11_BUILD_DOCS=OFF -DCLI11_SINGLE_FILE=OFF)
options_of_nlohmann_json3=(-DJSON_BuildTests=OFF)

# unpack ORIGINAL DEBIAN FOLDER: the sources, with Debian's patches.
unpack() {
  mkdir -p "$3"
  tar -xf "$1" -C "$3" --strip-components=1
  tar -xf "$2" -C "$3"
  local name patches=$3/debian/patches
  [[ -e $patches/series ]] || return 0
  while read -r name _; do
    case $name in
      '' | '#'* | 90_gnutls.patch | 99_nss.patch) ;;  # curl: for other builds than OpenSSL's
      *) patch --directory "$3" --strip 1 --silent --force <"$patches/$name" ;;
    esac
  done <"$patches/series"
}

# make_with_cmake SOURCE OPTION...: builds and installs a library.
make_with_cmake() {
  local source=$1
  [[ -e $source/CMakeLists.txt ]] || source=$source/build/cmake
  cmake -G Ninja -S "$source" -B "$1/build-wheel" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_TOOLCHAIN_FILE="$toolchain" -DRECORDPIPE_ARCHITECTURE="$architecture" \
    -DCMAKE_FIND_ROOT_PATH="$folder" -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DBUILD_SHARED_LIBS=OFF -DBUILD_STATIC_LIBS=ON -DBUILD_TESTING=OFF \
    -DCMAKE_INSTALL_PREFIX="$folder" -DCMAKE_INSTALL_LIBDIR:STRING=lib "${@:2}"
  cmake --build "$1/build-wheel" --parallel "$(nproc)" --target install
}

# make_archive SOURCE NAME.a FILE...: for libraries whose own build makes shared ones, too, or calls
# the compiler by one word.
make_archive() {
  local source=$1 archive=$folder/lib/$2
  shift 2
  (
    cd "$source"
    printf '%s\0' "$@" | xargs -0 -P "$(nproc)" -I FILE \
      $cc -O3 -DNDEBUG -isystem "$folder/include" -D_FILE_OFFSET_BITS=64 -DHAVE_UNISTD_H -c FILE.c -o FILE.o
    rm -f "$archive"
    zig ar rcs "$archive" "${@/%/.o}"
  )
}

build_zlib() {
  make_archive "$1" libz.a adler32 compress crc32 deflate gzclose gzlib gzread gzwrite infback \
    inffast inflate inftrees trees uncompr zutil
  cp "$1/zlib.h" "$folder/include/"
  # As its ./configure does it.
  sed -E 's/^#ifdef HAVE_(UNISTD|STDARG)_H( *\/\*) may be/#if 1\2 was/' "$1/zconf.h" \
    >"$folder/include/zconf.h"
}

build_bzip2() {
  make_archive "$1" libbz2.a blocksort huffman crctable randtable compress decompress bzlib
  cp "$1/bzlib.h" "$folder/include/"
}

build_libpng16() {
  { cat "$1/scripts/pnglibconf.h.prebuilt" && echo "#define PNG_INTEL_SSE"; } >"$1/pnglibconf.h"
  make_archive "$1" libpng.a png pngerror pngget pngmem pngpread pngread pngrio pngrtran pngrutil \
    pngset pngtrans pngwio pngwrite pngwtran pngwutil intel/{intel_init,filter_sse2_intrinsics} \
    arm/{arm_init,filter_neon_intrinsics,palette_neon_intrinsics}
  cp "$1"/{png,pngconf,pnglibconf}.h "$folder/include/"
}

# Debian's sources lack the tables of Unicode.
build_re2() {
  sed -i 's/^from six.moves import urllib$/import urllib.request/' "$1/re2/unicode.py"
  (
    cd "$1/re2"
    perl make_perl_groups.pl >perl_groups.cc
    python3 make_unicode_casefold.py >unicode_casefold.cc
    python3 make_unicode_groups.py >unicode_groups.cc
  )
  make_with_cmake "$1" -DRE2_BUILD_TESTING=OFF
}

build_libisal() {
  make -C "$1" -f Makefile.unx -j "$(nproc)" lib units="crc igzip" \
    host_cpu="$architecture" arch="${architecture#x86_64}" CC="$cc" AR="zig ar"
  cp "$1/bin/isa-l.a" "$folder/lib/libisal.a"
  mkdir -p "$folder/include/isa-l"
  cp "$1"/include/*.h "$folder/include/isa-l/"
}

# What TLS 1.2 and 1.3 don't need.
options_of_openssl=(
  no-shared no-module no-tests no-engine no-legacy no-aria no-bf no-camellia no-cast no-cmp no-cms
  no-ct no-dtls no-ec2m no-gost no-idea no-md4 no-mdc2 no-ocb no-rc2 no-rc4 no-rmd160 no-seed
  no-siphash no-siv no-sm2 no-sm3 no-sm4 no-srp no-srtp no-ssl3 no-ts no-whirlpool
)

# Its configuration and certificates are those of Debian's and Ubuntu's OpenSSL.
build_openssl() {
  (
    cd "$1"
    ./Configure "linux-$architecture" "${options_of_openssl[@]}" \
      --prefix="$folder" --libdir=lib --openssldir=/usr/lib/ssl \
      CC="$cc" AR="zig ar" RANLIB="zig ranlib"
    make -j "$(nproc)" build_libs
    make install_dev
  )
}

build() {
  local name=$1 version=$2 original debian
  local stamp=$folder/licenses/$name/built
  local identifier=${name//-/_}
  identifier=${identifier//./}
  local -n options=options_of_$identifier
  local wanted="$version $cc ${options[*]-}"
  [[ ! -e $stamp || $(<"$stamp") != "$wanted" ]] || return 0
  original=$(tools/fetch_debian "$name" "${name}_${version%-*}$4" "$3")
  debian=$(tools/fetch_debian "$name" "${name}_$version$6" "$5")
  local source=$scratch/$name log=$scratch/$name.log status
  set +e  # or a failure inside would not end it
  (
    set -e
    unpack "$original" "$debian" "$source"
    case $name in
      zlib | bzip2 | libisal | libpng1.6 | openssl | re2) "build_$identifier" "$source" ;;
      highway) cp -r "$source/hwy" "$folder/include/" ;;
      fmtlib) cp -r "$source/include/fmt" "$folder/include/" ;;
      *) make_with_cmake "$source" "${options[@]}" ;;
    esac
  ) >"$log" 2>&1
  status=$?
  set -e
  ((status == 0)) || { cat "$log" >&2; exit 1; }
  rm -f "$folder"/lib/*.so*  # libarchive always makes a shared one, too
  mkdir -p "$folder/licenses/$name"
  cp "$source/debian/copyright" "$folder/licenses/$name/"
  echo "$wanted" >"$stamp"
}

mkdir -p "$folder"/{include,lib}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# build_all LIBRARY...: several at a time: their configurations use one processor.
build_all() {
  local library
  for library in "$@"; do
    while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n; done
    # shellcheck disable=SC2086
    { TIMEFORMAT="%R wall %U+%S ${library%% *}"; time build $library; } &
  done
  while [[ -n $(jobs -p) ]]; do wait -n; done
}
build_all "${libraries[@]}"
build_all "${libraries_on_top[@]}"
echo "$folder"
