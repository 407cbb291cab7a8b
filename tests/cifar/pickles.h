// Golden pickles for tests, and helpers to read pickles.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "dataset/cifar/pickle.h"
#include "recordpipe/base/error.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {

inline std::string golden_pickle(const std::string& name) {
  return read_file(RECORDPIPE_DATA_DIR "/pickles/" + name + ".pickle");
}

// Returns a pickle in the form of the published archives.
inline std::string published_pickle() {
  return golden_pickle("python2-numpy1-cifar10-protocol2-cpickle");
}

inline CifarBatch read_pickle(std::string pickle, CifarDataset dataset = CifarDataset::cifar10) {
  const uint64_t size = pickle.size();
  MemorySource source(std::move(pickle), "a.tar.gz:batch");
  return read_cifar_pickle(source, size, dataset);
}

// Returns the Error that reading `pickle` throws.
inline Error error_of_pickle(std::string pickle, CifarDataset dataset = CifarDataset::cifar10) {
  try {
    read_pickle(std::move(pickle), dataset);
  } catch (const Error& error) {
    EXPECT_EQ(error.path(), "a.tar.gz:batch");
    EXPECT_TRUE(error.offset().has_value());
    EXPECT_FALSE(error.hint().empty());
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error({});
}

// Returns `text` with the first occurrence of `from` replaced by `to`.
inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << to_hex(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

}  // namespace recordpipe
