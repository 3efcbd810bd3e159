//===- SafetensorsTest.cpp - Weights files, sound and damaged -------------===//
//
// One sound file, then a table of corruptions: each must be refused with exit code 4 and words that name the place.
//
//===----------------------------------------------------------------------===//
#include "train/safetensors.h"
#include "TinyProgram.h"
#include "rank.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace lf::rt;
using namespace lf::rt::test;

namespace {

std::string file_of(const std::string &header, size_t data_bytes, int64_t claimed = -1) {
  uint64_t length = claimed < 0 ? header.size() : static_cast<uint64_t>(claimed);
  return std::string(reinterpret_cast<const char *>(&length), 8) + header + std::string(data_bytes, '\1');
}

std::string refusal(const std::string &bytes) {
  Folder folder;
  write_file(folder / "x.safetensors", bytes);
  try {
    OpenFile file("--load", folder / "x.safetensors");
    read_safetensors("--load", file);
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, 4);
    EXPECT_NE(failure.message.find("x.safetensors\""), std::string::npos) << failure.message;
    return failure.message;
  }
  return "accepted";
}

TEST(Safetensors, AcceptsWhatIsSound) {
  EXPECT_EQ(refusal(file_of("{}", 0)), "accepted");
  EXPECT_EQ(
      refusal(file_of(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8)),
      "accepted");
  EXPECT_EQ(refusal(file_of(R"({"a":{"dtype":"BF16","shape":[],"data_offsets":[4,6]},)"
                            R"("b":{"dtype":"U8","shape":[4,1],"data_offsets":[0,4]},)"
                            R"("e":{"dtype":"I64","shape":[0],"data_offsets":[4,4]}}   )",
                            6)),
            "accepted");
}

TEST(Safetensors, RefusesEachCorruption) {
  auto one = [](const std::string &entry, size_t bytes = 8) { return file_of("{\"a\":" + entry + "}", bytes); };
  std::string b = R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":)";
  const std::pair<std::string, const char *> table[] = {
      {"", "byte 0: expected at least the 8 bytes"},
      {"\1\2\3", "got 3 bytes"},
      {file_of("{}", 0, 3), "byte 0: expected a header of at most 2 bytes (the file's 10 - 8), got 3"},
      {file_of("{}", 0, int64_t(1) << 62), "expected a header of at most 2 bytes"},
      {file_of("", 0), "byte 8: expected JSON as header, got its end"},
      {file_of("{\"a\":", 0), "byte 13: expected JSON as header, got its end"},
      {file_of("{\"a\": x\n}", 0), "byte 14: expected JSON as header, got \"x\\x0a}\""},
      {file_of("{\"a\":\xff\xfe}", 0), "expected JSON as header"},
      {file_of("[1,2]", 0), "expected a JSON object as header, got array"},
      {file_of(std::string(100000, '['), 0), "expected JSON nested at most 64 deep as header, got more"},
      {file_of("{\"a\":" + std::string(200000, '[') + std::string(200000, ']') + "}", 0), "nested at most 64 deep"},
      {file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
               R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
               1),
       "\"a\" twice"},
      {one("7"), "tensor \"a\": expected an object with"},
      {one(R"({"dtype":"F32","shape":[2]})"), "tensor \"a\": expected an object with"},
      {one(R"({"dtype":"F33","shape":[2],"data_offsets":[0,8]})"), "expected one of the dtypes \"BF16\", \"BOOL\", "},
      {one(R"({"dtype":4,"shape":[2],"data_offsets":[0,8]})"), "\"U8\", got 4"},
      {one(R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})"), "expected a shape of integers"},
      {one(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"), "expected a shape of integers"},
      {one(R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})"), "expected a shape of integers"},
      {one(R"({"dtype":"F32","shape":[1e999],"data_offsets":[0,8]})"), "too large"},
      {one(R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]})"), "fits in 64 bits"},
      {one(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})"), "expected two \"data_offsets\""},
      {one(R"({"dtype":"F32","shape":[2],"data_offsets":[-8,0]})"), "expected two \"data_offsets\""},
      {one(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"), "that rise and stay within the 8 bytes"},
      {one(R"({"dtype":"F32","shape":[2],"data_offsets":[4,12]})"), "that rise and stay within the 8 bytes"},
      {one(R"({"dtype":"F32","shape":[4],"data_offsets":[0,16]})"), "stay within the 8 bytes of data, got [0,16]"},
      {one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
       "expected 12 bytes (F32 of shape [3]), got 8 - 0 = 8"},
      {one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})" + b + "[4,8]}", 8), "expected its data at byte"},
      {one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})" + b + "[8,12]}", 12), "expected its data at byte"},
      {one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 11),
       "the end of the file after the last tensor, got 3 more bytes"},
  };
  for (auto &[bytes, part] : table)
    EXPECT_NE(refusal(bytes).find(part), std::string::npos) << refusal(bytes) << "\n  lacks: " << part;
}

TEST(Safetensors, HalfTypes) {
  EXPECT_EQ(half_to_double(0x3c00), 1.0);
  EXPECT_EQ(half_to_double(0xc000), -2.0);
  EXPECT_EQ(half_to_double(0x7bff), 65504.0);
  EXPECT_EQ(half_to_double(0x0001), std::ldexp(1.0, -24));
  EXPECT_TRUE(std::isinf(half_to_double(0x7c00)));
  EXPECT_TRUE(std::isnan(half_to_double(0x7e00)));
  EXPECT_EQ(bfloat_to_double(0x3f80), 1.0);
  EXPECT_EQ(bfloat_to_double(0xc0a0), -5.0);
}

TEST(Safetensors, WriterAndReaderAgree) {
  Folder folder;
  float a[6] = {1, 2, 3, 4, 5, 6}, b[1] = {-0.5f};
  SafetensorsWriter writer(folder / "model.safetensors", FileType::f32, {{"a", {2, 3}}, {"b", {1}}});
  writer.append(a, sizeof a);
  writer.append(b, sizeof b);
  EXPECT_FALSE(std::filesystem::exists(folder / "model.safetensors")) << "not before it is whole";
  writer.publish();
  SafetensorsFolder read("--load", folder.path);
  EXPECT_EQ(read.tensors.at("a").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(read.tensors.at("a").value(4), 5.0);
  EXPECT_EQ(read.tensors.at("b").value(0), -0.5);
}

// Somebody cuts the file off after its header was read: an error, not a signal.
TEST(Safetensors, AFileThatIsCutOff) {
  Folder folder;
  write_file(folder / "model.safetensors",
             file_of(R"({"a":{"dtype":"F32","shape":[100000],"data_offsets":[0,400000]}})", 400000));
  SafetensorsFolder read("--load", folder.path);
  EXPECT_EQ(read.tensors.at("a").value(99999), read.tensors.at("a").value(0));
  std::filesystem::resize_file(folder / "model.safetensors", 200000);
  EXPECT_EQ(read.tensors.at("a").value(1000), read.tensors.at("a").value(0));
  try {
    read.tensors.at("a").value(99999);
    ADD_FAILURE() << "accepted";
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, 4);
    EXPECT_NE(failure.message.find("it was cut off while it was in use"), std::string::npos) << failure.message;
  }
}

std::string index_refusal(const std::string &index) {
  Folder folder;
  write_file(folder / "one.safetensors", file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));
  write_file(folder / "model.safetensors.index.json", index);
  try {
    return SafetensorsFolder("--load", folder.path).tensors.count("a") ? "accepted" : "lost";
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, 4);
    return failure.message;
  }
}

TEST(Safetensors, IndexOfShards) {
  EXPECT_EQ(index_refusal(R"({"weight_map":{"a":"one.safetensors"}})"), "accepted");
  const std::pair<const char *, const char *> table[] = {
      {"{", "expected JSON"},
      {"{}", "expected an object \"/weight_map\""},
      {R"({"weight_map":{"a":"../one.safetensors"}})", "expected a file of this folder for \"a\""},
      {R"({"weight_map":{"a":"one.safetensors\u0000"}})", "expected a file of this folder for \"a\""},
      {R"({"weight_map":{"a":3}})", "expected a file of this folder for \"a\""},
      {R"({"weight_map":{"a":"two.safetensors"}})", "two.safetensors"},
      {R"({"weight_map":{"a":"one.safetensors","b":"one.safetensors"}})",
       "expected tensor \"b\", which the index names"},
      {R"({"weight_map":{"b":"one.safetensors"}})", "expected \"a\" in \"one.safetensors\", where it is, got no entry"},
  };
  for (auto [index, part] : table)
    EXPECT_NE(index_refusal(index).find(part), std::string::npos) << index_refusal(index);
}

} // namespace
