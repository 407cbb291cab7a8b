#include <optional>
#include <string_view>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/toolkit/numpy.h"

namespace recordpipe {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint64_t kMaxBytes = uint64_t{1} << 48;
// Limit on rows without bytes, because any number of such rows fits into the smallest file.
constexpr uint64_t kMaxEmptyRows = uint64_t{1} << 20;

[[noreturn]] void corrupted(const std::string& reason) {
  throw Error({.kind = ErrorKind::corrupted, .reason = "not a .npy file: " + reason});
}

[[noreturn]] void unsupported(const std::string& reason, const std::string& hint = "") {
  throw Error({.kind = ErrorKind::unsupported, .reason = reason, .hint = hint});
}

// A cursor over the header's dictionary, which is a Python literal.
class Literal {
 public:
  explicit Literal(std::string_view text) : rest_(text) {}

  bool take(std::string_view token) {
    skip_spaces();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) corrupted("\"" + std::string(token) + "\" is missing in its header");
  }
  std::string_view string() {
    skip_spaces();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    if (quote != '\'' && quote != '"') corrupted("a string is missing in its header");
    const size_t end = rest_.find(quote, 1);
    if (end == rest_.npos) corrupted("unterminated string in the header");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::optional<uint64_t> number() {
    skip_spaces();
    size_t digits = 0;
    uint64_t value = 0;
    while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') {
      if (value > kMaxBytes) corrupted("a number in its header is too large");
      value = value * 10 + static_cast<uint64_t>(rest_[digits++] - '0');
    }
    if (digits == 0) return std::nullopt;
    rest_.remove_prefix(digits);
    take("L");  // Python 2
    return value;
  }
  bool at_end() {
    skip_spaces();
    return rest_.empty();
  }
  bool starts_with(char c) {
    skip_spaces();
    return rest_.starts_with(c);
  }

 private:
  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) {
      rest_.remove_prefix(1);
    }
  }

  std::string_view rest_;
};

std::vector<uint64_t> parse_shape(Literal& literal) {
  std::vector<uint64_t> shape;
  literal.expect("(");
  while (const auto length = literal.number()) {
    shape.push_back(*length);
    if (!literal.take(",")) break;
  }
  literal.expect(")");
  return shape;
}

void parse_type(std::string_view type, NpyHeader& header) {
  const char order = type.empty() ? '?' : type.front();
  const std::string shown = "dtype " + printable(type);
  if (type.size() < 3 || std::string_view("<>|=").find(order) == std::string_view::npos) {
    unsupported(shown + ", which is neither a numeric nor a string type");
  }
  header.kind = type[1];
  header.big_endian = order == '>';
  constexpr std::string_view kAsNumbers = "save it as whole numbers, array.astype(\"int64\")";
  if (header.kind == 'M') {  // "<M8[ns]"
    unsupported(shown + ", which holds dates and times",
                std::string(kAsNumbers) + ", or as text, numpy.datetime_as_string(array)");
  }
  if (header.kind == 'm') {
    unsupported(shown + ", which holds differences of times", std::string(kAsNumbers));
  }
  Literal digits(type.substr(2));
  const auto number = digits.number();
  if (!number || !digits.at_end() || *number > kMaxNpyHeader * 1024) corrupted("its " + shown);
  header.item_size = *number * (header.kind == 'U' ? 4 : 1);
  const size_t size = header.item_size;
  const bool is_integer_size = size == 1 || size == 2 || size == 4 || size == 8;
  switch (header.kind) {
    case 'u':
    case 'i':
      if (is_integer_size) return;
      break;
    case 'f':
      if (is_integer_size && size > 1) return;
      break;
    case 'b':
      if (size == 1) return;
      break;
    case 'S':
    case 'U':
      return;
    default:
      break;
  }
  unsupported(shown + ", which is neither a numeric nor a string type",
              header.kind == 'O' ? "objects are pickles, which are not executed here" : "");
}

uint64_t product(std::span<const uint64_t> shape, size_t item_size) {
  uint64_t values = 1;
  uint64_t bytes = item_size;
  bool empty = false;
  for (const uint64_t length : shape) {
    empty = empty || length == 0;
    if (__builtin_mul_overflow(values, length, &values) ||
        __builtin_mul_overflow(bytes, length, &bytes) || bytes > kMaxBytes) {
      if (!empty) corrupted("its shape is larger than any file");
      return 0;
    }
  }
  return values;
}

}  // namespace

uint64_t NpyHeader::row_values() const { return product(std::span(shape).subspan(1), item_size); }

NpyHeader parse_npy_header(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic)) corrupted("it doesn't begin with \\x93NUMPY");
  if (text.size() < 12) corrupted("truncated header");
  const auto version = static_cast<unsigned char>(text[6]);
  if (version < 1 || version > 3) unsupported("version " + std::to_string(version) + " of .npy");
  const size_t length_size = version == 1 ? 2 : 4;
  const uint64_t length = version == 1 ? load_little_endian<uint16_t>(file.data() + 8)
                                       : load_little_endian<uint32_t>(file.data() + 8);
  NpyHeader header;
  header.data_begin = 8 + length_size + length;
  if (header.data_begin > kMaxNpyHeader)
    unsupported("a header of " + std::to_string(length) + " bytes");
  if (header.data_begin > text.size()) corrupted("truncated header");

  Literal literal(text.substr(8 + length_size, length));
  bool has_type = false;
  bool has_order = false;
  bool has_shape = false;
  literal.expect("{");
  while (!literal.take("}")) {
    const std::string_view key = literal.string();
    literal.expect(":");
    if (key == "descr" && !has_type) {
      if (literal.starts_with('[')) unsupported("an array of structures");
      parse_type(literal.string(), header);
      has_type = true;
    } else if (key == "fortran_order" && !has_order) {
      if (literal.take("True")) {
        unsupported("an array in Fortran's order", "save it with numpy.ascontiguousarray()");
      }
      literal.expect("False");
      has_order = true;
    } else if (key == "shape" && !has_shape) {
      header.shape = parse_shape(literal);
      has_shape = true;
    } else {
      corrupted("its header has the key " + printable(key));
    }
    if (!literal.take(",") && !literal.starts_with('}'))
      corrupted("a comma is missing in its header");
  }
  if (!has_type || !has_order || !has_shape || !literal.at_end())
    corrupted("its header is incomplete");
  if (header.shape.empty()) unsupported("an array without a dimension, so without rows");
  product(header.shape, header.item_size);
  if (header.row_bytes() == 0 && header.rows() > kMaxEmptyRows) {
    unsupported(std::to_string(header.rows()) + " rows without a byte");
  }
  return header;
}

std::string npy_header_text(const std::string& type, std::span<const uint64_t> shape) {
  std::string dictionary = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); ++i) {
    dictionary += std::to_string(shape[i]);
    if (shape.size() == 1 || i + 1 < shape.size()) dictionary += ",";
    if (i + 1 < shape.size()) dictionary += " ";
  }
  dictionary += "), }";
  constexpr size_t kBefore = 10;
  constexpr size_t kAlignment = 64;
  const size_t size = (kBefore + dictionary.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  dictionary.resize(size - kBefore - 1, ' ');
  dictionary += '\n';
  std::string text(kMagic);
  text += std::string_view("\x01\x00", 2);
  text += static_cast<char>(dictionary.size() & 0xff);
  text += static_cast<char>(dictionary.size() >> 8);
  return text + dictionary;
}

}  // namespace recordpipe
