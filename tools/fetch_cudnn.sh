#!/usr/bin/env bash
# Downloads cuDNN's headers and libraries from PyPI, for machines with the CUDA toolkit but without
# cuDNN. NVIDIA's licence for cuDNN applies to the downloaded files.
#
# usage: tools/fetch_cudnn.sh [FOLDER]        (default: build/cudnn)
#
# Then: cmake --preset dev -DCMAKE_PREFIX_PATH=FOLDER/nvidia/cudnn (an absolute path)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=${1:-build/cudnn}
if [[ -e $folder ]]; then
  echo "fetch_cudnn.sh: $folder already exists: remove it, or name another folder" >&2
  exit 1
fi
case $(uname -m) in
  x86_64) hash=d20e1734305e9d68889a96e3f35094d733ff1f83932ebe462753973e53a572bf ;;
  *)
    echo "fetch_cudnn.sh: no pinned version for $(uname -m), only for x86_64" >&2
    exit 1
    ;;
esac

mkdir -p "$(dirname "$folder")"
partial=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$partial"' EXIT
# pip refuses a file with a different hash.
echo "nvidia-cudnn-cu13==9.19.0.56 --hash=sha256:$hash" >"$partial/requirements.txt"
python3 -m pip download --quiet --no-deps --only-binary=:all: --require-hashes \
  --dest "$partial" --requirement "$partial/requirements.txt"
python3 -m zipfile -e "$partial"/nvidia_cudnn_cu13-*.whl "$partial/unpacked"
# The linker looks for this name, which the package lacks.
ln -s libcudnn.so.9 "$partial/unpacked/nvidia/cudnn/lib/libcudnn.so"
mv "$partial/unpacked" "$folder"
echo "$folder/nvidia/cudnn"
