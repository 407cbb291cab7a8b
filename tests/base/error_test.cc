#include "recordpipe/base/error.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace recordpipe {
namespace {

TEST(Error, MessageNamesPathReasonOffsetAndHint) {
  const Error error({.kind = ErrorKind::truncated,
                     .path = "a.tfrecords",
                     .offset = 42,
                     .reason = "truncated record",
                     .hint = "copy the file again"});
  EXPECT_STREQ(error.what(), "a.tfrecords: truncated record at 42 (copy the file again)");
  EXPECT_EQ(error.kind(), ErrorKind::truncated);
}

TEST(Error, MessageLeavesOutEmptyParts) {
  const Error error({.kind = ErrorKind::cancelled, .reason = "interrupted"});
  EXPECT_STREQ(error.what(), "interrupted");
}

TEST(Error, MessageIsOneLineWhateverThePath) {
  const Error error({.kind = ErrorKind::io, .path = "a\nb\xff", .reason = "read failed"});
  EXPECT_STREQ(error.what(), "a\\x0ab\\xff: read failed");
}

TEST(Error, MessageIsOneLineWhateverTheReason) {
  const Error error({.kind = ErrorKind::corrupted,
                     .path = "a\\",
                     .reason = "no member \x1b[2J\\n",
                     .hint = "see\nthere"});
  EXPECT_STREQ(error.what(), "a\\x5c: no member \\x1b[2J\\n (see\\x0athere)");
}

TEST(Error, SystemErrorsKeepTheirKind) {
  EXPECT_EQ(system_error(ENOENT, "open", "x").kind(), ErrorKind::not_found);
  EXPECT_EQ(system_error(ENOENT, "open", "x").hint(), "");
  EXPECT_NE(system_error(ENOENT, "open", "az://container/x").hint().find("s3://"),
            std::string::npos);
  EXPECT_EQ(system_error(ENOSPC, "write", "x").kind(), ErrorKind::no_space);
  EXPECT_EQ(system_error(EIO, "read", "x").kind(), ErrorKind::io);
  EXPECT_NE(std::string(system_error(ENOSPC, "write", "x").what()).find("write failed"),
            std::string::npos);
}

TEST(Printable, KeepsUtf8AndEscapesTheRest) {
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xf0\x9f\x98"), "\\xf0\\x9f\\x98");  // cut short
  EXPECT_EQ(printable("a\tb\\"), "a\\x09b\\x5c");
  EXPECT_EQ(printable("\x1b[2J\x7f"), "\\x1b[2J\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J\xc2\xa0"),
            "\\xc2\\x9b"
            "2J\xc2\xa0");  // U+009B is ESC [
}

}  // namespace
}  // namespace recordpipe
