// tfrecord view: writes an HTML page with a file's records.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "dataset/toolkit/names.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/toolkit/feature_edit.h"
#include "recordpipe/toolkit/usual_features.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/browser.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/record_cursor.h"
#include "tools/tfrecord/records/skipped_damage.h"
#include "tools/tfrecord/text/text_table.h"
#include "tools/tfrecord/view/elements.h"
#include "tools/tfrecord/view/episode.h"
#include "tools/tfrecord/view/page.h"

namespace recordpipe {
namespace {

struct ViewArguments {
  InputArguments inputs = {};
  std::string output = {};
  std::optional<MessageKind> kind = {};
  std::string where = {};
  bool skip_corrupt = false;
  std::string image = {};
  PixelArguments pixels = {};
  std::string label = {};
  std::string labels = {};
  std::string sampling = "first";
  size_t limit = 1000;
  size_t max_bytes = size_t{24} << 20;
  size_t thumbnails = 256;
  bool json = false;
  bool opens = false;
};

// Reads the records once, and writes the page.
class View {
 public:
  View(const ViewArguments& arguments, const CommandContext& context)
      : arguments_(arguments),
        context_(context),
        images_({.feature = arguments.image,
                 .pixels = pixel_options(arguments.pixels),
                 .largest = arguments.max_bytes / 8,
                 .thumbnail = arguments.thumbnails}),
        episodes_({.camera = arguments.image,
                   .thumbnail = std::min<size_t>(arguments.thumbnails, 96),
                   .largest = arguments.max_bytes / 64}),
        labels_(arguments.label, read_label_names(context.files, arguments.labels)),
        sample_(arguments.sampling == "first" ? Sampling::first : Sampling::spread, arguments.limit,
                arguments.max_bytes),
        message_(arguments.kind),
        skipped_(context, "view"),
        input_(input_reading(arguments.inputs.reading, arguments.skip_corrupt)) {
    input_.damaged = [this, tell = skipped_.sink()](const std::string& path,
                                                    const DamagedRegion& region) {
      if (sample_.is_full()) {  // behind the limit
        more_ = true;
      } else {
        tell(path, region);
      }
    };
    where_ = where_of(arguments.where);
  }

  ExitCode run() {
    if (arguments_.output == "-" && arguments_.opens) {
      throw UsageError("--open opens a file: give -o page.html");
    }
    if (arguments_.output == "-" && ::isatty(STDOUT_FILENO) != 0) {
      throw UsageError("a page is not printed on a terminal: give -o page.html --open");
    }
    check_json_summary(arguments_.json, arguments_.output);
    Output out(context_, arguments_.output);  // fails early, before hours of reading
    const std::vector<std::string> paths = arguments_.inputs.files.paths(context_);
    InputProgress progress(context_, "view", paths);
    for (const std::string& path : paths) {
      if (sample_.is_full()) {
        more_ = true;
        break;
      }
      read_file(path, progress);
    }
    for (const std::string& damage : damage_) context_.progress.warn("tfrecord view: " + damage);
    if (where_) print_note(context_, "view", where_->require_possible(!more_));
    require_what_was_named();
    context_.progress.clear();
    skipped_.sum_up();
    std::vector<std::string> damage = damage_;
    if (const std::string skipped = skipped_.summary(); !skipped.empty()) damage.push_back(skipped);
    const uint64_t bytes = write_page(out, {.files = files_,
                                            .sampling = sampling(),
                                            .damage = std::move(damage),
                                            .overview = overview_,
                                            .sample = sample_,
                                            .images = images_,
                                            .labels = labels_,
                                            .frames_side = frames_side_});
    out.close();
    if (arguments_.json) {
      nlohmann::ordered_json summary = {
          {"path", arguments_.output}, {"records", sample_.size()}, {"bytes", bytes}};
      if (arguments_.skip_corrupt) skipped_.add_to(summary);
      print_json_summary(context_, summary);
    } else if (arguments_.output != "-") {
      print_summary(context_, fmt::format("wrote {}, {}, to {}", shown_records(), byte_count(bytes),
                                          printable(arguments_.output)));
    }
    if (arguments_.opens) open_in_browser(arguments_.output);
    return exit_code_;
  }

 private:
  void read_file(const std::string& path, InputProgress& progress) {
    InputReading input = input_;
    input.paths = {path};
    RecordCursor records(context_, std::move(input), {}, progress);
    files_.push_back(is_standard_input(path) ? "standard input" : without_secrets(path));
    try {
      while (const auto record = records.read()) {
        if (sample_.is_full()) {
          more_ = true;
          break;
        }
        add(*record);
      }
    } catch (const Error& error) {
      if (sample_.is_full() && error.kind() != ErrorKind::cancelled) {
        more_ = true;  // whatever it is
        return;
      }
      if (!is_damage(error.kind()) && error.kind() != ErrorKind::limit_exceeded) throw;
      damage_.push_back(text_of(error));
      exit_code_ = combined(exit_code_, answer_of(error.kind()));
    }
  }

  void add(const NumberedRecord& record) {
    message_.read(record.data);
    for (const std::string& name : {arguments_.image, arguments_.label}) {
      if (message_.find_feature(name)) present_.insert(name);
    }
    if (where_ && !where_->matches(message_, record)) return;
    overview_.add(message_, record.data.size());
    // The first label determines the label feature, whether its record is shown or not.
    std::optional<std::string> label = labels_.label(message_);
    if (!sample_.wants_next()) return;
    Card card = {.file = files_.size() - 1,
                 .number = record.number,
                 .record = record,
                 .message = message_,
                 .label = std::move(label),
                 .episode = find_episode(message_, episodes_)};
    if (card.episode && !card.episode->strips.empty()) {
      frames_side_ = episodes_.thumbnail;
    } else {
      card.image = images_.find(message_);
    }
    sample_.add(card_json(card));
  }

  // Throws if no record matches --image, --label or --shape. Otherwise, a mistyped name would go
  // unnoticed, and a wrong shape would give a page without images.
  void require_what_was_named() const {
    if (overview_.schema.records == 0) return;
    const bool found_images = images_.found_any() || frames_side_;
    if (!found_images) require_feature(arguments_.image);
    if (!labels_.found_any()) require_feature(arguments_.label);
    const bool wants_images = !arguments_.image.empty() || !arguments_.pixels.shape.empty();
    if (!wants_images || found_images) return;
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "no record that is shown has an image: " +
                           (images_.misfit().empty() ? "none has bytes that could be one"
                                                     : images_.misfit())});
  }

  void require_feature(const std::string& name) const {
    const InferredSchema& schema = overview_.schema;
    if (name.empty()) return;
    std::vector<std::string> names;
    for (const auto& [present, feature] : schema.features) names.push_back(present);
    print_note(context_, "view", require_found({name}, present_, names, !more_));
  }

  bool shows_all() const { return !more_ && sample_.size() == overview_.schema.records; }

  // "1,000 of 60,000 records"; "the first 1,000 records" if the total is unknown.
  std::string shown_records() const {
    const size_t shown = sample_.size();
    if (shows_all()) return counted(shown, "record");
    if (arguments_.sampling == "first") {
      return shown == 1 ? "the first record" : "the first " + counted(shown, "record");
    }
    return fmt::format("{} of {}", grouped(shown), counted(overview_.schema.records, "record"));
  }

  // Describes which records are on the page.
  std::string sampling() const {
    const std::string which = arguments_.where.empty() ? "" : " that " + arguments_.where;
    if (shows_all()) {
      if (sample_.size() == 0) return fmt::format("No records{}.", which);
      if (!damage_.empty())
        return fmt::format("{} before the damage{}.", counted(sample_.size(), "record"), which);
      const std::string what = skipped_.counts().regions > 0 ? "intact record" : "record";
      return sample_.size() == 1 ? fmt::format("The only {}{}.", what, which)
                                 : fmt::format("All {}{}.", counted(sample_.size(), what), which);
    }
    const bool is_first = arguments_.sampling == "first";
    std::string text = shown_records() + which;
    text.front() = is_first ? 'T' : text.front();
    if (!is_first) text += ", evenly spread";
    if (sample_.lacks_room()) return text + "; --max-bytes leaves no room for more.";
    if (!is_first) return text + ".";
    return text + "; there are more: --limit shows more of them, --sample spread some of all.";
  }

  const ViewArguments& arguments_;
  const CommandContext& context_;
  std::optional<Where> where_;
  ImageFinder images_;
  const EpisodeOptions episodes_;
  std::optional<size_t> frames_side_;  // of episodes_, once there are frames
  Labels labels_;
  RecordSample sample_;
  Overview overview_;
  MessageView message_;
  SkippedDamage skipped_;
  InputReading input_;  // without paths
  std::vector<std::string> files_;
  std::vector<std::string> damage_;
  ExitCode exit_code_ = ExitCode::ok;
  bool more_ = false;     // whether there are more records than were read
  FeatureNames present_;  // names of --image and --label that occur in any record
};

constexpr char kViewDescription[] =
    R"(The page has a contact sheet of the images with their labels (a table if there are no
images), each record's features, and histograms and counts of all values. It is a single file, and
makes no network requests: its content security policy forbids them.

PNG, JPEG, GIF, BMP and WebP files are embedded unchanged, but large PNG and JPEG images as
--thumbnails. Raw pixels (uint8) become PNG files.
Their shape comes from --shape, or from the record's height and width, or it is guessed from their
number (3072 bytes are 32x32x3). The layout, planar or interleaved, is guessed from the first image:
the one in which it is smoother. The page lists all guesses.

Of RLDS episodes, it shows some frames of up to three cameras (of --image alone, if it is given) as
film strips, and plots of up to twelve features with numbers: actions, states, rewards.

--sample first reads and shows the first records only. --sample spread reads all records, and shows
some, evenly spread. In both cases, there are at most --limit records, and no more than fit into
--max-bytes.

Damage ends a file: the records before it are shown, and the page describes the damage. With
--skip-corrupt, the intact records after it are shown, too, and the page says how much was skipped.
There is no page if --shape fits no
record that would be shown.)";

}  // namespace

Command view_command() {
  return {
      .name = "view",
      .summary = "Makes one HTML page of the records, images first",
      .description = kViewDescription,
      .examples = R"(  tfrecord view train.tfrecords -o page.html --open
  tfrecord view pets.tfrecords --labels cat,dog,hamster -o page.html
  tfrecord view 'train-*' --sample spread --where 'label == 3' -o cats.html
  tfrecord view mnist.tfrecords.gz --image image_raw --shape 28x28 -o page.html
)",
      .answers_no = "a file is damaged, and the page shows the records before the damage",
      .define = [](CommandApp& app) -> CommandAction {
        const auto arguments = std::make_shared<ViewArguments>();
        add_inputs(app, arguments->inputs);
        add_kind(app, arguments->kind);
        add_where(app, arguments->where);
        add_skip_corrupt(app, arguments->skip_corrupt);
        app.add_option("--limit", arguments->limit, "Show at most N of the selected records")
            .check(whole_number(1, 1'000'000))
            .type_name("N")
            .show_default();
        app.add_option("--sample", arguments->sampling,
                       "Records to show: the first ones, or some spread over all")
            .one_of({"first", "spread"})
            .show_default();
        app.add_option("--max-bytes", arguments->max_bytes,
                       "Approximate limit for the record bytes in the page")
            .transform(byte_size())
            .type_name("BYTES")
            .default_text("24MiB");
        app.add_option("--thumbnails", arguments->thumbnails,
                       "Length of the shorter side that larger JPEG and PNG images get; 0: they "
                       "are shown as they are")
            .check(whole_number(0, 4096))
            .type_name("PIXELS")
            .show_default();
        app.add_option(
               "--image", arguments->image,
               fmt::format(
                   "Feature with the image (default: the first of {} that holds one, else the "
                   "first feature with an image)",
                   fmt::join(kUsualImageFeatures, ", ")))
            .type_name("NAME");
        add_pixel_options(app, arguments->pixels);
        app.add_option(
               "--label", arguments->label,
               fmt::format("Feature with the label (default: the first of {} that has a value)",
                           fmt::join(kUsualLabelFeatures, ", ")))
            .type_name("NAME");
        app.add_input("--labels", arguments->labels,
                      "Names of labels 0, 1, ...: separated by commas, or a file with one per line")
            .type_name("NAMES_OR_FILE");
        add_output(app, arguments->output, [] { return "html"; });
        app.add_flag("--open", arguments->opens, "Show the page in the browser");
        add_json_summary(app, arguments->json);
        return
            [arguments](const CommandContext& context) { return View(*arguments, context).run(); };
      }};
}

}  // namespace recordpipe
