#include "ask/embedding.h"

#include "ask/logprobs.h"
#include "base/json.h"
#include "pando/embed.h"

namespace pando::ask {
namespace {

// The bytes of f32 values, in the order of the machine.
std::string base64(const std::vector<float>& values) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  const size_t n = values.size() * sizeof(float);
  std::string text;
  for (size_t i = 0; i < n; i += 3) {
    const auto byte = [&](size_t k) -> uint32_t { return i + k < n ? bytes[i + k] : 0; };
    const uint32_t three = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (size_t k = 0; k < 4; ++k) text += i + k <= n ? kDigits[three >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace

Json values_json(const std::vector<float>& values) {
  ListText list;
  for (const float value : values) list.add(printed(value));
  return list.take();
}

Json token_vectors_json(const Completion& completion, const EmbedOptions& options) {
  Json list = Json::array();
  for (const std::vector<float>& vector : token_vectors_of(completion, options))
    list.push_back(values_json(vector));
  return list;
}

Json vector_json(const AnswerForm& form, const Completion& completion) {
  const std::vector<float> values = embedding_of(completion, form.embed);
  return form.base64 ? Json(base64(values)) : values_json(values);
}

Json embeddings_body(const AnswerForm& form, const Envelope& envelope,
                     std::span<const std::vector<Completion>> completions) {
  Json data = Json::array();
  uint64_t n_prompt = 0, n_cut = 0;
  for (size_t i = 0; i < completions.size(); ++i) {
    n_prompt += static_cast<uint64_t>(completions[i][0].prompt_tokens);
    n_cut += static_cast<uint64_t>(completions[i][0].cut_tokens);
    data.push_back({{"object", "embedding"},
                    {"index", i},
                    {"embedding", vector_json(form, completions[i][0])}});
    if (!envelope.warning.empty()) data.back()["wrong"] = envelope.warning;
  }
  Json usage = {{"prompt_tokens", n_prompt}, {"total_tokens", n_prompt}};
  if (n_cut > 0) usage["cut_tokens"] = n_cut;
  return {{"id", "embd-" + envelope.id}, {"object", "list"},        {"created", envelope.created},
          {"data", std::move(data)},     {"model", envelope.model}, {"usage", std::move(usage)}};
}

}  // namespace pando::ask
