#include "recordpipe/io/sha256.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

std::string hex_of(std::string_view text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return hash.hex();
}

// The vectors in the examples for FIPS 180-4.
TEST(Sha256, MatchesThePublishedVectors) {
  EXPECT_EQ(hex_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, OfAMillionBytesInPiecesOfAnySize) {
  const std::string text(1'000'000, 'a');
  for (const size_t piece : {1u, 63u, 64u, 65u, 4096u}) {
    Sha256 hash;
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view head = rest.substr(0, piece);
      hash.update(std::as_bytes(std::span(head)));
      rest.remove_prefix(head.size());
    }
    EXPECT_EQ(hash.hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
}

TEST(Sha256, GoesOnAfterADigestAndAMove) {
  const std::string_view text = "abc";
  const auto bytes = std::as_bytes(std::span(text));
  Sha256 hash;
  hash.update(bytes.first(1));
  EXPECT_EQ(hash.hex(), hex_of("a"));
  EXPECT_EQ(hash.hex(), hex_of("a"));
  Sha256 moved = std::move(hash);
  moved.update(bytes.subspan(1));
  EXPECT_EQ(moved.hex(), hex_of("abc"));
}

TEST(ParseSha256, TakesSixtyFourDigitsOnly) {
  const std::string digits(62, '0');
  EXPECT_EQ(parse_sha256(digits + "Af"), digits + "af");
  for (const std::string& bad :
       {std::string(), digits, digits + "0g", digits + "000", "\n" + digits + "0"}) {
    EXPECT_THROW(parse_sha256(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace recordpipe
