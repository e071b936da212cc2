// Calls of published templates come back as they were given.
#include <set>

#include "text/calls_testing.h"

namespace pando::testing {
namespace {

using calls::CallFormat;
using calls::ReasoningForm;
using calls::TrialAnswer;
using calls::TrialCall;

struct KnownTemplate {
  std::string_view name;
  // "calls" if calls are read by a format, and what the template renders besides one call: two
  // ("parallel"), a text before one, reasoning before one or before a text.
  std::string_view renders;
};

constexpr KnownTemplate kTemplates[] = {
    {"Apertus-8B-Instruct", "calls parallel text reasoning"},
    {"Apriel-1.6-15b-Thinker-fixed", "calls parallel text reasoning"},
    {"ByteDance-Seed-OSS", "calls parallel text reasoning"},
    {"Cohere2MoE", "calls parallel reasoning"},
    {"CohereForAI-c4ai-command-r-plus-tool_use", "calls parallel text"},
    {"GLM-4.6", "calls parallel text reasoning"},
    {"GLM-4.7-Flash", "calls parallel text reasoning"},
    {"GigaChat3-10B-A1.8B", "calls text"},
    {"HuggingFaceTB-SmolLM3-3B", ""},
    {"Kimi-K2-Instruct", "calls"},  // its rendering of calls is refused, as the reference does
    {"Kimi-K2-Thinking", "calls"},  // the same
    {"LFM2-8B-A1B", ""},
    {"LFM2.5-8B-A1B", "calls parallel text reasoning"},
    {"LFM2.5-Instruct", ""},
    {"MiniMax-M1", "calls parallel"},
    {"MiniMax-M2", "calls parallel text reasoning"},
    {"MiniMax-M3", "calls parallel text reasoning"},
    {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "calls parallel text reasoning"},
    {"NVIDIA-Nemotron-Nano-v2", "calls parallel"},
    {"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "calls parallel"},
    {"Qwen-QwQ-32B", "calls parallel text"},
    {"Qwen-Qwen2.5-7B-Instruct", "calls parallel text"},
    {"Qwen-Qwen3-0.6B", "calls parallel text reasoning"},
    {"Qwen3.5-4B", "calls parallel text reasoning"},
    {"Reka-Edge", "calls parallel text reasoning"},
    {"Spark2.5", "calls parallel text reasoning"},
    {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "calls parallel"},
    {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "calls parallel"},
    {"deepseek-ai-DeepSeek-V3.1", "calls parallel text"},
    {"deepseek-ai-DeepSeek-V4", "calls parallel text reasoning"},
    {"deepseek-ai-DeepSeek-V4-Flash-0731", "calls parallel text reasoning"},
    {"fireworks-ai-llama-3-firefunction-v2", "calls parallel text"},
    {"google-gemma-4-31B-it", "calls parallel text reasoning"},
    {"google-gemma-4-31B-it-interleaved", "calls parallel text reasoning"},
    {"ibm-granite-granite-3.3-2B-Instruct", ""},
    {"ibm-granite-granite-4.1", "calls parallel text"},
    {"inclusionai-ling-3.0-flash", "calls parallel text reasoning"},
    {"llama-cpp-deepseek-r1", "calls parallel"},
    {"meetkai-functionary-medium-v3.1", "calls parallel text"},
    {"meetkai-functionary-medium-v3.2", "calls parallel text"},
    {"meta-llama-Llama-3.1-8B-Instruct", "calls"},
    {"meta-llama-Llama-3.3-70B-Instruct", "calls"},
    {"microsoft-Phi-3.5-mini-instruct", ""},
    {"mistralai-Ministral-3-14B-Reasoning-2512", "calls parallel text reasoning"},
    {"moonshotai-Kimi-K2", "calls parallel text"},
    {"muse-glimmer", "calls parallel reasoning"},
    {"openai-gpt-oss-120b", "calls reasoning"},
    {"poolside-Laguna-S-2.1", "calls parallel text reasoning"},
    {"poolside-Laguna-XS-2.1", "calls parallel text reasoning"},
    {"poolside-Laguna-XS.2", "calls parallel text reasoning"},
    {"unsloth-Apriel-1.5", "calls parallel text"},
    {"unsloth-mistral-Devstral-Small-2507", "calls parallel text"},
    {"upstage-Solar-Open-100B", "calls parallel reasoning"},
};

// Other tools than those that formats are learned from.
constexpr std::string_view kTools = R"([
  {"type": "function", "function": {"name": "get-weather", "description": "w", "parameters": {
    "type": "object", "properties": {
      "city": {"type": "string", "description": "d"}, "code": {"type": "string", "description": "d"},
      "days": {"type": "integer", "description": "d"}, "ratio": {"type": "number", "description": "d"},
      "deep": {"type": "object", "description": "d"}, "flag": {"type": "boolean", "description": "d"},
      "tags": {"type": "array", "items": {"type": "string"}, "description": "d"},
      "maybe": {"type": ["string", "null"], "description": "d"}}, "required": ["city"]}}},
  {"type": "function", "function": {"name": "list_files", "description": "l", "parameters": {
    "type": "object", "properties": {}, "required": []}}}])";

TrialCall called(std::string_view name, std::string_view arguments, std::string_view id) {
  return {std::string(name), calls::CallJson::parse(arguments), std::string(id)};
}

const TrialCall kSimple = called("get-weather", R"({"city": "Oslo", "days": 3})", "abcdE6789"),
                kEmpty = called("list_files", "{}", "fghiJ1234"),
                // Quotes, line ends, numbers and words that look like other types.
    kRich = called("get-weather", R"({"city": "S\u00e3o \"Paulo\", it's\nline two\n\n  end",
                    "code": "0042", "days": -3, "ratio": 2.5, "flag": false,
                    "tags": ["x", "y \"q\""], "maybe": "null and void"})",
                   "abcdE6789"),
                kDeep =
                    called("get-weather", R"({"city": "12", "deep": {"list": ["a", "b \"q\" 's"],
                    "yes": true, "level": {"x": -1, "s": "two\nlines"}}})",
                           "abcdE6789");

class CallTemplate {
 public:
  CallTemplate(const std::string& name, const ChatTemplate& chat)
      : name_(name),
        format_(calls::learn_calls(chat)),
        trials_(chat, kTools),
        tools_(offered(kTools)) {}

  std::string renders() const {
    std::string text = format_.is_known ? "calls" : "";
    if (format_.renders_parallel) text += " parallel";
    if (format_.renders_text_and_call) text += " text";
    if (format_.renders_reasoning) text += " reasoning";
    return text;
  }
  bool comes_back(const TrialAnswer& answer, ReasoningForm form = ReasoningForm::kFields) const {
    const auto text = rendered_answer(trials_, format_, answer, form);
    if (!text) return false;
    parts_of(format_, tools_, text->answer, text->prompt);  // cut at every byte
    return is_answer(events_of(format_, tools_, text->prompt, text->answer, text->answer.size()),
                     answer);
  }
  void check() const {
    EXPECT_TRUE(comes_back({.calls = {kSimple}})) << name_;
    EXPECT_TRUE(comes_back({.calls = {kEmpty}})) << name_;
    EXPECT_TRUE(comes_back({.calls = {kRich}})) << name_;
    EXPECT_TRUE(comes_back({.calls = {kDeep}})) << name_;
    EXPECT_EQ(comes_back({.calls = {kSimple, kEmpty}}), format_.renders_parallel) << name_;
    EXPECT_EQ(comes_back({.calls = {kEmpty, kRich}}), format_.renders_parallel) << name_;
    EXPECT_EQ(comes_back({.text = "I look.", .calls = {kSimple}}), format_.renders_text_and_call)
        << name_;
    const TrialAnswer thought = {.text = "It rains.", .reasoning = "Hm, Oslo.\nYes."},
                      called = {.reasoning = "Hm, Oslo.\nYes.", .calls = {kRich}};
    bool reasons = comes_back(called);
    for (const ReasoningForm form :
         {ReasoningForm::kFields, ReasoningForm::kParts, ReasoningForm::kBlocks})
      reasons = reasons || comes_back(thought, form);
    EXPECT_EQ(reasons, format_.renders_reasoning) << name_;
  }
  const CallFormat& format() const { return format_; }

 private:
  std::string name_;
  CallFormat format_;
  calls::Trials trials_;
  calls::OfferedTools tools_;
};

TEST(CallTemplates, CallsComeBack) {
  const std::filesystem::path folder = PANDO_SHARED_DATA "/chat-templates";
  if (!is_there(folder)) GTEST_SKIP() << folder << " does not exist";
  int n_formats = 0, n_parallel = 0, n_texts = 0, n_reasoning = 0;
  std::set<std::string> names;
  for (const KnownTemplate& known : kTemplates) {
    const std::string name(known.name);
    const auto text = read_text_file(folder / (name + ".jinja"));
    ASSERT_TRUE(text.ok()) << text.error().message();
    const auto chat =
        ChatTemplate::from_text(*text, name, {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
    ASSERT_TRUE(chat.ok()) << chat.error().message();
    const CallTemplate calls(name, *chat);
    EXPECT_EQ(calls.renders(), known.renders) << name;
    if (calls.format().is_known && !name.starts_with("Kimi-K2-")) calls.check();
    n_formats += calls.format().is_known;
    n_parallel += calls.format().renders_parallel;
    n_texts += calls.format().renders_text_and_call;
    n_reasoning += calls.format().renders_reasoning;
    names.insert(name + ".jinja");
  }
  EXPECT_EQ(names.size(), 53u);
  EXPECT_EQ(n_formats, 48);
  EXPECT_EQ(n_parallel, 42);
  EXPECT_EQ(n_texts, 34);
  EXPECT_EQ(n_reasoning, 26);
  for (const auto& file : std::filesystem::directory_iterator(folder))
    EXPECT_TRUE(names.contains(file.path().filename().string())) << file.path();
}

}  // namespace
}  // namespace pando::testing
