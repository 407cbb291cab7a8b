// Tests batches as Python writes them, and inconsistent batches.
#include "dataset/cifar/pickle.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "tests/cifar/pickles.h"

namespace recordpipe {
namespace {

using std::string_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;

void expect_images(const CifarBatch& batch) {
  for (size_t row = 0; row < batch.rows(); ++row) {
    const auto image = batch.image(row);
    for (size_t i = 0; i < image.size(); ++i) {
      const auto expected = static_cast<std::byte>((31 * row + 7 * i + i * i / 251) % 256);
      ASSERT_EQ(image[i], expected) << "image " << row << ", byte " << i;
    }
  }
}

class GoldenPickle : public testing::TestWithParam<std::string> {};

TEST_P(GoldenPickle, IsRead) {
  const bool cifar100 = GetParam().find("cifar100") != std::string::npos;
  const CifarBatch batch = read_pickle(golden_pickle(GetParam()),
                                       cifar100 ? CifarDataset::cifar100 : CifarDataset::cifar10);
  if (cifar100) {
    EXPECT_THAT(batch.labels, ElementsAre(19, 99));
    EXPECT_THAT(batch.coarse_labels, ElementsAre(11, 0));
  } else {
    EXPECT_THAT(batch.labels, ElementsAre(6, 9));
    EXPECT_THAT(batch.coarse_labels, ElementsAre());
  }
  expect_images(batch);
}

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(RECORDPIPE_DATA_DIR "/pickles")) {
    const std::string name = entry.path().stem();
    if (name.find("refused") == std::string::npos) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(AllPythons, GoldenPickle, testing::ValuesIn(golden_names()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Pickle, GoldenFilesAreThere) { EXPECT_EQ(golden_names().size(), 20u); }

// Python appends to long lists in parts of a thousand, and a memo can have more than 255 entries.
TEST(Pickle, LabelsMayComeInPartsAndMemosBeLong) {
  const std::string parts = replaced(published_pickle(), "K\x06K\te"s, "K\x06"s + "e(K\te");
  EXPECT_THAT(read_pickle(parts).labels, ElementsAre(6, 9));
  const std::string memos =
      replaced(published_pickle(), "labelsq\x08"s, "labelsr\x00\x01\x00\x00"s);
  EXPECT_THAT(read_pickle(memos).labels, ElementsAre(6, 9));
}

TEST(Pickle, RefusesWhatIsNoPlainBatchOfBytesAndInts) {
  const auto expect = [](const char* name, const char* words) {
    const Error error = error_of_pickle(golden_pickle("python3-numpy2-refused-"s + name));
    EXPECT_EQ(error.kind(), ErrorKind::unsupported) << name;
    EXPECT_THAT(error.what(), HasSubstr(words)) << name;
  };
  expect("float32", "dtype f4");
  expect("objects", "array of objects (dtype O8)");
  expect("label-array", "'labels' is another kind of value");
  expect("label-scalars", "the global numpy._core.multiarray.scalar");
  expect("protocol0", "protocol");
}

// --- inconsistent batches --------------------------------------------------------------------

TEST(Pickle, ShapesAreChecked) {
  const std::string shape = "K\x02M\x00\x0c\x86"s;
  const auto expect = [&](const std::string& other, const char* words) {
    EXPECT_THAT(error_of_pickle(replaced(published_pickle(), shape, other)).what(),
                HasSubstr(words));
  };
  expect("K\x03M\x00\x0c\x86"s, "6144 bytes for the shape [3, 3072]");
  expect("K\x00M\x00\x0c\x86"s, "the shape [0, 3072]");
  expect("M\x00\x0cK\x02\x86"s, "the shape [3072, 2]");
  expect("J\xff\xff\xff\xffM\x00\x0c\x86"s, "the shape [-1, 3072]");
  expect("J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86"s, "the shape [2147483647, 2147483647]");
  // The product of these dimensions is 2^64 + 6144.
  expect("\x8a\x08\x58\x55\x55\x55\x55\x55\x15\x00M\x00\x0c\x86"s,
         "the shape [6004799503160664, 3072]");
  expect("K\x02K\x03M\x00\x04\x87"s, "the shape [2, 3, 1024]");
  expect("M\x00\x18\x85"s, "the shape [6144]");
  expect("NN\x86"s, "a shape with values other than numbers");
}

TEST(Pickle, LabelsMustMatchTheImages) {
  const std::string labels = "K\x06K\te"s;
  const auto expect = [&](const std::string& other, const char* words) {
    const Error error = error_of_pickle(replaced(published_pickle(), labels, other));
    EXPECT_THAT(error.what(), HasSubstr(words));
  };
  expect(
      "K\x06"
      "e"s,
      "1 labels for 2 images");
  expect(
      "K\x06K\tK\x01"
      "e"s,
      "3 labels for 2 images");
  expect("K\x06K\ne"s, "label 10 of image 1 in 'labels' is not in 0..9");
  expect("J\xff\xff\xff\xffK\te"s, "label -1 of image 0");
  expect("K\x06Ne"s, "'labels' holds values other than ints");
  expect("\x8a\x09\x06\x00\x00\x00\x00\x00\x00\x00\x01K\te"s, "an integer of 9 bytes");
}

TEST(Pickle, WhatABatchNeedsMustBeThereOnce) {
  EXPECT_THAT(error_of_pickle(replaced(published_pickle(), "U\x06labels", "U\x06Labels")).what(),
              HasSubstr("no 'labels'"));
  EXPECT_THAT(error_of_pickle(replaced(published_pickle(),
                                       "U\x04"
                                       "data",
                                       "U\x04"
                                       "dada"))
                  .what(),
              HasSubstr("no 'data'"));
  EXPECT_THAT(error_of_pickle(replaced(published_pickle(),
                                       "U\x09"
                                       "filenames",
                                       "U\x06labels"))
                  .what(),
              HasSubstr("the key 'labels' twice"));
  EXPECT_THAT(error_of_pickle("\x80\x02}."s).what(), HasSubstr("no 'data'"));
  EXPECT_THAT(error_of_pickle(published_pickle(), CifarDataset::cifar100).what(),
              HasSubstr("no 'fine_labels'"));
}

TEST(Pickle, AnArrayMustBeBuiltOnce) {
  const std::string start =
      "\x80\x02}U\x04"
      "datacnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n"
      "K\x00\x85U\x01"
      "b\x87R"s;
  EXPECT_THAT(error_of_pickle(start + "s."s).what(), HasSubstr("never filled"));
  const std::string build =
      "(K\x01K\x00\x85"
      "cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R\x89U\x00tb"s;
  EXPECT_THAT(error_of_pickle(start + build + build + "s.").what(), HasSubstr("built twice"));
}

TEST(Pickle, TheFileEndsAtStop) {
  EXPECT_THAT(error_of_pickle(published_pickle() + "\n").what(), HasSubstr("bytes after STOP"));
  EXPECT_THAT(error_of_pickle(published_pickle() + published_pickle()).what(),
              HasSubstr("bytes after STOP"));
  EXPECT_THAT(error_of_pickle("\x80\x02NN."s).what(), HasSubstr("where a dict belongs"));
  EXPECT_THAT(error_of_pickle("\x80\x02N}."s).what(), HasSubstr("more than one value"));
}

TEST(Pickle, LongTextMustBeLatin1) {
  const std::string prefix = "\x80\x02X\x00\x04\x00\x00"s;
  EXPECT_THAT(error_of_pickle(prefix + std::string(1022, 'a') + "\xc4\x80.").what(),
              HasSubstr("not latin-1"));
  EXPECT_THAT(error_of_pickle(prefix + std::string(1023, 'a') + "\xc3.").what(),
              HasSubstr("ends inside a character"));
}

}  // namespace
}  // namespace recordpipe
