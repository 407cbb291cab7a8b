#include "recordpipe/io/glob.h"

#include <algorithm>
#include <utility>

#include <fnmatch.h>

#include "dataset/io/glob_walk.h"
#include "recordpipe/base/internal/url_path.h"

namespace recordpipe {
namespace {

struct Component {
  std::string text;  // of a literal component: without escapes
  bool is_pattern = false;
  bool is_any_depth = false;  // **
};

std::vector<Component> components_of(std::string_view pattern) {
  std::vector<Component> components;
  bool any_pattern = false;
  for (size_t begin = 0; begin <= pattern.size();) {
    const size_t end = std::min(pattern.find('/', begin), pattern.size());
    const std::string_view text = pattern.substr(begin, end - begin);
    const bool is_last = end == pattern.size();
    begin = end + 1;
    Component component{.text = std::string(text),
                        .is_pattern = has_glob_characters(text),
                        .is_any_depth = text == "**"};
    if (!component.is_pattern) component.text = without_escapes(text);
    // a//b and **/** mean a/b and **. Slashes before the first pattern remain in the results.
    const bool repeats =
        component.is_any_depth && !components.empty() && components.back().is_any_depth;
    if (repeats || (any_pattern && text.empty() && !is_last)) continue;
    any_pattern = any_pattern || component.is_pattern;
    components.push_back(std::move(component));
  }
  return components;
}

// Walks over the folders. In each folder, a set of states: the components that its entries are
// compared with. ** adds states, so a folder is listed once, and a file is found once.
class Walk {
 public:
  Walk(Listings& listings, std::string_view pattern)
      : listings_(listings), components_(components_of(pattern)) {}

  std::vector<GlobMatch> run() {
    walk("", {0}, /*is_listed=*/false);
    std::ranges::sort(found_, {}, &GlobMatch::path);
    // A component ".." behind ** leads to the same folder twice.
    const auto [first, last] = std::ranges::unique(found_, {}, &GlobMatch::path);
    found_.erase(first, last);
    return std::move(found_);
  }

 private:
  using States = std::vector<size_t>;  // sorted

  bool is_last(size_t state) const { return state + 1 == components_.size(); }
  // Whether the pattern ends with a slash, and a folder in this state is a result.
  bool ends_in_slash(size_t state) const {
    return is_last(state) && components_[state].text.empty();
  }

  static void add(States& states, size_t state) {
    const auto place = std::ranges::lower_bound(states, state);
    if (place == states.end() || *place != state) states.insert(place, state);
  }
  void add_next(States& states, size_t state) const {
    add(states, state);
    if (components_[state].is_any_depth && !is_last(state)) add(states, state + 1);
  }

  // `folder`: "", or a path that ends with /. `is_listed`: whether it is known to be a folder.
  void walk(std::string folder, States states, bool is_listed) {
    if (states.front() == 0) add_next(states, 0);
    while (states.size() == 1 && !components_[states.front()].is_pattern) {
      const size_t state = states.front();
      const std::string& name = components_[state].text;
      if (is_last(state)) return find_literal(folder, name, is_listed);
      folder += name + "/";
      is_listed = false;
      states.clear();
      add_next(states, state + 1);
    }
    const Listing listing = list(folder, states);
    if (listing == nullptr) return;
    for (const size_t state : states) {
      const std::string& name = components_[state].text;
      if (ends_in_slash(state)) {
        found_.push_back({folder.empty() ? "./" : folder, true});
      } else if ((name == "." || name == "..") && !is_last(state)) {
        States next;
        add_next(next, state + 1);
        walk(folder + name + "/", std::move(next), /*is_listed=*/false);
      }
    }
    for (const DirectoryEntry& entry : *listing) visit(folder, entry, states);
  }

  // An object store lists only the names that start as a single pattern does.
  Listing list(const std::string& folder, const States& states) {
    const Component& component = components_[states.front()];
    if (!is_object_url(folder) || states.size() > 1 || component.is_any_depth) {
      return listings_.at(folder);
    }
    const std::string_view text = component.text;
    return listings_.starting_with(folder, text.substr(0, text.find_first_of("*?[\\")));
  }

  // Asks for the file itself: its folder may be readable by name only.
  void find_literal(const std::string& folder, const std::string& name, bool is_listed) {
    if (name.empty() && is_listed) return found_.push_back({folder, true});
    const std::string path = folder + name;
    if (const auto status = listings_.file_system().status(path)) {
      found_.push_back({path, status->kind == FileKind::directory});
    }
  }

  void visit(const std::string& folder, const DirectoryEntry& entry, const States& states) {
    const bool is_directory = entry.kind == FileKind::directory;
    bool matches = false;
    States next;
    for (const size_t state : states) {
      const Component& component = components_[state];
      if (component.is_any_depth) {
        if (entry.name.starts_with('.')) continue;
        // Not through links: they may lead to a folder above.
        if (is_directory && !entry.is_link) add_next(next, state);
        matches = matches || (is_last(state) && !is_directory);
        continue;
      }
      const bool fits = component.is_pattern
                            ? ::fnmatch(component.text.c_str(), entry.name.c_str(), FNM_PERIOD) == 0
                            : component.text == entry.name;
      if (!fits) continue;
      if (!is_last(state)) {
        if (is_directory) add_next(next, state + 1);
      } else {
        matches = matches || !component.is_pattern || !is_directory;
      }
    }
    const std::string path = folder + entry.name;
    if (matches) found_.push_back({path, is_directory});
    if (!next.empty()) walk(path + "/", std::move(next), /*is_listed=*/true);
  }

  Listings& listings_;
  const std::vector<Component> components_;
  std::vector<GlobMatch> found_;
};

}  // namespace

std::string without_escapes(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    plain += text[i];
  }
  return plain;
}

bool has_glob_characters(std::string_view path) {
  return path.find_first_of("*?[") != std::string_view::npos;
}

std::vector<GlobMatch> glob(Listings& listings, std::string_view pattern) {
  return Walk(listings, pattern).run();
}

std::vector<std::string> glob(FileSystem& file_system, const std::string& pattern) {
  Listings listings(file_system, /*keeps=*/false);
  std::vector<std::string> paths;
  for (GlobMatch& match : glob(listings, pattern)) paths.push_back(std::move(match.path));
  return paths;
}

}  // namespace recordpipe
