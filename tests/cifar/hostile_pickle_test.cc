// Tests malicious, truncated and damaged pickles.
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/cifar/pickle.h"
#include "recordpipe/base/error.h"
#include "tests/cifar/pickles.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

using std::string_literals::operator""s;
using testing::HasSubstr;

TEST(HostilePickle, RefusesOtherGlobalsByName) {
  const std::string pickle = replaced(published_pickle(), "cnumpy\ndtype\n", "cos\nsystem\n");
  const Error error = error_of_pickle(pickle);
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.offset(), pickle.find("cos\nsystem\n"));
  EXPECT_THAT(error.what(), HasSubstr("the global os.system"));
  EXPECT_THAT(error.hint(), HasSubstr("nothing of it was executed"));
}

TEST(HostilePickle, RefusesOtherGlobalsThroughTheStackToo) {
  const Error error = error_of_pickle(
      "\x80\x04\x8c\x08"
      "builtins\x8c\x04"
      "eval\x93."s);
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.offset(), 18u);
  EXPECT_THAT(error.what(), HasSubstr("the global builtins.eval"));
}

TEST(HostilePickle, NamesOfGlobalsAreOneShortLine) {
  EXPECT_THAT(error_of_pickle("\x80\x02"
                              "cnumpy\x1b[2J\ndtype\n."s)
                  .what(),
              HasSubstr("numpy\\x1b[2J"));
  const Error error = error_of_pickle(
      "\x80\x02"
      "c" +
      std::string(100'000, 'a'));
  EXPECT_EQ(error.kind(), ErrorKind::corrupted);
  EXPECT_THAT(error.what(), HasSubstr("a name of more than 256 bytes"));
}

TEST(HostilePickle, KnownGlobalsDoOnlyWhatABatchNeeds) {
  const auto refused = [](std::string_view body) {
    return error_of_pickle("\x80\x02"s.append(body)).kind();
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

TEST(HostilePickle, RefusesUnknownOpcodes) {
  for (const std::string opcode : {"i", "o", "P", "Q", "2", "\x81", "\x82", "\x92", "\xff"}) {
    const Error error = error_of_pickle("\x80\x02}"s + opcode);
    EXPECT_EQ(error.kind(), ErrorKind::unsupported) << to_hex(opcode);
    EXPECT_EQ(error.offset(), 3u);
    EXPECT_THAT(error.what(), HasSubstr("unexpected opcode 0x" + to_hex(opcode)));
  }
}

TEST(HostilePickle, RefusesOtherProtocols) {
  for (const auto& pickle : {"\x80\x01}."s, "\x80\x06}."s, "\x80\xff}."s, "}."s, "<html>"s}) {
    EXPECT_EQ(error_of_pickle(pickle).kind(), ErrorKind::unsupported) << pickle;
  }
}

TEST(HostilePickle, RefusesBuffersOutOfBand) {
  EXPECT_THAT(error_of_pickle("\x80\x05}\x97"s).what(), HasSubstr("out of band"));
}

TEST(HostilePickle, MemoIndexIsBounded) {
  const Error put = error_of_pickle("\x80\x02}r\xff\xff\xff\xff."s);
  EXPECT_EQ(put.kind(), ErrorKind::limit_exceeded);
  EXPECT_THAT(put.what(), HasSubstr("memo index 4294967295"));
  EXPECT_EQ(put.offset(), 3u);
  EXPECT_THAT(error_of_pickle("\x80\x02}j\xff\xff\xff\xff."s).what(),
              HasSubstr("nothing in the memo"));
  EXPECT_THAT(error_of_pickle("\x80\x02}q\x05h\x04."s).what(),
              HasSubstr("nothing in the memo at index 4"));
  EXPECT_EQ(error_of_pickle("\x80\x04}" + std::string(600'000, '\x94')).kind(),
            ErrorKind::limit_exceeded);
}

TEST(HostilePickle, StackUnderflowIsNoticed) {
  for (const std::string opcode :
       {"a", "b", "e", "s", "u", "R", "\x85", "\x86", "\x87", "\x93", "\x94", "."}) {
    EXPECT_EQ(error_of_pickle("\x80\x04" + opcode).kind(), ErrorKind::corrupted) << to_hex(opcode);
    EXPECT_EQ(error_of_pickle("\x80\x04(" + opcode).kind(), ErrorKind::corrupted) << to_hex(opcode);
  }
}

TEST(HostilePickle, LengthsAreCheckedBeforeAnythingIsAllocated) {
  EXPECT_THAT(error_of_pickle("\x80\x02T\xff\xff\xff\xff."s).what(),
              HasSubstr("a string of -1 bytes"));
  EXPECT_THAT(error_of_pickle("\x80\x02T\xff\xff\xff\x7f."s).what(),
              HasSubstr("2147483647 bytes where the file has 1 left"));
  EXPECT_EQ(error_of_pickle("\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xff."s).kind(),
            ErrorKind::corrupted);
  EXPECT_EQ(error_of_pickle("\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7f."s).kind(),
            ErrorKind::corrupted);
  EXPECT_EQ(error_of_pickle("\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00."s).kind(),
            ErrorKind::corrupted);  // a frame longer than the file
}

TEST(HostilePickle, AnArchiveThatLiesAboutTheSizeDoesNotMakeItAllocate) {
  MemorySource source("\x80\x04\x8e\x00\x00\x00\x00\x00\x00\x00\x10."s);
  try {
    read_cifar_pickle(source, uint64_t{1} << 62, CifarDataset::cifar10);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
  }
}

TEST(HostilePickle, ManyValuesOfAByteEachAreRefused) {
  // The memo keeps tuples of empty dicts: a hundred bytes of memory per byte of the pickle.
  std::string pickle = "\x80\x04]";
  for (int i = 0; i < 40; ++i) pickle += "(" + std::string(60'000, '}') + "t\x94" + "a";
  const Error error = error_of_pickle(pickle);
  EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
  EXPECT_THAT(error.what(), HasSubstr("more than 1048576 opcodes"));
  EXPECT_EQ(error.offset(), 2u + (1 << 20));
}

TEST(HostilePickle, DeepNestingIsRefused) {
  const Error error = error_of_pickle("\x80\x02N" + std::string(1'000'000, '\x85') + ".");
  EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
  EXPECT_THAT(error.what(), HasSubstr("nested"));
  EXPECT_EQ(error_of_pickle("\x80\x02" + std::string(1'000'000, '(')).kind(),
            ErrorKind::limit_exceeded);
  EXPECT_EQ(error_of_pickle("\x80\x02" + std::string(1'000'000, ']')).kind(),
            ErrorKind::limit_exceeded);
}

TEST(HostilePickle, ContainersThatHoldThemselvesAreRefusedOrForgotten) {
  // l = []; l.append(l). Elements that aren't numbers are counted, not stored.
  EXPECT_THAT(error_of_pickle("\x80\x02]q\x01h\x01"
                              "a."s)
                  .what(),
              HasSubstr("where a dict belongs"));
  // d = {}; d['data'] = d
  EXPECT_THAT(error_of_pickle("\x80\x02}q\x01U\x04"
                              "datah\x01s."s)
                  .what(),
              HasSubstr("another kind of value"));
}

// --- every truncation, every flipped bit ----------------------------------------------------

TEST(HostilePickle, CutAnywhereIsTruncatedOrContradictsItself) {
  for (const char* name :
       {"python2-numpy1-cifar10-protocol2-cpickle", "python3-numpy1-cifar10-protocol2",
        "python3-numpy2-cifar10-protocol5"}) {
    const std::string whole = golden_pickle(name);
    for (size_t size = 0; size < whole.size(); ++size) {
      const ErrorKind kind = error_of_pickle(whole.substr(0, size)).kind();
      ASSERT_TRUE(kind == ErrorKind::truncated || kind == ErrorKind::corrupted)
          << name << " cut at " << size << ": " << to_string(kind);
    }
  }
}

TEST(HostilePickle, AFlippedBitIsNoticedOrHarmless) {
  for (const char* name :
       {"python2-numpy1-cifar10-protocol2-cpickle", "python3-numpy1-cifar10-protocol2",
        "python3-numpy2-cifar10-protocol5"}) {
    const std::string whole = golden_pickle(name);
    size_t refused = 0;
    for (size_t i = 0; i < whole.size(); ++i) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
      try {
        const CifarBatch batch = read_pickle(damaged);
        ASSERT_EQ(batch.rows(), 2u);
        for (const uint8_t label : batch.labels) ASSERT_LT(label, 10);
      } catch (const Error&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 100u) << name;  // the other bits are in pixels and names
  }
}

}  // namespace
}  // namespace recordpipe
