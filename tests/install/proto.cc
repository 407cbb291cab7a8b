// Fills an Example through protobuf's class, and prints it.
#include <cstdio>

#include "recordpipe/proto/example.pb.h"

int main() {
  recordpipe::proto::Example example;
  (*example.mutable_features()->mutable_feature())["label"].mutable_int64_list()->add_value(3);
  std::printf("%s\n", example.ShortDebugString().c_str());
}
