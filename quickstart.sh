#!/usr/bin/env bash
# Installs packages, builds the programs, writes CIFAR-10's TFRecord files, trains a network and
# evaluates it (trainer/README.md).
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")

usage() {
  cat <<'END'
usage: ./quickstart.sh [--archive FILE | --synthetic] [--data-dir DIR] [--minutes M]

  --archive FILE   use a local CIFAR-10 archive (python or binary .tar.gz)
  --synthetic      use generated images of ten classes; no download
  --data-dir DIR   folder for data and results (default: data/cifar10 in this folder)
  --minutes M      approximate training time in minutes (default: 5)

Without --archive and --synthetic, the published archive (170 MB) is downloaded. If the download
fails, the synthetic data set is used instead, and all results say so.
END
}

die_usage() { echo "quickstart.sh: $1" >&2; usage >&2; exit 2; }

archive="" synthetic="" data_dir=$here/data/cifar10 minutes=5
while (($#)); do
  case "$1" in
    --archive | --data-dir | --minutes)
      [[ $# -gt 1 && -n "$2" ]] || die_usage "$1 needs a value"
      case "$1" in
        --archive) archive=$2 ;;
        --data-dir) data_dir=$2 ;;
        --minutes) minutes=$2 ;;
      esac
      shift 2
      ;;
    --synthetic) synthetic=yes && shift ;;
    -h | --help) usage && exit 0 ;;
    *) die_usage "unknown argument '$1'" ;;
  esac
done
[[ -z "$archive" || -z "$synthetic" ]] || die_usage "--archive and --synthetic can't be combined"
[[ "$minutes" =~ ^[0-9]+(\.[0-9]+)?$ && "$minutes" =~ [1-9] ]] ||
  die_usage "--minutes must be a number above 0, not '$minutes'"
[[ -z "$archive" || -f "$archive" ]] || die_usage "no such file: $archive"

say() { printf '\n==> %s\n' "$1"; }

say "Packages"
"$here/tools/install_packages.sh"

say "Configuring the build (release)"
# CMake reads the presets from the current folder.
(cd "$here" && cmake --preset release >/dev/null)
programs=$here/build/release

# Each program is built when it is needed; a full build takes several times as long.
build() {
  say "Building $1"
  (cd "$here" && cmake --build --preset release --parallel "$(nproc)" --target "$1")
}

build generate_cifar10_tfrecords
say "TFRecord files in $data_dir"
generate=("$programs/generate_cifar10_tfrecords" --data-dir "$data_dir")
if [[ -n "$archive" ]]; then
  # --force: existing files may come from another source.
  "${generate[@]}" --archive "$archive" --force
elif [[ -n "$synthetic" ]]; then
  "${generate[@]}" --synthetic --force
else
  "${generate[@]}" --synthetic-fallback
fi

build cifar10_main
job_dir=$data_dir/jobs/$(date +%Y%m%d-%H%M%S)
synthetic_words=""
[[ -e "$data_dir/synthetic.txt" ]] && synthetic_words=" on synthetic images"
say "Training for about $minutes min$synthetic_words; results go to $job_dir"
# The recipe with the best accuracy after five minutes on two cores.
train=("$programs/cifar10_main" --data-dir "$data_dir" --job-dir "$job_dir"
  --recipe airbench --report "$job_dir/report.html")

# Quotes the arguments so that the printed commands can be pasted into a shell.
quoted() { printf ' %q' "$@"; }
status=0
"${train[@]}" --minutes "$minutes" || status=$?
if ((status == 130)) && [[ -d "$job_dir" ]]; then
  echo "To resume the training, with the N of \"--train-steps N\" in the log above:"
  echo "$(quoted "${train[@]}") --train-steps N"
fi
((status == 0)) || exit "$status"
cat <<END

==> Done. Training report (HTML):
 $(quoted "$job_dir/report.html")
Curves, histograms and images in TensorBoard, if installed:
 $(quoted tensorboard --logdir "$job_dir")

Three things to try next:
- View the records as an HTML page of images:
 $(quoted cmake --build "$programs" --target tfrecord)
 $(quoted "$programs/tfrecord" view "$data_dir/train.tfrecords" -o "$data_dir/train.html")
- Start a program of your own from examples/records_to_batches.cc:
 $(quoted cmake --build "$programs" --target records_to_batches)
 $(quoted "$programs/records_to_batches" "$data_dir/points.tfrecords")
- Train for $minutes min more (the learning rate rises again, and falls to zero at the new end):
 $(quoted "${train[@]}" --minutes "$minutes")
END
