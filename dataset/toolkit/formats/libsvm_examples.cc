#include "recordpipe/toolkit/libsvm_examples.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "dataset/example/nearest_float.h"
#include "dataset/toolkit/number_text.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/example_builder.h"

namespace recordpipe {
namespace {

[[noreturn]] void fail_libsvm(std::string reason) {
  throw Error({.kind = ErrorKind::corrupted,
               .reason = std::move(reason),
               .hint = "a line is LABEL INDEX:VALUE INDEX:VALUE ..."});
}

float number_of(std::string_view text) {
  const bool has_plus = text.starts_with('+') && !text.starts_with("+-");
  if (const auto value = parse_float(has_plus ? text.substr(1) : text)) return *value;
  if (is_number(text)) fail_libsvm(out_of_float_range(text));
  fail_libsvm("\"" + printable(text) + "\" is no number");
}

int64_t index_of(std::string_view text) {
  if (const auto value = parse_int64(text)) return *value;
  fail_libsvm("\"" + printable(text) + "\" is no index, a whole number");
}

}  // namespace

std::optional<std::string> example_of_libsvm(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  line = line.substr(0, line.find('#'));
  std::optional<float> label;
  std::optional<int64_t> query;
  std::vector<int64_t> indexes;
  std::vector<float> values;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    if (line.empty()) break;
    const std::string_view word = line.substr(0, line.find_first_of(kBlank));
    line.remove_prefix(word.size());
    const size_t colon = word.find(':');
    if (!label) {
      label = number_of(word);
    } else if (colon == word.npos) {
      fail_libsvm("\"" + printable(word) + "\" is no INDEX:VALUE");
    } else if (word.substr(0, colon) == "qid") {
      if (query || !indexes.empty()) fail_libsvm("qid: stands once, behind the label");
      query = index_of(word.substr(colon + 1));
    } else {
      indexes.push_back(index_of(word.substr(0, colon)));
      values.push_back(number_of(word.substr(colon + 1)));
    }
  }
  if (!label) return std::nullopt;
  ExampleBuilder example;
  example.set_float("label", *label).set_int64s("index", indexes).set_floats("value", values);
  if (query) example.set_int64("qid", *query);
  return example.serialize();
}

}  // namespace recordpipe
