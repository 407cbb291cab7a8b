#include "tests/cifar/archives.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "dataset/cifar/pickle_writer.h"
#include "recordpipe/cifar/archive.h"
#include "recordpipe/io/compression.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

constexpr size_t kBlock = 512;

std::string padding(size_t size) { return std::string((kBlock - size % kBlock) % kBlock, '\0'); }

void put(std::string& header, size_t offset, std::string_view text) {
  std::copy(text.begin(), text.end(), header.begin() + static_cast<std::ptrdiff_t>(offset));
}

std::string octal(uint64_t value, int digits) {
  std::array<char, 24> text;
  std::snprintf(text.data(), text.size(), "%0*llo", digits, static_cast<unsigned long long>(value));
  return text.data();
}

// Pickles `batch` as Python 2 does, with the labels under CIFAR-100's names.
std::string cifar100_pickle_bytes(const CifarBatch& batch) {
  std::string pickle = pickle_bytes(batch);
  std::string coarse =
      "U\x0d"
      "coarse_labels](";
  for (const uint8_t label : batch.coarse_labels) {
    coarse += 'K';
    coarse += static_cast<char>(label);
  }
  coarse += 'e';
  const std::string_view labels("U\x06labels", 8);
  pickle.replace(pickle.find(labels), labels.size(),
                 "U\x0b"
                 "fine_labels");
  const std::string_view data(
      "U\x04"
      "data",
      6);
  return pickle.insert(pickle.find(data), coarse);
}

}  // namespace

std::string tar_bytes(const TarEntry& entry) {
  std::string header(kBlock, '\0');
  const uint64_t size = entry.size < 0 ? entry.content.size() : static_cast<uint64_t>(entry.size);
  put(header, 0, entry.name.substr(0, 100));
  put(header, 100, "0000644");
  put(header, 108, "0000000");
  put(header, 116, "0000000");
  put(header, 124, octal(size, 11));
  put(header, 136, octal(0, 11));
  put(header, 148, "        ");
  header[156] = entry.type;
  put(header, 157, entry.link.substr(0, 100));
  put(header, 257,
      std::string_view("ustar\0"
                       "00",
                       8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(header, 148, octal(sum, 6) + '\0');
  return header + entry.content + padding(entry.content.size());
}

std::string tar_bytes(const std::vector<TarEntry>& entries) {
  std::string tar;
  for (const TarEntry& entry : entries) tar += tar_bytes(entry);
  return tar + std::string(2 * kBlock, '\0');
}

std::string gzip_bytes(std::string_view content) {
  MemorySink sink;
  const auto gzip = deflate(sink, {.format = Compression::gzip, .level = 1});
  gzip->write(as_bytes(content));
  gzip->close();
  return sink.content;
}

CifarBatch make_batch(CifarDataset dataset, size_t rows, int number) {
  CifarBatch batch;
  batch.pixels = std::make_unique<std::byte[]>(rows * kCifarImageSize);
  for (size_t row = 0; row < rows; ++row) {
    const size_t mixed = 7 * row + 3 * static_cast<size_t>(number);
    if (dataset == CifarDataset::cifar10) {
      batch.labels.push_back(static_cast<uint8_t>(mixed % 10));
    } else {
      batch.labels.push_back(static_cast<uint8_t>(mixed % 100));
      batch.coarse_labels.push_back(static_cast<uint8_t>((mixed + 1) % 20));
    }
    for (size_t i = 0; i < kCifarImageSize; ++i) {
      batch.pixels[row * kCifarImageSize + i] =
          static_cast<std::byte>((mixed * 31 + i * (mixed % 5 + 1) + i / 100) % 256);
    }
  }
  return batch;
}

std::string pickle_bytes(const CifarBatch& batch) {
  const std::vector<std::string> names(batch.rows(), "bat_s_000001.png");
  return make_cifar_pickle("training batch", batch, names);
}

std::string binary_bytes(const CifarBatch& batch) {
  std::string bytes;
  for (size_t row = 0; row < batch.rows(); ++row) {
    if (!batch.coarse_labels.empty()) bytes += static_cast<char>(batch.coarse_labels[row]);
    bytes += static_cast<char>(batch.labels[row]);
    bytes += as_text(batch.image(row));
  }
  return bytes;
}

std::vector<TarEntry> python_members(size_t rows) {
  const std::string folder = "cifar-10-batches-py/";
  std::vector<TarEntry> members = {{.name = folder, .type = '5'}};
  for (const size_t place : {3, 5, 2, 1, 4, 0}) {
    const std::string_view name = cifar_batch_names(CifarDataset::cifar10)[place];
    const auto batch = make_batch(CifarDataset::cifar10, rows, static_cast<int>(place));
    members.push_back({.name = folder + std::string(name), .content = pickle_bytes(batch)});
  }
  members.insert(members.begin() + 2, {.name = folder + "readme.html", .content = "<p>hello</p>"});
  members.push_back({.name = folder + "batches.meta", .content = "names"});
  return members;
}

std::vector<TarEntry> binary_members(size_t rows) {
  const std::string folder = "cifar-10-batches-bin/";
  std::vector<TarEntry> members = {{.name = folder, .type = '5'}};
  for (const size_t place : {0, 1, 2, 3, 4, 5}) {
    const std::string_view name = cifar_batch_names(CifarDataset::cifar10)[place];
    const auto batch = make_batch(CifarDataset::cifar10, rows, static_cast<int>(place));
    members.push_back(
        {.name = folder + std::string(name) + ".bin", .content = binary_bytes(batch)});
  }
  members.push_back({.name = folder + "batches.meta.txt", .content = "airplane\n"});
  return members;
}

std::vector<TarEntry> cifar100_python_members(size_t rows) {
  return {{.name = "cifar-100-python/meta", .content = "names"},
          {.name = "cifar-100-python/test",
           .content = cifar100_pickle_bytes(make_batch(CifarDataset::cifar100, rows / 5, 1))},
          {.name = "cifar-100-python/train",
           .content = cifar100_pickle_bytes(make_batch(CifarDataset::cifar100, rows, 0))}};
}

std::vector<TarEntry> cifar100_binary_members(size_t rows) {
  return {{.name = "cifar-100-binary/fine_label_names.txt", .content = "apple\n"},
          {.name = "cifar-100-binary/train.bin",
           .content = binary_bytes(make_batch(CifarDataset::cifar100, rows, 0))},
          {.name = "cifar-100-binary/test.bin",
           .content = binary_bytes(make_batch(CifarDataset::cifar100, rows / 5, 1))}};
}

}  // namespace recordpipe
