#include "trainer/checkpoint/safetensors_header.h"

#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

// Accepts the JSON events that the format allows and rejects all others.
class HeaderParser : public nlohmann::json_sax<nlohmann::json> {
 public:
  SafetensorsHeader take() { return std::move(header_); }
  const std::string& problem() const { return problem_; }

  bool start_object(size_t) override {
    if (place_ == Place::start) return move_to(Place::top);
    if (place_ == Place::tensor_value) return move_to(Place::tensor);
    if (place_ == Place::metadata_value) return move_to(Place::metadata);
    return refuse("an object");
  }

  bool key(string_t& name) override {
    if (place_ == Place::metadata) {
      metadata_key_ = name;
      if (header_.metadata.contains(name))
        return fail(fmt::format("metadata {} occurs twice", in_quotes(name)));
      return true;
    }
    if (place_ == Place::tensor) {
      if (name != "dtype" && name != "shape" && name != "data_offsets")
        return fail(fmt::format("{} has an unknown member {}", tensor(), in_quotes(name)));
      if (!members_.insert(name).second)
        return fail(fmt::format("{} has two members '{}'", tensor(), name));
      member_ = name;
      return true;
    }
    if (!names_.insert(name).second) return fail(fmt::format("{} occurs twice", in_quotes(name)));
    if (name == "__metadata__") return move_to(Place::metadata_value);
    entry_ = {.name = name, .dtype = {}, .shape = {}, .offsets = {}};
    members_.clear();
    return move_to(Place::tensor_value);
  }

  bool string(string_t& value) override {
    if (place_ == Place::metadata) {
      header_.metadata[metadata_key_] = value;
      return true;
    }
    if (place_ == Place::tensor && member_ == "dtype") {
      entry_.dtype = value;
      return true;
    }
    return refuse("a string");
  }

  bool start_array(size_t) override {
    if (place_ == Place::tensor && member_ == "shape") return move_to(Place::shape);
    if (place_ == Place::tensor && member_ == "data_offsets") return move_to(Place::offsets);
    return refuse("an array");
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::shape && place_ != Place::offsets) return refuse("a number");
    const bool shape = place_ == Place::shape;
    std::vector<uint64_t>& numbers = shape ? entry_.shape : entry_.offsets;
    if (numbers.size() == (shape ? safetensors_dimension_limit : 2))
      return fail(tensor() + (shape ? " has too many dimensions" : " has more than two offsets"));
    numbers.push_back(value);
    return true;
  }

  bool end_array() override { return move_to(Place::tensor); }

  bool end_object() override {
    if (place_ == Place::tensor) {
      if (members_.size() != 3 || entry_.offsets.size() != 2)
        return fail(tensor() + " lacks its dtype, shape or two data_offsets");
      header_.entries.push_back(std::move(entry_));
    }
    return move_to(place_ == Place::top ? Place::end : Place::top);
  }

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool number_integer(number_integer_t) override { return refuse("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return refuse("a fraction"); }
  bool binary(binary_t&) override { return refuse("binary data"); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    return fail("the header is not JSON at its byte " + std::to_string(position));
  }

 private:
  enum class Place {
    start,
    top,
    metadata_value,
    metadata,
    tensor_value,
    tensor,
    shape,
    offsets,
    end
  };

  bool move_to(Place place) {
    place_ = place;
    return true;
  }
  std::string tensor() const { return "tensor " + in_quotes(entry_.name); }
  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  bool refuse(const std::string& what) {
    return fail("the header has " + what + " in an invalid place");
  }

  Place place_ = Place::start;
  SafetensorsHeader header_;
  std::set<std::string> names_;
  std::string metadata_key_;
  SafetensorsHeader::Entry entry_;  // the tensor being parsed
  std::set<std::string> members_;
  std::string member_;
  std::string problem_;
};

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr size_t most = 100;
  return fmt::format("'{}{}'", printable(text.substr(0, most)), text.size() > most ? "..." : "");
}

SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& path) {
  HeaderParser parser;
  if (!nlohmann::json::sax_parse(json, &parser))
    throw Error(
        {.kind = ErrorKind::corrupted, .path = path, .offset = 8, .reason = parser.problem()});
  return parser.take();
}

}  // namespace recordpipe
