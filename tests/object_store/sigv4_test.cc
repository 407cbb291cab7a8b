// Tests signatures with AWS's published examples. Sources:
//   suite   the "Signature Version 4 test suite" of the AWS General Reference
//           (aws-sig4-test-suite; today distributed with the AWS SDKs and botocore:
//           tests/unit/auth/aws4_testsuite): access key AKIDEXAMPLE, 2015-08-30T12:36:00Z
//   S3      "Authenticating Requests: Using the Authorization Header", Amazon S3 API Reference,
//           https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
//   RFC     RFC 4231, test cases for HMAC-SHA-256
#include "dataset/object_store/aws/sigv4.h"

#include <string>

#include <gtest/gtest.h>

#include "dataset/object_store/requests/uri_encode.h"

namespace recordpipe {
namespace {

constexpr std::time_t kSuiteTime = 1440938160;  // 2015-08-30T12:36:00Z
constexpr std::time_t kS3Time = 1369353600;     // 2013-05-24T00:00:00Z

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(byte));
    text += digits;
  }
  return text;
}

std::string hmac_of(const std::string& key, const std::string& text) {
  return hex(hmac_sha256(std::as_bytes(std::span(key)), text));
}

std::string signature_of(const SigV4Request& request, const SigV4Scope& scope, std::time_t time) {
  const std::string header = sigv4_authorization(request, scope, time);
  return header.substr(header.rfind('=') + 1);
}

// A request of the suite.
std::string suite_signature(SigV4Request request) {
  request.headers.emplace_back("Host", "example.amazonaws.com");
  request.headers.emplace_back("X-Amz-Date", "20150830T123600Z");
  return signature_of(request,
                      {.access_key = "AKIDEXAMPLE",
                       .secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                       .region = "us-east-1",
                       .service = "service"},
                      kSuiteTime);
}

// A request of the S3 documentation.
std::string s3_authorization(SigV4Request request) {
  request.headers.emplace_back("Host", "examplebucket.s3.amazonaws.com");
  request.headers.emplace_back("x-amz-content-sha256", std::string(kEmptySha256));
  request.headers.emplace_back("x-amz-date", "20130524T000000Z");
  return sigv4_authorization(request,
                             {.access_key = "AKIAIOSFODNN7EXAMPLE",
                              .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                              .region = "us-east-1"},
                             kS3Time);
}

TEST(SigV4, Hmac) {
  EXPECT_EQ(hmac_of(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_of("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  // A key of more than one block.
  EXPECT_EQ(
      hmac_of(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(SigV4, Time) {
  EXPECT_EQ(sigv4_time(kSuiteTime), "20150830T123600Z");
  EXPECT_EQ(sigv4_time(kS3Time), "20130524T000000Z");
}

TEST(SigV4, SuiteOfAws) {
  // get-vanilla
  EXPECT_EQ(suite_signature({}),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  // get-vanilla-query-order-key-case
  EXPECT_EQ(suite_signature({.query = {{"Param2", "value2"}, {"Param1", "value1"}}}),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  // get-vanilla-empty-query-key
  EXPECT_EQ(suite_signature({.query = {{"Param1", "value1"}}}),
            "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb");
  // get-unreserved
  const std::string unreserved =
      "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  EXPECT_EQ(suite_signature({.path = uri_encode("/" + unreserved, Slashes::keep)}),
            "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f");
  // get-vanilla-query-unreserved
  EXPECT_EQ(suite_signature({.query = {{unreserved, unreserved}}}),
            "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197");
  // get-utf8
  EXPECT_EQ(suite_signature({.path = uri_encode("/\u1234", Slashes::keep)}),
            "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
  // get-vanilla-utf8-query
  EXPECT_EQ(suite_signature({.query = {{"\u1234", "bar"}}}),
            "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04");
  // get-header-key-duplicate, get-header-value-multiline
  EXPECT_EQ(suite_signature({.headers = {{"My-Header1", "value2"},
                                         {"My-Header1", "value2"},
                                         {"My-Header1", "value1"}}}),
            "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea");
  EXPECT_EQ(suite_signature({.headers = {{"My-Header1", "value1,value2,value3"}}}),
            "ba17b383a53190154eb5fa66a1b836cc297cc0a3d70a5d00705980573d8ff790");
  // get-header-value-trim
  EXPECT_EQ(
      suite_signature({.headers = {{"My-Header1", "  value1"}, {"My-Header2", " \"a   b   c\""}}}),
      "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");
  // post-vanilla
  EXPECT_EQ(suite_signature({.method = "POST"}),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
}

TEST(SigV4, ExamplesOfS3) {
  // GET Object
  EXPECT_EQ(s3_authorization({.path = "/test.txt", .headers = {{"Range", "bytes=0-9"}}}),
            "AWS4-HMAC-SHA256 "
            "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  const auto signature = [](const SigV4Request& request) {
    const std::string header = s3_authorization(request);
    return header.substr(header.rfind('=') + 1);
  };
  // GET Bucket Lifecycle
  EXPECT_EQ(signature({.query = {{"lifecycle", ""}}}),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  // Get Bucket (List Objects)
  EXPECT_EQ(signature({.query = {{"max-keys", "2"}, {"prefix", "J"}}}),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(UriEncode, AsTheSignatureRequires) {
  EXPECT_EQ(uri_encode("a/b c", Slashes::keep), "a/b%20c");
  EXPECT_EQ(uri_encode("a/b", Slashes::encode), "a%2Fb");
  EXPECT_EQ(uri_encode("+?#%&=:@!$'()*,;[]\"\\", Slashes::keep),
            "%2B%3F%23%25%26%3D%3A%40%21%24%27%28%29%2A%2C%3B%5B%5D%22%5C");
  EXPECT_EQ(uri_encode("../a//./b", Slashes::keep), "../a//./b");
  EXPECT_EQ(uri_encode("\xc3\xbc\xff", Slashes::keep), "%C3%BC%FF");
  EXPECT_EQ(uri_encode(std::string_view("\0\n\x7f", 3), Slashes::keep), "%00%0A%7F");
}

TEST(UriEncode, IsInverted) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(uri_decode(uri_encode(all, Slashes::encode)), all);
  EXPECT_EQ(uri_decode("a+b%2Bc"), "a b+c");
  EXPECT_EQ(uri_decode("50%"), "50%");
  EXPECT_EQ(uri_decode("%4"), "%4");
  EXPECT_EQ(uri_decode("%zz%41"), "%zzA");
}

}  // namespace
}  // namespace recordpipe
