//===- TokenFileTest.cpp - Token files, sound and damaged -----------------===//
//
// Widths follow the vocabulary or the index; each damage is refused with exit code 4 and the byte where it lies.
//
//===----------------------------------------------------------------------===//
#include "TokenFiles.h"
#include "data/token_source.h"
#include "rank.h"

#include <gtest/gtest.h>

using namespace lf::rt;
using namespace lf::rt::test;

namespace {

template <class F> std::string refusal(int code, F &&open) {
  try {
    open();
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, code) << failure.message;
    return failure.message;
  }
  return "accepted";
}
void expect(const std::string &message, const std::string &words) {
  EXPECT_NE(message.find(words), std::string::npos) << message << "\n  lacks: " << words;
}

TEST(TokenFile, WidthFollowsTheVocabulary) {
  Folder folder;
  std::string bytes;
  for (uint32_t token : {70000u, 1u, 2u, 3u})
    put(bytes, token);
  TokenFile file(folder.write("t.bin", bytes), 3, 70001);
  EXPECT_EQ(file.tokens(), 4);
  std::vector<int32_t> tokens(4);
  file.read(0, tokens.data());
  EXPECT_EQ(tokens, (std::vector<int32_t>{70000, 1, 2, 3}));
  EXPECT_EQ(TokenFile(folder / "t.bin", 3, 65536).tokens(), 8) << "16-bit ids up to a vocabulary of 65536";
}

TEST(TokenFile, RefusesIdsBeyondTheVocabulary) {
  Folder folder;
  TokenFile file(folder.write_u16("t.bin", counting(13)), 4, 10);
  std::vector<int32_t> tokens(5);
  file.read(0, tokens.data());
  file.read(1, tokens.data());
  expect(refusal(4, [&] { file.read(2, tokens.data()); }),
         "t.bin\", byte 20: expected a token id below the vocabulary of 10, got 10 (sample 2, position 2)");
  std::string bytes;
  for (uint32_t token : {1u, 0xffffffffu, 2u})
    put(bytes, token);
  TokenFile wide(folder.write("w.bin", bytes), 2, 70000);
  expect(refusal(4, [&] { wide.read(0, tokens.data()); }),
         "byte 4: expected a token id below the vocabulary of 70000, got 4294967295");
}

TEST(TokenFile, RefusesFilesOfAWrongSize) {
  Folder folder;
  auto open = [&](const std::string &bytes, int64_t vocab) {
    std::string path = folder.write("t.bin", bytes);
    return refusal(4, [&] { TokenFile(path, 4, vocab); });
  };
  expect(open(std::string(11, '\0'), 100), "multiple of 2 bytes");
  expect(open(std::string(42, '\0'), 100000), "multiple of 4 bytes");
  expect(open(std::string(8, '\0'), 100), "expected at least 5 tokens");
  EXPECT_EQ(open(std::string(10, '\0'), 100), "accepted");
  expect(refusal(4, [&] { TokenFile(folder / "none", 4, 100); }), "No such file");
  expect(refusal(4, [&] { TokenFile(folder.path, 4, 100); }), "got a directory");
}

// Somebody cuts the file off under a run: an error, not a signal.
TEST(TokenFile, AFileThatIsCutOffIsNamed) {
  Folder folder;
  const std::string path = folder.write_u16("t.bin", std::vector<int64_t>(100000, 3));
  TokenFile file(path, 4, 10);
  std::vector<int32_t> tokens(5);
  file.read(20000, tokens.data());
  std::filesystem::resize_file(path, 10002);
  file.read(1249, tokens.data());
  expect(refusal(4, [&] { file.read(1250, tokens.data()); }),
         "--data-path: \"" + path + "\": expected the 200000 bytes that it had when it was opened, got its end at byte 10002; "
         "it was cut off while it was in use: restore it and start again");
  expect(refusal(4, [&] { file.read(20000, tokens.data()); }), "got its end at byte 160000");
}

// More documents than one block of the index holds.
TEST(TokenFile, ReadsALongIndex) {
  Folder folder;
  folder.write_indexed("p", std::vector<std::vector<int64_t>>(70000, {5}), 2);
  EXPECT_EQ(TokenFile(folder / "p", 4, 100).tokens(), 70000);
  std::filesystem::resize_file(folder / "p.bin", 2 * 69999);
  expect(refusal(4, [&] { TokenFile(folder / "p", 4, 100); }), "expected lengths that add up to the 139998 bytes");
}

TEST(TokenFile, ReadsAMegatronPrefix) {
  Folder folder;
  folder.write_indexed("p", {{5, 6}, {}, {7, 8, 9}}, 2);
  TokenFile file(folder / "p", 4, 100000);
  EXPECT_EQ(file.tokens(), 5) << "the index, not the vocabulary, gives the width";
  std::vector<int32_t> tokens(5);
  file.read(0, tokens.data());
  EXPECT_EQ(tokens, (std::vector<int32_t>{5, 6, 7, 8, 9}));
}

// Offsets below are those of an index of two documents: lengths at 34, byte offsets at 42, boundaries at 58.
TEST(TokenFile, RefusesEachDamageOfAnIndex) {
  Folder folder;
  folder.write_indexed("p", {{5, 6}, {7, 8, 9}}, 2);
  std::ifstream in(folder / "p.idx", std::ios::binary);
  const std::string good(std::istreambuf_iterator<char>(in), {});
  ASSERT_EQ(good.size(), 82u);
  auto with = [&](size_t at, uint64_t value, size_t bytes) {
    std::string text = good;
    for (size_t i = 0; i < bytes; ++i)
      text[at + i] = static_cast<char>(value >> 8 * i & 255);
    return text;
  };
  const std::pair<std::string, const char *> table[] = {
      {"", "byte 0: expected a header of 34 bytes, got a file of 0"},
      {good.substr(0, 33), "expected a header of 34 bytes"},
      {with(0, 'X', 1), "byte 0: expected the magic"},
      {with(9, 2, 8), "byte 9: expected version 1, got 2"},
      {with(17, 7, 1), "byte 17: expected dtype code 8 (uint16), 4 (int32) or 1 (uint8), got 7"},
      {with(18, 3, 8), "byte 18: expected at most what 82 bytes hold"},
      {with(18, ~uint64_t(0), 8), "byte 18: expected at most what 82 bytes hold"},
      {with(26, ~uint64_t(0) / 8, 8), "byte 18: expected at most what 82 bytes hold"},
      {with(26, 0, 8), "byte 26: expected the boundaries of at least one document, got none"},
      {with(34, 0xffffffff, 4), "byte 34: expected a length of at least 0, got -1"},
      {with(34, 3, 4), "byte 50: expected sequence 1 at byte 6 of the .bin, got 4"},
      {with(38, 9, 4), "expected lengths that add up to the 10 bytes"},
      {with(50, 2, 8), "byte 50: expected sequence 1 at byte 4 of the .bin, got 2"},
      {with(58, 1, 8), "byte 58: expected document boundaries that rise from 0 to 2, got 1"},
      {with(66, 9, 8), "byte 66: expected document boundaries"},
      {with(74, 1, 8), "byte 74: expected document boundaries"},
      {good.substr(0, 80), "expected at most what 80 bytes hold"},
  };
  for (auto &[bytes, words] : table) {
    folder.write("p.idx", bytes);
    expect(refusal(4, [&] { TokenFile(folder / "p", 4, 100); }), words);
  }
  std::filesystem::remove(folder / "p.idx");
  expect(refusal(4, [&] { TokenFile(folder / "p", 4, 100); }), "p.idx\" beside");
}

TEST(TokenSource, RefusesBlendsAndShortData) {
  Folder folder;
  std::string path = folder.write_u16("t.bin", counting(21));
  auto open = [&](int code, std::vector<std::string> paths) {
    return refusal(code, [&] { TokenSource(paths, 4, 6, 1000, true, 1); });
  };
  expect(open(4, {path}), "expected at least one batch, 25 tokens (global batch 6 x sequence 4 + 1), got 21");
  expect(open(2, {"1", path, "2"}), "pairs of a weight and a path, got 3 words");
  expect(open(2, {path, "1"}), "expected a weight above 0 before \"1\"");
  expect(open(2, {"0", path}), "expected a weight above 0");
  EXPECT_EQ(open(0, {"1", path, "1", path}), "accepted");
}

} // namespace
