// Tests that the library's hints are mapped to options by the kind of remedy, not by the text.
#include <array>

#include <gtest/gtest.h>

#include "dataset/base/damage_hint.h"
#include "dataset/record/record_framing.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {
namespace {

std::string text_for(Remedy remedy) {
  return text_of(Error({.kind = ErrorKind::corrupted,
                        .path = "a",
                        .offset = 3,
                        .reason = "broken",
                        .hint = "do something",
                        .remedy = remedy}));
}

Error unmasked() {
  const std::array<std::byte, 4> zeros = {};
  return corrupted_data("a", 0, 1, zeros);
}

TEST(OptionHints, FollowTheRemedy) {
  EXPECT_EQ(text_for(Remedy::none), "a: broken at 3 (do something)");
  EXPECT_EQ(text_for(Remedy::salvage),
            "a: broken at 3 (do something; tfrecord salvage saves the intact records)");
  EXPECT_NE(text_for(Remedy::crc_check_off).find("read it with --no-crc"), std::string::npos);
  EXPECT_NE(
      text_of(with_remedy(unmasked(), "skip it").value()).find("fetch it again; skip it; tfrecord"),
      std::string::npos);
  EXPECT_EQ(text_for(Remedy::raise_max_record_size),
            "a: broken at 3 (if the length is correct, raise --max-record-size; otherwise the file "
            "is damaged)");
  EXPECT_NE(text_for(Remedy::compression_zlib).find("give --input-compression zlib"),
            std::string::npos);
}

TEST(OptionHints, WordsOfTheReasonOrTheHintChangeNothing) {
  const Error error({.kind = ErrorKind::unsupported,
                     .reason = "the features of this record",
                     .hint = "raise max_record_size, or fetch it again"});
  EXPECT_EQ(text_of(error), error.what());
}

TEST(OptionHints, OfARegionSpeakToThoseWhoCheckEveryCrc) {
  const Error error = unmasked();
  EXPECT_EQ(error.remedy(), Remedy::crc_check_off);
  const std::string hint =
      hint_of({.reason = error.reason(), .hint = error.hint(), .remedy = error.remedy()});
  EXPECT_NE(hint.find("tfrecord convert --no-crc writes them anew"), std::string::npos);
  EXPECT_EQ(hint_of({.hint = "do something", .remedy = Remedy::salvage}), "do something");
}

}  // namespace
}  // namespace recordpipe
