#include "tools/support/command_line/option.h"

#include <utility>

#include <CLI/CLI.hpp>

namespace recordpipe {
namespace {

// The empty descriptions of checks: CLI11 appends descriptions to the type name.
constexpr char kUndescribed[] = "";

Option with_check(CLI::Option& option, CLI::Validator check) {
  option.check(check.description(kUndescribed));
  return Option(option);
}

}  // namespace

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::description(const std::string& text) const {
  option_->description(text);
  return *this;
}

Option Option::type_name(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

Option Option::default_text(const std::string& text) const {
  option_->default_str(text);
  return *this;
}

Option Option::show_default() const {
  option_->capture_default_str();
  return *this;
}

Option Option::check(Check check) const {
  option_->check(std::move(check), kUndescribed);
  return *this;
}

Option Option::transform(Transform transform) const {
  option_->transform(CLI::Validator(std::move(transform), kUndescribed));
  return *this;
}

Option Option::one_of(std::vector<std::string> choices) const {
  std::string names;
  for (const std::string& choice : choices) names.append(names.empty() ? "" : "|").append(choice);
  option_->type_name(names);
  return with_check(*option_, CLI::IsMember(std::move(choices)));
}

Option Option::between(uint64_t least, uint64_t most) const {
  return with_check(*option_, CLI::Range(least, most));
}

Option Option::between(int64_t least, int64_t most) const {
  return with_check(*option_, CLI::Range(least, most));
}

Option Option::comma_separated() const {
  option_->delimiter(',');
  return *this;
}

Option Option::excludes(Option other) const {
  option_->excludes(other.option_);
  return *this;
}

Option Option::needs(Option other) const {
  option_->needs(other.option_);
  return *this;
}

OptionFacts Option::facts() const {
  OptionFacts facts{.type_name = option_->get_type_name(),
                    .description = option_->get_description(),
                    .default_text = option_->get_default_str(),
                    .is_argument = option_->get_positional(),
                    .is_flag = option_->get_items_expected_max() == 0,
                    .required = option_->get_required(),
                    .repeated = option_->get_expected_max() > 1};
  if (facts.is_argument) {
    facts.names.push_back(option_->get_name(/*positional=*/true));
  } else {
    for (const std::string& name : option_->get_snames()) facts.names.push_back("-" + name);
    for (const std::string& name : option_->get_lnames()) facts.names.push_back("--" + name);
  }
  if (facts.is_flag) facts.type_name.clear();
  if (facts.type_name.find('|') != facts.type_name.npos) {
    facts.choices = CLI::detail::split(facts.type_name, '|');
  }
  if (facts.default_text == "[]" || facts.default_text == "{}") facts.default_text.clear();
  return facts;
}

bool OptionFacts::is_file() const {
  return choices.empty() && (type_name.find("FILE") != type_name.npos || names.front() == "FILE");
}

bool OptionFacts::is_folder() const {
  const std::string& what = is_argument ? names.front() : type_name;
  return choices.empty() && (what == "FOLDER" || what == "DIR");
}

bool Option::was_given() const { return !option_->empty(); }

const std::string& Option::text() const { return option_->results().front(); }

std::string size_to_bytes(std::string& text, bool kb_is_1000) {
  try {
    return CLI::AsSizeValue(kb_is_1000)(text);
  } catch (const CLI::ValidationError& error) {
    return error.what();
  }
}

}  // namespace recordpipe
