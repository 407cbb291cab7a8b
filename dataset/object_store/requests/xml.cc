#include "dataset/object_store/requests/xml.h"

#include <algorithm>
#include <cstdint>

#include "dataset/base/parse_number.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxLevels = 32;
constexpr size_t kLongestName = 128;

Error not_xml(const std::string& reason) {
  return Error({.kind = ErrorKind::corrupted,
                .reason = "the server's answer is not the expected XML: " + reason});
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// The name at the start of a tag, without its prefix.
std::string_view name_of(std::string_view tag) {
  const auto end = std::ranges::find_if(tag, [](char c) { return is_space(c) || c == '/'; });
  std::string_view name = tag.substr(0, static_cast<size_t>(end - tag.begin()));
  if (const size_t colon = name.rfind(':'); colon != name.npos) name.remove_prefix(colon + 1);
  if (name.empty() || name.size() > kLongestName) throw not_xml("a name");
  return name;
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// Appends the character of a reference, for example "amp" or "#x41".
void append_reference(std::string& out, std::string_view name) {
  if (name.starts_with('#')) {
    const bool is_hex = name.starts_with("#x");
    name.remove_prefix(is_hex ? 2 : 1);
    const uint32_t code = parse_number<uint32_t>(name, is_hex ? 16 : 10).value_or(0);
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
      throw not_xml("a character reference");
    }
    return append_utf8(out, code);
  }
  static constexpr std::pair<std::string_view, char> kEntities[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [known, character] : kEntities) {
    if (name == known) {
      out += character;
      return;
    }
  }
  throw not_xml("an entity");
}

}  // namespace

std::string_view XmlReader::take_until(std::string_view end) {
  const size_t at = rest_.find(end);
  if (at == rest_.npos) throw not_xml("it ends early");
  const std::string_view taken = rest_.substr(0, at);
  rest_.remove_prefix(at + end.size());
  return taken;
}

bool XmlReader::next() {
  if (is_closed_) {
    path_.resize(path_.rfind('/'));
    text_.clear();
    is_closed_ = false;
  }
  if (is_empty_element_) {
    is_empty_element_ = false;
    take_end(path_.substr(path_.rfind('/') + 1));
    return true;
  }
  while (!rest_.empty()) {
    if (rest_.front() != '<') {
      take_text();
    } else if (take_markup()) {
      return true;
    }
  }
  if (depth_ != 0 || !had_root_) throw not_xml("it ends early");
  return false;
}

// Takes a piece of markup. Returns whether it was a start or an end.
bool XmlReader::take_markup() {
  rest_.remove_prefix(1);
  if (rest_.starts_with("!--")) {
    rest_.remove_prefix(3);
    take_until("-->");
    return false;
  }
  if (rest_.starts_with("![CDATA[")) {
    rest_.remove_prefix(8);
    text_ += take_until("]]>");
    return false;
  }
  if (rest_.starts_with('?')) {
    take_until("?>");
    return false;
  }
  if (rest_.starts_with('!')) throw not_xml("a DOCTYPE");
  if (rest_.starts_with('/')) {
    rest_.remove_prefix(1);
    take_end(take_until(">"));
    return true;
  }
  // A ">" may be in the value of an attribute.
  char quote = 0;
  size_t end = 0;
  for (; end < rest_.size() && (quote != 0 || rest_[end] != '>'); ++end) {
    const char c = rest_[end];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    }
  }
  if (end == rest_.size()) throw not_xml("it ends early");
  take_start(rest_.substr(0, end));
  rest_.remove_prefix(end + 1);
  return true;
}

void XmlReader::take_start(std::string_view tag) {
  if (depth_ == kMaxLevels) throw not_xml("too many levels");
  if (depth_ == 0 && had_root_) throw not_xml("two roots");
  had_root_ = true;
  depth_ += 1;
  event_ = Event::start;
  path_ += "/";
  path_ += name_of(tag);
  text_.clear();
  is_empty_element_ = tag.ends_with('/');
}

void XmlReader::take_end(std::string_view tag) {
  if (depth_ == 0 || name_of(tag) != std::string_view(path_).substr(path_.rfind('/') + 1)) {
    throw not_xml("an end without a start");
  }
  depth_ -= 1;
  event_ = Event::end;
  is_closed_ = true;
}

void XmlReader::take_text() {
  const size_t end = std::min(rest_.find('<'), rest_.size());
  std::string_view piece = rest_.substr(0, end);
  rest_.remove_prefix(end);
  if (depth_ == 0) {
    // A byte order mark may precede the document.
    if (!had_root_ && piece.starts_with("\xef\xbb\xbf")) piece.remove_prefix(3);
    if (!std::ranges::all_of(piece, is_space)) throw not_xml("text outside of the document");
    return;
  }
  while (!piece.empty()) {
    const size_t plain = std::min(piece.find('&'), piece.size());
    text_ += piece.substr(0, plain);
    piece.remove_prefix(plain);
    if (piece.empty()) return;
    const size_t semicolon = piece.find(';');
    if (semicolon == piece.npos) throw not_xml("an entity");
    append_reference(text_, piece.substr(1, semicolon - 1));
    piece.remove_prefix(semicolon + 1);
  }
}

}  // namespace recordpipe
