//===- ModelRefusalTest.cpp - What a config.json may not say ----------------===//
//
// Each mistake is named by its JSON pointer (or line and column), with what was expected and what was found.
//
//===----------------------------------------------------------------------===//
#include "lf/Model/ModelConfig.h"
#include "lf/Support/Error.h"
#include "lf/Support/Json.h"

#include <gtest/gtest.h>

using namespace lf;

namespace {

const char *const base = R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 64, "intermediate_size": 176,
  "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 320, "max_position_embeddings": 128})";

/// The message and notes of refusing `text`; "accepted" when it is not refused, and the exit code must be 2.
std::string refusal(const std::string &text) {
  try {
    parseModel(text, "m.json");
  } catch (const Error &e) {
    EXPECT_EQ(static_cast<int>(e.code), 2);
    return e.what();
  }
  return "accepted";
}

/// The base with some fields replaced (a JSON merge patch, so null erases) and some set to null.
std::string with(const char *patch, std::vector<std::string> nulls = {}) {
  Json json = Json::parse(base);
  json.merge_patch(Json::parse(patch));
  for (const std::string &key : nulls)
    json[key] = nullptr;
  return json.dump();
}

struct Case {
  const char *name, *patch, *message;
};

class Refused : public testing::TestWithParam<Case> {};

TEST_P(Refused, NamesTheField) { EXPECT_EQ(refusal(with(GetParam().patch)), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(
    Fields, Refused,
    testing::Values(
        Case{"WrongType", R"({"hidden_size": "64"})",
             R"(m.json: "/hidden_size": expected an integer from 1 to 2147483647, got "64")"},
        Case{"Fraction", R"({"hidden_size": 64.5})",
             R"(m.json: "/hidden_size": expected an integer from 1 to 2147483647, got 64.5)"},
        Case{"Negative", R"({"num_hidden_layers": -4})",
             R"(m.json: "/num_hidden_layers": expected an integer from 1 to 65536, got -4)"},
        Case{"Huge", R"({"vocab_size": 18446744073709551615})",
             R"(m.json: "/vocab_size": expected an integer from 1 to 2147483647, got 18446744073709551615)"},
        Case{"Missing", R"({"vocab_size": null})",
             R"(m.json: "/vocab_size": expected an integer from 1 to 2147483647 (the field is required), got nothing)"},
        Case{
            "Heads", R"({"num_attention_heads": 12, "num_key_value_heads": 12})",
            R"(m.json: "/num_attention_heads": expected a divisor of "/hidden_size" 64 when "/head_dim" is not given, got 12 (64 % 12 = 4))"},
        Case{"KvHeads", R"({"num_key_value_heads": 3})",
             R"(m.json: "/num_key_value_heads": expected a divisor of the 8 heads (one of 1, 2, 4, 8), got 3)"},
        Case{"OddHead", R"({"head_dim": 7})",
             R"(m.json: "/head_dim": expected an even number up to 65536 (rotary channels come in pairs), got 7)"},
        Case{"RopeType", R"({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}})",
             R"(m.json: "/rope_scaling/rope_type": expected "default" or "llama3", got "yarn")"},
        Case{"RopeTypeOld", R"({"rope_scaling": {"type": "linear", "factor": 4.0}})",
             R"(m.json: "/rope_scaling/type": expected "default" or "llama3", got "linear")"},
        Case{"RopeParameter", R"({"rope_parameters": {"rope_type": "default", "factor": 4.0}})",
             R"(m.json: "/rope_parameters/factor": expected a known field, got "factor")"},
        Case{"RopeMissing", R"({"rope_scaling": {"rope_type": "llama3", "factor": 4.0}})",
             R"(m.json: "/rope_scaling/low_freq_factor": expected a number (required by "llama3"), got nothing)"},
        Case{"RopeTwice", R"({"rope_theta": 1e4, "rope_parameters": {"rope_theta": 5e5}})",
             R"(m.json: "/rope_parameters/rope_theta": expected 10000 as "/rope_theta" says, got 500000.0)"},
        Case{"Unknown", R"({"totally_new_field": 3})",
             R"(m.json: "/totally_new_field": expected a known field, got "totally_new_field")"},
        Case{
            "Misspelt", R"({"rms_norm_epsilon": 1e-5})",
            R"(m.json: "/rms_norm_epsilon": expected a known field, got "rms_norm_epsilon"; did you mean "rms_norm_eps"?)"},
        Case{
            "Activation", R"({"hidden_act": "mish"})",
            R"(m.json: "/hidden_act": expected "silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh" or "relu", got "mish")"},
        Case{"Flag", R"({"tie_word_embeddings": 1})",
             R"(m.json: "/tie_word_embeddings": expected true or false, got 1)"},
        Case{"Bias", R"({"model_type": "mistral", "attention_bias": true})",
             R"(m.json: "/attention_bias": expected false (what "mistral" models have), got true)"},
        Case{"Types", R"({"model_type": "qwen2", "layer_types": ["full_attention"]})",
             R"(m.json: "/layer_types": expected an array of 4 ("/num_hidden_layers"), got an array of 1)"},
        Case{
            "Type",
            R"({"model_type": "qwen2", "layer_types": ["full_attention", "chunked", "full_attention", "full_attention"]})",
            R"(m.json: "/layer_types/1": expected "full_attention" or "sliding_attention", got "chunked")"},
        Case{
            "NotYet", R"({"model_type": "mixtral"})",
            R"(m.json: "/model_type": "mixtral" is not implemented yet: expected "gpt2", "llama", "qwen2", "qwen3" or "mistral", got "mixtral")"},
        Case{"Foreign", R"({"model_type": "bert"})",
             R"(m.json: "/model_type": expected "gpt2", "llama", "qwen2", "qwen3" or "mistral", got "bert")"},
        Case{
            "KvRequired", R"({"model_type": "mistral", "num_key_value_heads": null})",
            R"(m.json: "/num_key_value_heads": expected an integer that divides the 8 heads (required in "mistral" files), got nothing)"},
        Case{
            "TooLarge", R"({"hidden_size": 2147483640, "intermediate_size": 2147483647, "head_dim": 64})",
            R"(m.json: expected at most 2^50 parameters, got about 55340246577056784384; check the sizes of the model file)"}),
    [](const auto &info) { return info.param.name; });

TEST(Refusal, Gpt2Contradictions) {
  const std::string gpt2 = R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4, "n_positions": 64,
                               "vocab_size": 320, )";
  EXPECT_EQ(refusal(gpt2 + R"("hidden_size": 65})"),
            R"(m.json: "/hidden_size": expected 64 as "/n_embd" says, got 65)");
  EXPECT_EQ(refusal(gpt2 + R"("n_ctx": 32})"),
            R"(m.json: "/n_ctx": expected 64 (the number of positions, "/n_positions"), got 32)");
  EXPECT_EQ(refusal(gpt2 + R"("position_embedding": "rope"})"),
            R"(m.json: "/position_embedding": expected "learned" (this family's positions), got "rope")");
  EXPECT_EQ(refusal(gpt2 + R"("scale_attn_by_inverse_layer_idx": true})"),
            R"(m.json: "/scale_attn_by_inverse_layer_idx": expected false (not implemented), got true)");
  EXPECT_EQ(refusal(gpt2 + R"("attn_pdrop": -0.1})"),
            R"(m.json: "/attn_pdrop": expected a number from 0 to 0.99, got -0.1)");
}

TEST(Refusal, SlidingWindowContradictions) {
  EXPECT_EQ(refusal(with(R"({"model_type": "qwen2", "use_sliding_window": true})", {"sliding_window"})),
            R"(m.json: "/use_sliding_window": expected false while "/sliding_window" is null, got true)");
}

TEST(Refusal, TextThatIsNoJson) {
  EXPECT_EQ(refusal(""), "m.json: expected JSON, got a mistake at line 1, column 1: unexpected end of input; expected "
                         "\"[\", \"{\", or a literal");
  EXPECT_EQ(refusal("{\n  \"a\": nan}"), "m.json: expected JSON, got a mistake at line 2, column 9: invalid literal");
  EXPECT_EQ(refusal("{\n\"a\": \"\xff\"}"),
            "m.json: expected JSON, got a mistake at line 2, column 7: invalid string: ill-formed UTF-8 byte");
  EXPECT_EQ(refusal("[1]"), "m.json: expected a JSON object (a model's config.json), got an array of 1");
  EXPECT_EQ(refusal("{} x"),
            "m.json: expected JSON, got a mistake at line 1, column 4: invalid literal; expected end of "
            "input");
  EXPECT_EQ(refusal(std::string("{}\n\0{", 5)),
            "m.json: expected JSON, got a zero byte at line 2, column 1; write the file again");
  EXPECT_EQ(refusal(R"({"a": 1e999})"), "m.json: expected numbers that fit a double, got \"1e999\"");
  EXPECT_EQ(refusal(R"({"a": {"b": 1, "b": 2}})"),
            "m.json: \"/a/b\": expected each key once, got it twice; remove one");
  EXPECT_NE(refusal(std::string(100000, '[')), "accepted");
}

/// No prefix and no single changed byte of a good file may do anything but pass or be refused with exit 2.
TEST(Refusal, DamagedFilesNeverCrash) {
  const std::string text = base;
  for (size_t i = 0; i < text.size(); ++i) {
    EXPECT_NE(refusal(text.substr(0, i)), "accepted") << i;
    for (char c : {'\0', '\xff', '"', '{', '9', '-'}) {
      std::string damaged = text;
      damaged[i] = c;
      refusal(damaged);
    }
  }
}

TEST(Refusal, MissingFiles) {
  auto message = [](const std::string &path) -> std::string {
    try {
      readModel(path);
    } catch (const Error &e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message("/nowhere/config.json"),
            "model \"/nowhere/config.json\": No such file or directory; expected a readable file");
  EXPECT_EQ(message("/"), "model \"/\": expected a folder that holds \"config.json\", got one without");
}

} // namespace
