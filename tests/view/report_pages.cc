// report_pages CASE FILE: writes the report of an invented run, for the tests of the page.
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "recordpipe/base/philox.h"
#include "recordpipe/cifar/cifar_batch.h"
#include "recordpipe/trainer/report/report.h"

namespace recordpipe {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// Text that would run, load or break out unless it is escaped.
const std::string kHostile =
    "</title></style><script>document.title='run'</script><img src=x "
    "onerror=\"document.title='run'\">'\"&<>\xff]]><!--";

TrainingPoint training_point(uint64_t step, uint64_t steps, double progress, Random& random) {
  const double noise = random.uniform() - 0.5;
  const double accuracy = 0.1 + 0.8 * (1 - std::exp(-4 * progress)) + 0.06 * noise;
  return {
      .step = step,
      .steps = steps,
      .images = 64 * steps,
      .correct = static_cast<uint64_t>(accuracy * 64 * static_cast<double>(steps)),
      .loss = 0.3 + 2 * std::exp(-4 * progress) - 0.2 * noise,
      .learning_rate = 0.05 * (1 + std::cos(3.14159265 * progress)) * std::min(1.0, 20 * progress),
      .seconds = static_cast<double>(steps) * (0.05 + 0.01 * random.uniform()),
      .input_wait_seconds = static_cast<double>(steps) * 0.0005 * random.uniform()};
}

RunHistory history(uint64_t first, uint64_t last, uint64_t steps) {
  RunHistory history;
  Random random(1, 0, 0);
  const auto progress = [&](uint64_t step) { return double(step) / double(last); };
  for (uint64_t step = first + steps; step <= last; step += steps)
    history.training.push_back(training_point(step, steps, progress(step), random));
  for (uint64_t step = first + last / 10; step <= last; step += last / 10) {
    const double decay = std::exp(-4 * progress(step));
    history.validation.push_back(
        {.step = step, .loss = 0.5 + 1.8 * decay, .accuracy = 0.15 + 0.66 * (1 - decay)});
  }
  return history;
}

Mistake mistake(uint64_t image, size_t label, size_t prediction, double probability) {
  Mistake mistake = {
      .image = image, .label = label, .prediction = prediction, .probability = probability};
  Random random(2, 0, image);
  const double fx = 0.2 + random.uniform(), fy = 0.2 + random.uniform();
  for (size_t y = 0; y < 32; ++y)
    for (size_t x = 0; x < 32; ++x)
      for (size_t channel = 0; channel < 3; ++channel)
        mistake.pixels.push_back(
            static_cast<uint8_t>(127 + 120 * std::sin(fx * 0.3 * double(x) + double(channel)) *
                                           std::cos(fy * 0.2 * double(y))));
  return mistake;
}

FinalEvaluation final_evaluation(uint64_t step) {
  FinalEvaluation final_evaluation = {.step = step};
  Evaluation& evaluation = final_evaluation.evaluation;
  evaluation.confusion = ConfusionMatrix(11);
  evaluation.image = {.channels = 3, .height = 32, .width = 32};
  Random random(3, 0, 0);
  for (uint64_t image = 0; image < 10000; ++image) {
    const size_t label = image % 10;
    size_t prediction = label;
    if (random.uniform() < (label == 3 || label == 5 ? 0.35 : 0.15))
      prediction = random.uniform() < 0.4 ? (label == 3   ? 5
                                             : label == 5 ? 3
                                                          : (label + 1) % 10)
                                          : static_cast<size_t>(10 * random.uniform());
    evaluation.confusion.add(label, prediction);
    if (prediction != label && evaluation.mistakes.size() < 60)
      evaluation.mistakes.push_back(
          mistake(image, label, prediction, 0.999 - 0.002 * double(evaluation.mistakes.size())));
  }
  evaluation.total = {.loss = 0.6123,
                      .correct = evaluation.confusion.correct(),
                      .images = evaluation.confusion.images()};
  return final_evaluation;
}

RunReport run() {
  return {.title = "ResNet of 14 layers on CIFAR-10",
          .facts = {{"model", "ResNet v1, 14 layers"},
                    {"parameters", "175019"},
                    {"device", "cpu (oneDNN, AVX-512), 2 threads"},
                    {"steps", "0 to 4600"},
                    {"time", "4:52"},
                    {"eval accuracy", "80.12% (8012/10000)"},
                    {"batch size", "64"},
                    {"learning rate", "0.1, cosine, 200 steps of warm-up"},
                    {"weight decay", "0.0002"},
                    {"momentum", "0.9"},
                    {"seed", "7"}},
          .history = history(0, 4600, 10),
          .class_names = {kCifar10ClassNames.begin(), kCifar10ClassNames.end()},
          .final_evaluation = final_evaluation(4600)};
}

RunReport resumed() {
  RunReport report = run();
  report.notes = {"The data are synthetic: no figure here says anything about CIFAR-10."};
  report.history = history(20000, 100000, 10);
  report.final_evaluation.reset();
  return report;
}

RunReport one_point() {
  RunReport report = {.title = "One point", .final_evaluation = FinalEvaluation()};
  report.history = {.training = {{.step = 1,
                                  .steps = 1,
                                  .images = 64,
                                  .correct = 7,
                                  .loss = 2.4,
                                  .learning_rate = 0.1,
                                  .seconds = 0.5}},
                    .validation = {{.step = 1, .loss = 2.3, .accuracy = 0.1}}};
  return report;
}

// A run that ends in NaN, with a window that took no time.
RunReport not_finite() {
  RunReport report = {.title = "Not finite", .history = history(0, 400, 10)};
  std::vector<TrainingPoint>& points = report.history.training;
  points[10].loss = kNan;
  points[20].seconds = 0;
  points[20].input_wait_seconds = 0;
  points[30].images = 0;
  points[38].loss = 1e300;
  points[39].loss = std::numeric_limits<double>::infinity();
  report.history.validation.back().loss = kNan;
  report.final_evaluation = final_evaluation(400);
  report.final_evaluation->evaluation.total.loss = kNan;
  report.final_evaluation->evaluation.mistakes.resize(1);
  report.final_evaluation->evaluation.mistakes[0].probability = kNan;
  return report;
}

RunReport hostile() {
  RunReport report = run();
  report.title = kHostile;
  report.notes = {kHostile};
  report.facts.push_back({kHostile, kHostile});
  for (std::string& name : report.class_names) name += kHostile;
  report.final_evaluation->split = kHostile;
  return report;
}

}  // namespace
}  // namespace recordpipe

int main(int argc, char** argv) {
  using namespace recordpipe;
  const std::map<std::string, std::function<RunReport()>> cases = {
      {"empty", [] { return RunReport(); }},
      {"hostile", hostile},
      {"not-finite", not_finite},
      {"one-point", one_point},
      {"resumed", resumed},
      {"run", run}};
  if (argc != 3 || !cases.contains(argv[1])) {
    std::fprintf(stderr, "usage: report_pages CASE FILE\n");
    return 2;
  }
  write_report(posix_file_system(), argv[2], cases.at(argv[1])());
}
