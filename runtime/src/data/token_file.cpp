//===- token_file.cpp - One stream of token ids ---------------------------===//
//
// The .idx layout: magic "MMIDIDX" and two zero bytes, u64 version 1, u8 dtype code, u64 sequences n, u64 boundaries d,
// n int32 lengths, n int64 byte offsets, d int64 sequence numbers of document boundaries (the first 0, the last n).
//
//===----------------------------------------------------------------------===//
#include "token_file.h"

#include "../rank.h"
#include "../text.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace lf::rt {
namespace {

constexpr int64_t header_bytes = 34;

template <class Integer> Integer load(const unsigned char *bytes) {
  Integer value; // every supported machine is little-endian, as the files are
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// Integers that lie one after another in a file, read a block at a time.
template <class Integer> class Column {
public:
  Column(const OpenFile &file, int64_t offset, int64_t count) : file(file), offset(offset), left(count) {}
  Integer next() {
    if (at == block.size()) {
      block.resize(static_cast<size_t>(std::min<int64_t>(left, 1 << 16)));
      const int64_t bytes = static_cast<int64_t>(block.size() * sizeof(Integer));
      file.read(offset, block.data(), bytes);
      offset += bytes;
      left -= static_cast<int64_t>(block.size());
      at = 0;
    }
    return block[at++];
  }

private:
  const OpenFile &file;
  int64_t offset, left; ///< of what was not read yet
  std::vector<Integer> block;
  size_t at = 0;
};

bool is_file(const std::string &path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

} // namespace

TokenFile::TokenFile(const std::string &path, int64_t seq_length, int64_t vocab)
    : seq_length(seq_length), vocab(vocab), width(vocab > 65536 ? 4 : 2) {
  std::error_code ignored;
  bool prefix = !std::filesystem::exists(path, ignored) && is_file(path + ".bin");
  if (prefix && !is_file(path + ".idx"))
    throw Failure{4, "--data-path: expected " + quote(path + ".idx") + " beside " + quote(path + ".bin") +
                         ", got no such file; a headerless file is given with its .bin"};
  if (!prefix && path.size() > 4 && path.ends_with(".bin")) {
    // Half of a pair may hold ids of another width: read as headerless it would be garbage.
    std::string stem = path.substr(0, path.size() - 4), magic(7, '\0');
    std::ifstream index;
    if (is_file(stem + ".idx")) // a pipe would be waited for
      index.open(stem + ".idx", std::ios::binary);
    if (index.is_open() && index.read(magic.data(), 7) && magic == "MMIDIDX")
      throw Failure{4, "--data-path: " + quote(path) + ": expected the prefix " + quote(stem) +
                           " of a Megatron pair, got its .bin alone"};
  }
  bin = std::make_unique<OpenFile>("--data-path", prefix ? path + ".bin" : path);
  if (prefix)
    read_index(path + ".idx");
  if (bin->size() % width)
    throw Failure{4, "--data-path: " + quote(bin->path) + ": expected a size that is a multiple of " +
                         std::to_string(width) + " bytes (an id of a vocabulary of " + std::to_string(vocab) +
                         "), got " + std::to_string(bin->size()) + " bytes"};
  count = bin->size() / width;
  if (count < seq_length + 1)
    throw Failure{4, "--data-path: " + quote(bin->path) + ": expected at least " + std::to_string(seq_length + 1) +
                         " tokens (one sample of " + std::to_string(seq_length) + " and its last label), got " +
                         std::to_string(count)};
}

void TokenFile::read_index(const std::string &path) {
  OpenFile index("--data-path", path);
  auto refuse = [&](int64_t offset, const std::string &expected, const std::string &got) {
    throw Failure{4, "--data-path: " + quote(path) + ", byte " + std::to_string(offset) + ": expected " + expected +
                         ", got " + got};
  };
  if (index.size() < header_bytes)
    refuse(0, "a header of 34 bytes", "a file of " + std::to_string(index.size()));
  unsigned char bytes[header_bytes];
  index.read(0, bytes, header_bytes);
  if (std::memcmp(bytes, "MMIDIDX\0\0", 9) != 0)
    refuse(0, "the magic \"MMIDIDX\" and two zero bytes", "other bytes");
  if (uint64_t version = load<uint64_t>(bytes + 9); version != 1)
    refuse(9, "version 1", std::to_string(version));
  switch (int code = bytes[17]) {
  case 1:
    width = 1;
    break;
  case 4:
    width = 4;
    break;
  case 8:
    width = 2;
    break;
  default:
    refuse(17, "dtype code 8 (uint16), 4 (int32) or 1 (uint8)", std::to_string(code));
  }
  uint64_t sequences = load<uint64_t>(bytes + 18), boundaries = load<uint64_t>(bytes + 26);
  uint64_t most = static_cast<uint64_t>(index.size()); // also keeps the products below from overflowing
  if (sequences > most || boundaries > most ||
      header_bytes + 12 * sequences + 8 * boundaries > static_cast<uint64_t>(index.size()))
    refuse(18, "at most what " + std::to_string(index.size()) + " bytes hold (34 + 12 a sequence + 8 a boundary)",
           std::to_string(sequences) + " sequences and " + std::to_string(boundaries) + " boundaries");
  if (boundaries == 0)
    refuse(26, "the boundaries of at least one document", "none");
  int64_t n = static_cast<int64_t>(sequences), lengths = header_bytes, offsets = lengths + 4 * n;
  int64_t documents = offsets + 8 * n, end = 0;
  Column<int32_t> length_of(index, lengths, n);
  Column<int64_t> offset_of(index, offsets, n), boundary_of(index, documents, static_cast<int64_t>(boundaries));
  for (int64_t i = 0; i < n; ++i) {
    int32_t length = length_of.next();
    if (length < 0)
      refuse(lengths + 4 * i, "a length of at least 0", std::to_string(length));
    if (int64_t offset = offset_of.next(); offset != end)
      refuse(offsets + 8 * i, "sequence " + std::to_string(i) + " at byte " + std::to_string(end) + " of the .bin",
             std::to_string(offset));
    end += static_cast<int64_t>(length) * width;
  }
  if (end != bin->size())
    refuse(lengths, "lengths that add up to the " + std::to_string(bin->size()) + " bytes of " + quote(bin->path),
           std::to_string(end) + " bytes");
  int64_t least = 0;
  for (uint64_t i = 0; i < boundaries; ++i) {
    int64_t at = documents + 8 * static_cast<int64_t>(i), boundary = boundary_of.next();
    if (boundary < least || boundary > n || (i == 0 && boundary != 0) || (i + 1 == boundaries && boundary != n))
      refuse(at, "document boundaries that rise from 0 to " + std::to_string(n), std::to_string(boundary));
    least = boundary;
  }
}

void TokenFile::read(int64_t sample, int32_t *out) const {
  int64_t first = sample * seq_length;
  std::vector<unsigned char> buffer(static_cast<size_t>((seq_length + 1) * width));
  bin->read(first * width, buffer.data(), (seq_length + 1) * width);
  const unsigned char *bytes = buffer.data();
  for (int64_t i = 0; i <= seq_length; ++i) {
    uint32_t id = width == 2 ? load<uint16_t>(bytes + 2 * i) : width == 4 ? load<uint32_t>(bytes + 4 * i) : bytes[i];
    if (id >= static_cast<uint64_t>(vocab))
      throw Failure{4, "--data-path: " + quote(bin->path) + ", byte " + std::to_string((first + i) * width) +
                           ": expected a token id below the vocabulary of " + std::to_string(vocab) + ", got " +
                           std::to_string(id) + " (sample " + std::to_string(sample) + ", position " +
                           std::to_string(i) + "); the data were made for another tokenizer"};
    out[i] = static_cast<int32_t>(id);
  }
}

} // namespace lf::rt
