// Tests the command lines of the tutorial's programs: defaults, both spellings of flags, rejected
// flags.
#include "trainer/programs/tutorial_flags.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/programs/parsed_flags.h"
#include "trainer/programs/flag_helpers.h"

namespace recordpipe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TutorialTrainFlags train(std::vector<std::string> arguments) {
  return parsed(parse_cifar10_train_flags, std::move(arguments));
}
TutorialTrainFlags train_on_several(std::vector<std::string> arguments) {
  return parsed(parse_cifar10_multi_gpu_train_flags, std::move(arguments));
}
TutorialEvalFlags eval(std::vector<std::string> arguments) {
  return parsed(parse_cifar10_eval_flags, std::move(arguments));
}

struct Ending {
  int exit_code = -1;  // -1: the flags were accepted
  std::string printed;
};

template <class Parse>
Ending ending_of(Parse parse, const std::vector<std::string>& arguments) {
  Ending ending;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  try {
    parse(arguments);
  } catch (const UsageError& error) {
    ending.exit_code = error.exit_code;
  }
  ending.printed = ::testing::internal::GetCapturedStdout();
  ending.printed += ::testing::internal::GetCapturedStderr();
  return ending;
}

TEST(TutorialFlags, OfTrainingHaveTheTutorialsDefaults) {
  for (const TutorialTrainFlags& flags : {train({}), train_on_several({})}) {
    EXPECT_EQ(flags.batch_size, 128u);
    EXPECT_EQ(flags.data_dir, "/tmp/cifar10_data");
    EXPECT_FALSE(flags.use_fp16);
    EXPECT_EQ(flags.train_dir, "/tmp/cifar10_train");
    EXPECT_EQ(flags.max_steps, 1'000'000u);
    EXPECT_FALSE(flags.log_device_placement);
    EXPECT_EQ(flags.log_frequency, 10u);
    EXPECT_EQ(flags.device.num_gpus, 1u);
    EXPECT_EQ(flags.device.type, "auto") << "a GPU, as with the tutorial, if there is one";
    EXPECT_EQ(flags.stop_grace_period_secs, 0u);
    EXPECT_EQ(flags.checkpoint_steps, 1000u);
    EXPECT_EQ(flags.keep_checkpoints, 5u);
    EXPECT_EQ(flags.report, "");
  }
}

TEST(TutorialFlags, OfEvaluationHaveTheTutorialsDefaults) {
  const TutorialEvalFlags flags = eval({});
  EXPECT_EQ(flags.eval_dir, "/tmp/cifar10_eval");
  EXPECT_EQ(flags.eval_data, "test");
  EXPECT_EQ(flags.checkpoint_dir, "/tmp/cifar10_train");
  EXPECT_EQ(flags.eval_interval_secs, 300u);
  EXPECT_EQ(flags.num_examples, 10'000u);
  EXPECT_FALSE(flags.run_once);
  EXPECT_EQ(flags.data_dir, "/tmp/cifar10_data");
  EXPECT_EQ(flags.batch_size, 128u);
  EXPECT_TRUE(flags.moving_averages);
}

TEST(TutorialFlags, SyncIsForTraining) {
  EXPECT_FALSE(train({}).sync);
  EXPECT_TRUE(train({"--sync", "--max_steps", "3"}).sync);
  EXPECT_TRUE(train_on_several({"--sync=true"}).sync);
  EXPECT_EQ(ending_of(eval, {"--sync"}).exit_code, 2) << "one process evaluates";
}

TEST(TutorialFlags, MayBeSpelledInBothWays) {
  for (const char mark : {'_', '-'}) {
    const auto name = [&](std::string text) {
      std::ranges::replace(text, '_', mark);
      return "--" + text;
    };
    const TutorialTrainFlags flags =
        train({name("train_dir"), "/a_b", name("data_dir") + "=/c_d-e", name("max_steps"), "70",
               name("log_frequency") + "=5", name("log_device_placement"), "True",
               name("num_intra_threads"), "3", name("use_fp16") + "=False"});
    EXPECT_EQ(flags.train_dir, "/a_b");
    EXPECT_EQ(flags.data_dir, "/c_d-e");
    EXPECT_EQ(flags.max_steps, 70u);
    EXPECT_EQ(flags.log_frequency, 5u);
    EXPECT_TRUE(flags.log_device_placement);
    EXPECT_EQ(flags.device.threads, 3u);
  }
  EXPECT_EQ(train({"--train_dir", "--data_dir"}).train_dir, "--data_dir") << "a value, no name";
  EXPECT_EQ(eval({"--eval_data", "train_eval"}).eval_data, "train_eval");
  EXPECT_EQ(train_on_several({"--num_gpus=4"}).device.num_gpus, 4u);
}

TEST(TutorialFlags, BooleansMayStandAlone) {
  EXPECT_TRUE(eval({"--run_once"}).run_once);
  EXPECT_TRUE(eval({"--run-once", "--eval_dir", "x"}).run_once);
  EXPECT_TRUE(eval({"--run_once", "true"}).run_once);
  EXPECT_FALSE(eval({"--run_once=false"}).run_once);
  EXPECT_FALSE(eval({"--run_once", "--norun_once"}).run_once);
  EXPECT_FALSE(eval({"--nomoving-averages"}).moving_averages);
}

TEST(TutorialFlags, HalfPrecisionHasTwoNames) {
  EXPECT_EQ(train({}).device.precision, "fp32");
  EXPECT_EQ(train({"--use_fp16", "--device=cuda"}).device.precision, "fp16");
  EXPECT_EQ(eval({"--use_fp16", "--precision=fp16", "--device=auto"}).device.precision, "fp16");
  EXPECT_EQ(train({"--precision", "bf16", "--device", "cuda"}).device.precision, "bf16");
}

TEST(TutorialFlags, OfTrainingMayMeasureAlgorithms) {
  EXPECT_FALSE(train({"--device=cuda"}).device.measure_algorithms);
  EXPECT_TRUE(train({"--measure-algorithms", "--device=cuda"}).device.measure_algorithms);
}

TEST(TutorialFlags, ThatMakeNoSenseAreRefused) {
  const auto refused = [](const Ending& ending, const std::string& words) {
    EXPECT_EQ(ending.exit_code, 2) << words;
    EXPECT_THAT(ending.printed, HasSubstr(words));
  };
  refused(ending_of(train, {"--use_fp16=true", "--device=cpu"}), "fp16 needs --device cuda");
  refused(ending_of(train, {"--device=cpu", "--use_fp16"}), "fp16 needs --device cuda");
  refused(ending_of(eval, {"--use_fp16", "True", "--device=cpu"}), "fp16 needs --device cuda");
  refused(ending_of(train, {"--use_fp16=maybe"}), "--use-fp16");
  refused(ending_of(train, {"--use_fp16", "--precision=bf16", "--device=cuda"}),
          "--precision says bf16");
  refused(ending_of(train, {"--precision=tf32", "--device=cpu"}), "tf32 needs --device cuda");
  refused(ending_of(train, {"--measure_algorithms", "--device=cpu"}),
          "--measure-algorithms: needs --device cuda");
  refused(ending_of(eval, {"--precision=fp64", "--device=cuda"}), "--precision");
  refused(ending_of(train, {"--batch_size", "0"}), "--batch-size");
  refused(ending_of(train, {"--max_steps=-1"}), "'-1' is not a whole number");
  refused(ending_of(train, {"--device", "tpu"}), "--device");
  refused(ending_of(train, {"--no_such_flag"}), "--no_such_flag");
  refused(ending_of(train, {"--num_gpus=2"}), "--num_gpus");
  refused(ending_of(train_on_several, {"--num_gpus=0"}), "--num-gpus");
  refused(ending_of(eval, {"--eval_data", "validation"}), "--eval-data");
  refused(ending_of(eval, {"--num_examples", "ten"}), "--num-examples");
  refused(ending_of(eval, {"--eval_interval_secs", "0"}), "--eval-interval-secs");
  for (const std::string flag : {"--seed", "--checkpoint-steps", "--keep-checkpoints"})
    refused(ending_of(eval, {flag, "1"}), flag);
  refused(ending_of(eval, {"surplus"}), "surplus");
}

TEST(TutorialFlags, HelpShowsThemWithTheirDefaults) {
  const Ending help = ending_of(eval, {"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.printed, HasSubstr("--checkpoint-dir"));
  EXPECT_THAT(help.printed, HasSubstr("/tmp/cifar10_train"));
  EXPECT_THAT(ending_of(train, {"--help"}).printed, Not(HasSubstr("--num-gpus")));
  EXPECT_THAT(ending_of(train_on_several, {"--help"}).printed, HasSubstr("--num-gpus"));
  const Ending version = ending_of(train, {"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.printed, HasSubstr("cifar10_train "));
}

}  // namespace
}  // namespace recordpipe
