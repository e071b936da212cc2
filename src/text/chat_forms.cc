// Which text is which template.
#include "text/chat_forms.h"

#include <algorithm>
#include <array>

namespace pando {
namespace {

using System = MistralForm::System;

constexpr MistralForm kNemo = {
    .system = System::kLastTurn, .open = "[INST]", .close = "[/INST]", .checks_turns_first = true};

constexpr std::array<ChatForm, 33> kForms = {{
    {0x7897fdcd50e26032, "generated", Writes::kNoTokens, render_generated, Thinking::kSwitch},
    {0x24f6d97f87d647f5, "llama2", Writes::kBosAndEos, render_llama2},
    {0x8e30cf11bd23649b, "llama2-trim", Writes::kBosAndEos, render_llama2},
    {0x9799ad6e2dea0594, "llama3", Writes::kBos,
     [](const ChatInput& in) { return render_llama3(in, false); }},
    {0xb97891b7adc1beb8, "llama3-always", Writes::kBos,
     [](const ChatInput& in) { return render_llama3(in, true); }},
    {0x6ca7779b7730196a, "llama3.1", Writes::kBos, render_llama3_1},
    {0xc3d57e38f5ff0756, "llama3.2", Writes::kBos, render_llama3_1},
    {0xf89cfc57f651ff3d, "mistral-v0.1", Writes::kBosAndEos,
     [](const ChatInput& in) {
       return render_mistral(in, {.system = System::kFirstTurn, .open = " [INST] ", .answer = " "});
     }},
    {0xb7f52373b11c60d7, "mistral-v0.1-first", Writes::kBosAndEos,
     [](const ChatInput& in) { return render_mistral(in, {.answer_end = " "}); }},
    {0xa5d004210ebce758, "mistral-v0.2-first", Writes::kBosAndEos,
     [](const ChatInput& in) { return render_mistral(in, {}); }},
    {0xc6614466504d495b, "mistral-v0.3", Writes::kBosAndEos,
     [](const ChatInput& in) {
       return render_mistral(in, {.system = System::kLastTurn,
                                  .close = "[/INST]",
                                  .answer = " ",
                                  .trims_answer = true,
                                  .checks_turns_first = true});
     }},
    {0x797fff16f26a5c01, "mixtral-8x22b", Writes::kBosAndEos,
     [](const ChatInput& in) {
       return render_mistral(in, {.system = System::kLastTurn, .close = "[/INST]", .answer = " "});
     }},
    {0xcae647ce0048756b, "mistral-nemo", Writes::kBosAndEos,
     [](const ChatInput& in) { return render_mistral(in, kNemo); }},
    {0x6a6adf55847af499, "mistral-nemo-first", Writes::kBosAndEos,
     [](const ChatInput& in) { return render_mistral(in, kNemo); }},
    {0xf40d3b263dcc40bf, "qwen1.5", Writes::kNoTokens, render_qwen1_5},
    {0x20f20c2b5139eaee, "qwen1.5-chat", Writes::kNoTokens,
     [](const ChatInput& in) { return render_qwen2(in, "You are a helpful assistant"); }},
    {0xd5d943bd0bd9082f, "qwen2", Writes::kNoTokens,
     [](const ChatInput& in) { return render_qwen2(in, "You are a helpful assistant."); }},
    {0x2469c9508f79506e, "qwen2.5", Writes::kNoTokens, render_qwen2_5},
    {0xef2b96adf9b87224, "qwen2.5-braces", Writes::kNoTokens, render_qwen2_5},
    {0x0283f874ff58d644, "qwen3", Writes::kNoTokens,
     [](const ChatInput& in) { return render_qwen3(in, Qwen3Form::kSwitch); }, Thinking::kSwitch},
    {0xc9e0155c80737cf2, "qwen3-string", Writes::kNoTokens,
     [](const ChatInput& in) { return render_qwen3(in, Qwen3Form::kSwitch); }, Thinking::kSwitch},
    {0x8fb5d937b1e8f5d0, "qwen3-instruct-2507", Writes::kNoTokens,
     [](const ChatInput& in) { return render_qwen3(in, Qwen3Form::kInstruct); }},
    {0xbdee364f122d2352, "qwen3-thinking-2507", Writes::kNoTokens,
     [](const ChatInput& in) { return render_qwen3(in, Qwen3Form::kThinking); }, Thinking::kAlways},
    {0x82fc89c04c54ba66, "phi3-mini", Writes::kEos,
     [](const ChatInput& in) { return render_phi3(in, false); }},
    {0xcd8aff863abd4554, "phi3.5-mini", Writes::kEos,
     [](const ChatInput& in) { return render_phi3(in, true); }},
    {0x551cbfd01fcc4680, "phi3-mini-first", Writes::kBos,
     [](const ChatInput& in) { return render_phi3_first(in, true, false); }},
    {0xb4abd11926045a2a, "phi3-mini-system", Writes::kBos,
     [](const ChatInput& in) { return render_phi3_first(in, true, true); }},
    {0x874eeb59684ce46e, "phi3-medium", Writes::kNoTokens,
     [](const ChatInput& in) { return render_phi3_first(in, false, false); }},
    {0x70325d9540e2904f, "phi4", Writes::kNoTokens, render_phi4},
    {0xbc5711ad3f99d670, "phi4-first", Writes::kNoTokens, render_phi4_first},
    {0x1c0680782a7c9316, "phi4-mini", Writes::kEos, render_phi4_mini},
    {0x2cf6c80e0c47b498, "olmo2", Writes::kBosAndEos,
     [](const ChatInput& in) { return render_olmo2(in, true); }},
    {0x7b4a2d69f1d91b7c, "tulu3", Writes::kEos,
     [](const ChatInput& in) { return render_olmo2(in, false); }},
}};

}  // namespace

std::span<const ChatForm> chat_forms() { return kForms; }

const ChatForm* find_chat_form(uint64_t hash) {
  const auto form = std::find_if(kForms.begin(), kForms.end(),
                                 [&](const ChatForm& known) { return known.hash == hash; });
  return form == kForms.end() ? nullptr : &*form;
}

}  // namespace pando
