// Batches as Python writes them, batches that contradict themselves, and pickles made to do harm.
#include "dataset/cifar/pickle.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/base/error.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using std::string_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;

std::string golden(const std::string& name) {
  return read_file(RECORDPIPE_DATA_DIR "/pickles/" + name + ".pickle");
}

// The dialect of the published archives.
std::string published() { return golden("python2-numpy1-cifar10-protocol2-cpickle"); }

CifarBatch read(std::string pickle, CifarDataset dataset = CifarDataset::cifar10) {
  const uint64_t size = pickle.size();
  MemorySource source(std::move(pickle), "a.tar.gz:batch");
  return read_cifar_pickle(source, size, dataset);
}

// The Error that reading throws.
Error error_of(std::string pickle, CifarDataset dataset = CifarDataset::cifar10) {
  try {
    read(std::move(pickle), dataset);
  } catch (const Error& error) {
    EXPECT_EQ(error.path(), "a.tar.gz:batch");
    EXPECT_TRUE(error.offset().has_value());
    EXPECT_FALSE(error.hint().empty());
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error({});
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << to_hex(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

void expect_images(const CifarBatch& batch) {
  for (size_t row = 0; row < batch.rows(); ++row) {
    const auto image = batch.image(row);
    for (size_t i = 0; i < image.size(); ++i) {
      const auto expected = static_cast<std::byte>((31 * row + 7 * i + i * i / 251) % 256);
      ASSERT_EQ(image[i], expected) << "image " << row << ", byte " << i;
    }
  }
}

// --- what Python writes ---------------------------------------------------------------------

class GoldenPickle : public testing::TestWithParam<std::string> {};

TEST_P(GoldenPickle, IsRead) {
  const bool cifar100 = GetParam().find("cifar100") != std::string::npos;
  const CifarBatch batch =
      read(golden(GetParam()), cifar100 ? CifarDataset::cifar100 : CifarDataset::cifar10);
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

TEST(Pickle, RefusesWhatIsNoPlainBatchOfBytesAndInts) {
  const auto expect = [](const char* name, const char* words) {
    const Error error = error_of(golden("python3-numpy2-refused-"s + name));
    EXPECT_EQ(error.kind(), ErrorKind::unsupported) << name;
    EXPECT_THAT(error.what(), HasSubstr(words)) << name;
  };
  expect("float32", "dtype f4");
  expect("objects", "array of objects (dtype O8)");
  expect("label-array", "'labels' is another kind of value");
  expect("label-scalars", "the global numpy._core.multiarray.scalar");
  expect("protocol0", "protocol");
}

// --- hostile and broken pickles -------------------------------------------------------------

TEST(Pickle, RefusesOtherGlobalsByName) {
  const std::string pickle = replaced(published(), "cnumpy\ndtype\n", "cos\nsystem\n");
  const Error error = error_of(pickle);
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.offset(), pickle.find("cos\nsystem\n"));
  EXPECT_THAT(error.what(), HasSubstr("the global os.system"));
  EXPECT_THAT(error.hint(), HasSubstr("nothing of it was executed"));
}

TEST(Pickle, RefusesOtherGlobalsThroughTheStackToo) {
  const Error error = error_of(
      "\x80\x04\x8c\x08"
      "builtins\x8c\x04"
      "eval\x93."s);
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.offset(), 18u);
  EXPECT_THAT(error.what(), HasSubstr("the global builtins.eval"));
}

TEST(Pickle, NamesOfGlobalsAreOneShortLine) {
  EXPECT_THAT(error_of("\x80\x02"
                       "cnumpy\x1b[2J\ndtype\n."s)
                  .what(),
              HasSubstr("numpy\\x1b[2J"));
  const Error error = error_of(
      "\x80\x02"
      "c" +
      std::string(100'000, 'a'));
  EXPECT_EQ(error.kind(), ErrorKind::corrupted);
  EXPECT_THAT(error.what(), HasSubstr("a name of more than 256 bytes"));
}

TEST(Pickle, KnownGlobalsDoOnlyWhatABatchNeeds) {
  const auto refused = [](std::string_view body) {
    return error_of("\x80\x02"s.append(body)).kind();
  };
  EXPECT_EQ(refused("cnumpy\nndarray\nK\x05\x85R."), ErrorKind::corrupted);  // ndarray(5)
  EXPECT_EQ(refused("c_codecs\nencode\nU\x01"
                    "aU\x05"
                    "rot13\x86R."),
            ErrorKind::corrupted);
  EXPECT_EQ(refused("cnumpy\ndtype\n]R."), ErrorKind::corrupted);
  EXPECT_EQ(refused("cnumpy\ndtype\n)R."), ErrorKind::corrupted);
  EXPECT_EQ(refused("cnumpy.core.multiarray\n_reconstruct\ncnumpy\ndtype\nNN\x87R."),
            ErrorKind::corrupted);
  EXPECT_EQ(refused("}}b."), ErrorKind::corrupted);
  EXPECT_EQ(refused("U\x01"
                    "aK\x01\x85R."),
            ErrorKind::corrupted);  // calls a string
}

TEST(Pickle, RefusesUnknownOpcodes) {
  for (const std::string opcode : {"i", "o", "P", "Q", "2", "\x81", "\x82", "\x92", "\xff"}) {
    const Error error = error_of("\x80\x02}"s + opcode);
    EXPECT_EQ(error.kind(), ErrorKind::unsupported) << to_hex(opcode);
    EXPECT_EQ(error.offset(), 3u);
    EXPECT_THAT(error.what(), HasSubstr("unexpected opcode 0x" + to_hex(opcode)));
  }
}

TEST(Pickle, RefusesOtherProtocols) {
  for (const auto& pickle : {"\x80\x01}."s, "\x80\x06}."s, "\x80\xff}."s, "}."s, "<html>"s}) {
    EXPECT_EQ(error_of(pickle).kind(), ErrorKind::unsupported) << pickle;
  }
}

TEST(Pickle, RefusesBuffersOutOfBand) {
  EXPECT_THAT(error_of("\x80\x05}\x97"s).what(), HasSubstr("out of band"));
}

TEST(Pickle, MemoIndexIsBounded) {
  const Error put = error_of("\x80\x02}r\xff\xff\xff\xff."s);
  EXPECT_EQ(put.kind(), ErrorKind::limit_exceeded);
  EXPECT_THAT(put.what(), HasSubstr("memo index 4294967295"));
  EXPECT_EQ(put.offset(), 3u);
  EXPECT_THAT(error_of("\x80\x02}j\xff\xff\xff\xff."s).what(), HasSubstr("nothing in the memo"));
  EXPECT_THAT(error_of("\x80\x02}q\x05h\x04."s).what(),
              HasSubstr("nothing in the memo at index 4"));
  EXPECT_EQ(error_of("\x80\x04}" + std::string(600'000, '\x94')).kind(), ErrorKind::limit_exceeded);
}

TEST(Pickle, StackUnderflowIsNoticed) {
  for (const std::string opcode :
       {"a", "b", "e", "s", "u", "R", "\x85", "\x86", "\x87", "\x93", "\x94", "."}) {
    EXPECT_EQ(error_of("\x80\x04" + opcode).kind(), ErrorKind::corrupted) << to_hex(opcode);
    EXPECT_EQ(error_of("\x80\x04(" + opcode).kind(), ErrorKind::corrupted) << to_hex(opcode);
  }
}

TEST(Pickle, LengthsAreCheckedBeforeAnythingIsAllocated) {
  EXPECT_THAT(error_of("\x80\x02T\xff\xff\xff\xff."s).what(), HasSubstr("a string of -1 bytes"));
  EXPECT_THAT(error_of("\x80\x02T\xff\xff\xff\x7f."s).what(),
              HasSubstr("2147483647 bytes where the file has 1 left"));
  EXPECT_EQ(error_of("\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xff."s).kind(),
            ErrorKind::corrupted);
  EXPECT_EQ(error_of("\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7f."s).kind(),
            ErrorKind::corrupted);
  EXPECT_EQ(error_of("\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00."s).kind(),
            ErrorKind::corrupted);  // a frame longer than the file
}

TEST(Pickle, AnArchiveThatLiesAboutTheSizeDoesNotMakeItAllocate) {
  MemorySource source("\x80\x04\x8e\x00\x00\x00\x00\x00\x00\x00\x10."s);
  try {
    read_cifar_pickle(source, uint64_t{1} << 62, CifarDataset::cifar10);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
  }
}

TEST(Pickle, DeepNestingIsRefused) {
  const Error error = error_of("\x80\x02N" + std::string(1'000'000, '\x85') + ".");
  EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
  EXPECT_THAT(error.what(), HasSubstr("nested"));
  EXPECT_EQ(error_of("\x80\x02" + std::string(1'000'000, '(')).kind(), ErrorKind::limit_exceeded);
  EXPECT_EQ(error_of("\x80\x02" + std::string(1'000'000, ']')).kind(), ErrorKind::limit_exceeded);
}

TEST(Pickle, ContainersThatHoldThemselvesAreRefusedOrForgotten) {
  // l = []; l.append(l): an element that isn't a number is only counted.
  EXPECT_THAT(error_of("\x80\x02]q\x01h\x01"
                       "a."s)
                  .what(),
              HasSubstr("where a dict belongs"));
  // d = {}; d['data'] = d
  EXPECT_THAT(error_of("\x80\x02}q\x01U\x04"
                       "datah\x01s."s)
                  .what(),
              HasSubstr("another kind of value"));
}

TEST(Pickle, ShapesAreChecked) {
  const std::string shape = "K\x02M\x00\x0c\x86"s;
  const auto expect = [&](const std::string& other, const char* words) {
    EXPECT_THAT(error_of(replaced(published(), shape, other)).what(), HasSubstr(words));
  };
  expect("K\x03M\x00\x0c\x86"s, "6144 bytes for the shape [3, 3072]");
  expect("K\x00M\x00\x0c\x86"s, "the shape [0, 3072]");
  expect("M\x00\x0cK\x02\x86"s, "the shape [3072, 2]");
  expect("J\xff\xff\xff\xffM\x00\x0c\x86"s, "the shape [-1, 3072]");
  expect("J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86"s, "the shape [2147483647, 2147483647]");
  // Their product is 2^64 + 6144.
  expect("\x8a\x08\x58\x55\x55\x55\x55\x55\x15\x00M\x00\x0c\x86"s,
         "the shape [6004799503160664, 3072]");
  expect("K\x02K\x03M\x00\x04\x87"s, "the shape [2, 3, 1024]");
  expect("M\x00\x18\x85"s, "the shape [6144]");
  expect("NN\x86"s, "a shape with something else than numbers");
}

TEST(Pickle, LabelsMustMatchTheImages) {
  const std::string labels = "K\x06K\te"s;
  const auto expect = [&](const std::string& other, const char* words) {
    const Error error = error_of(replaced(published(), labels, other));
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
  expect("K\x06Ne"s, "'labels' holds something else than ints");
  expect("\x8a\x09\x06\x00\x00\x00\x00\x00\x00\x00\x01K\te"s, "an integer of 9 bytes");
}

TEST(Pickle, WhatABatchNeedsMustBeThereOnce) {
  EXPECT_THAT(error_of(replaced(published(), "U\x06labels", "U\x06Labels")).what(),
              HasSubstr("no 'labels'"));
  EXPECT_THAT(error_of(replaced(published(),
                                "U\x04"
                                "data",
                                "U\x04"
                                "dada"))
                  .what(),
              HasSubstr("no 'data'"));
  EXPECT_THAT(error_of(replaced(published(),
                                "U\x09"
                                "filenames",
                                "U\x06labels"))
                  .what(),
              HasSubstr("the key 'labels' twice"));
  EXPECT_THAT(error_of("\x80\x02}."s).what(), HasSubstr("no 'data'"));
  EXPECT_THAT(error_of(published(), CifarDataset::cifar100).what(), HasSubstr("no 'fine_labels'"));
}

TEST(Pickle, AnArrayMustBeBuiltOnce) {
  const std::string start =
      "\x80\x02}U\x04"
      "datacnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n"
      "K\x00\x85U\x01"
      "b\x87R"s;
  EXPECT_THAT(error_of(start + "s."s).what(), HasSubstr("never filled"));
  const std::string build =
      "(K\x01K\x00\x85"
      "cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R\x89U\x00tb"s;
  EXPECT_THAT(error_of(start + build + build + "s.").what(), HasSubstr("built twice"));
}

TEST(Pickle, TheFileEndsAtStop) {
  EXPECT_THAT(error_of(published() + "\n").what(), HasSubstr("bytes after STOP"));
  EXPECT_THAT(error_of(published() + published()).what(), HasSubstr("bytes after STOP"));
  EXPECT_THAT(error_of("\x80\x02NN."s).what(), HasSubstr("where a dict belongs"));
  EXPECT_THAT(error_of("\x80\x02N}."s).what(), HasSubstr("more than one value"));
}

TEST(Pickle, LongTextMustBeLatin1) {
  const std::string prefix = "\x80\x02X\x00\x04\x00\x00"s;
  EXPECT_THAT(error_of(prefix + std::string(1022, 'a') + "\xc4\x80.").what(),
              HasSubstr("not latin-1"));
  EXPECT_THAT(error_of(prefix + std::string(1023, 'a') + "\xc3.").what(),
              HasSubstr("ends inside a character"));
}

// --- every cut, every flipped bit -----------------------------------------------------------

TEST(Pickle, CutAnywhereIsTruncatedOrContradictsItself) {
  for (const char* name :
       {"python2-numpy1-cifar10-protocol2-cpickle", "python3-numpy1-cifar10-protocol2",
        "python3-numpy2-cifar10-protocol5"}) {
    const std::string whole = golden(name);
    for (size_t size = 0; size < whole.size(); ++size) {
      const ErrorKind kind = error_of(whole.substr(0, size)).kind();
      ASSERT_TRUE(kind == ErrorKind::truncated || kind == ErrorKind::corrupted)
          << name << " cut at " << size << ": " << to_string(kind);
    }
  }
}

TEST(Pickle, AFlippedBitIsNoticedOrHarmless) {
  for (const char* name :
       {"python2-numpy1-cifar10-protocol2-cpickle", "python3-numpy1-cifar10-protocol2",
        "python3-numpy2-cifar10-protocol5"}) {
    const std::string whole = golden(name);
    size_t refused = 0;
    for (size_t i = 0; i < whole.size(); ++i) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
      try {
        const CifarBatch batch = read(damaged);
        ASSERT_EQ(batch.rows(), 2u);
        for (const uint8_t label : batch.labels) ASSERT_LT(label, 10);
      } catch (const Error&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 100u) << name;  // the rest lies in pixels and names
  }
}

}  // namespace
}  // namespace recordpipe
