#include "recordpipe/cifar/synthetic_mark.h"

#include <span>
#include <string_view>

#include "recordpipe/atomic_file.h"

namespace recordpipe {
namespace {

constexpr std::string_view kText =
    "The images in this folder were drawn by program (generate_cifar10_tfrecords --synthetic):\n"
    "figures reached on them say nothing about CIFAR-10.\n";

std::string mark_in(const std::string& data_dir) { return data_dir + "/synthetic.txt"; }

}  // namespace

bool is_marked_synthetic(FileSystem& file_system, const std::string& data_dir) {
  return file_system.status(mark_in(data_dir)).has_value();
}

void mark_synthetic(FileSystem& file_system, const std::string& data_dir) {
  AtomicFile file(file_system, mark_in(data_dir));
  file.write(std::as_bytes(std::span(kText)));
  file.commit();
}

void unmark_synthetic(FileSystem& file_system, const std::string& data_dir) {
  file_system.remove(mark_in(data_dir));
}

}  // namespace recordpipe
