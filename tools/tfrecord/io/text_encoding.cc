#include "tools/tfrecord/io/text_encoding.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <iconv.h>

#include "recordpipe/base/error.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {
namespace {

constexpr size_t kBufferSize = size_t{64} << 10;
constexpr std::string_view kOfNames =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:+()";

class Converter {
 public:
  explicit Converter(const std::string& encoding)
      : converter_(iconv_open("UTF-8", encoding.c_str())) {
    // iconv takes a name of other characters for the locale's encoding, and options after a slash,
    // such as //IGNORE, which drops characters.
    const bool is_name = !encoding.empty() && encoding.find_first_not_of(kOfNames) == encoding.npos;
    if (converter_ != kNone && is_name) return;
    if (converter_ != kNone) iconv_close(converter_);
    throw UsageError("--encoding: no encoding is named " + printable(shown_word(encoding)) +
                     " (\"iconv -l\" lists them: utf-16, latin1, cp1252, shift_jis, ...)");
  }
  ~Converter() { iconv_close(converter_); }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  // Returns errno, 0 for success. Without `in`, ends the output.
  int convert(std::span<char>* in, std::span<char>& out) {
    char* from = in ? in->data() : nullptr;
    size_t from_size = in ? in->size() : 0;
    char* to = out.data();
    size_t to_size = out.size();
    const size_t result =
        iconv(converter_, in ? &from : nullptr, in ? &from_size : nullptr, &to, &to_size);
    const int error = result == static_cast<size_t>(-1) ? errno : 0;
    if (in) *in = in->last(from_size);
    out = out.last(to_size);
    return error;
  }

 private:
  inline static const iconv_t kNone = reinterpret_cast<iconv_t>(-1);

  iconv_t converter_;
};

class ConvertedText final : public ByteSource {
 public:
  ConvertedText(std::unique_ptr<ByteSource> source, const std::string& encoding)
      : source_(std::move(source)), encoding_(encoding), converter_(encoding) {}

  size_t read(std::span<std::byte> out) override {
    if (rest_.empty() && !is_complete_) fill();
    const size_t count = std::min(out.size(), rest_.size());
    std::ranges::copy(std::as_bytes(rest_.first(count)), out.begin());
    rest_ = rest_.subspan(count);
    return count;
  }
  const std::string& path() const override { return source_->path(); }

 private:
  // Converts until there is some text, or the source has ended.
  void fill() {
    std::span<char> out(converted_);
    while (out.size() == converted_.size() && !is_complete_) {
      if (has_ended_ && in_.empty()) {
        converter_.convert(nullptr, out);
        is_complete_ = true;
        break;
      }
      if (needs_more_) read_more();
      const size_t before = in_.size();
      const int error = converter_.convert(&in_, out);
      consumed_ += before - in_.size();
      needs_more_ = in_.empty() || error == EINVAL;
      if (error == EILSEQ || (error == EINVAL && has_ended_)) fail(out);
    }
    rest_ = std::span(converted_).first(converted_.size() - out.size());
    lines_ += static_cast<uint64_t>(std::ranges::count(rest_, '\n'));
  }

  // Keeps the beginning of a character.
  void read_more() {
    std::ranges::copy(in_, buffer_.begin());
    const size_t kept = in_.size();
    const size_t count = source_->read(std::as_writable_bytes(std::span(buffer_).subspan(kept)));
    has_ended_ = count == 0;
    in_ = std::span(buffer_).first(kept + count);
  }

  [[noreturn]] void fail(std::span<char> out) const {
    const auto text = std::span(converted_).first(converted_.size() - out.size());
    const auto line = lines_ + static_cast<uint64_t>(std::ranges::count(text, '\n')) + 1;
    throw Error({.kind = ErrorKind::corrupted,
                 .path = path(),
                 .reason = "line " + std::to_string(line) + ": byte " +
                           std::to_string(consumed_ + 1) + " of the file is not " + encoding_,
                 .hint = "give the text's own --encoding"});
  }

  std::unique_ptr<ByteSource> source_;
  const std::string encoding_;
  Converter converter_;
  std::vector<char> buffer_ = std::vector<char>(kBufferSize);
  std::span<char> in_;  // of buffer_: not yet converted
  bool needs_more_ = true;
  bool has_ended_ = false;
  std::vector<char> converted_ = std::vector<char>(kBufferSize);
  std::span<char> rest_;  // of converted_: not yet returned
  bool is_complete_ = false;
  uint64_t consumed_ = 0;
  uint64_t lines_ = 0;
};

// Returns the encoding that the first bytes of a text show, if it is not UTF-8; empty otherwise.
std::string_view wide_encoding(std::span<const std::byte> head) {
  std::array<int, 4> bytes = {-1, -1, -1, -1};
  std::ranges::transform(head.first(std::min(head.size(), bytes.size())), bytes.begin(),
                         [](std::byte byte) { return std::to_integer<int>(byte); });
  const auto [a, b, c, d] = bytes;
  if ((a == 0xff && b == 0xfe && c == 0 && d == 0) || (a == 0 && b == 0 && c == 0xfe && d == 0xff))
    return "UTF-32";
  if ((a == 0xff && b == 0xfe) || (a == 0xfe && b == 0xff)) return "UTF-16";
  if (a > 0 && b == 0 && c > 0 && d == 0) return "UTF-16LE";
  if (a == 0 && b > 0 && c == 0 && d > 0) return "UTF-16BE";
  return {};
}

}  // namespace

void require_encoding(const std::string& encoding) { Converter{encoding}; }

std::unique_ptr<ByteSource> as_utf8(std::unique_ptr<ByteSource> source,
                                    const std::string& encoding) {
  if (!encoding.empty()) return std::make_unique<ConvertedText>(std::move(source), encoding);
  PeekedSource peeked = peek(std::move(source), 4);
  const std::string_view wide = wide_encoding(peeked.head);
  if (wide.empty()) return std::move(peeked.source);
  throw Error({.kind = ErrorKind::unsupported,
               .path = peeked.source->path(),
               .reason = "is " + std::string(wide) + " text, not UTF-8",
               .hint = "--encoding " + std::string(wide) + " reads it"});
}

}  // namespace recordpipe
