// An engine whose model writes what a test wants, whatever the prompt.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/scripted_executor.h"
#include "engine/technique.h"
#include "engine/tiny_engine.h"
#include "text/text_testing.h"

namespace pando::testing {

constexpr Token kScriptOpening = 256;  // ends each prompt

// Bytes, but for three tokens. The last goes across the end of a mark of calls, as only such a
// token can break a call that has begun.
inline Json scripted_tokenizer_json() {
  Json json = byte_level_json({}, Json::array());
  json["pre_tokenizer"]["use_regex"] = false;
  json["added_tokens"] = {added_token(kScriptOpening, "<|assistant|>"), added_token(257, "<|end|>"),
                          added_token(258, ">x", /*special=*/false)};
  return json;
}

// Calls between <tool_call> and </tool_call>, reasoning between <think> and </think>.
inline constexpr const char* kScriptedTemplate =
    R"({% if tools %}<|tools|>{{ tools | tojson }}{% endif %}{% for m in messages %}<|{{ m.role }}|>)"
    R"({% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %})"
    R"({{ m.content or '' }}{% for c in m.tool_calls or [] %}<tool_call>{{ '\n' }})"
    R"({"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}})"
    R"({{ '\n' }}</tool_call>{% endfor %}<|end|>{% endfor %})"
    R"({% if add_generation_prompt %}<|assistant|>{% endif %})";

inline const std::shared_ptr<const Model>& scripted_model() {
  static const TemporaryFolder folder;
  static const std::shared_ptr<const Model> model = [] {
    RandomModelOptions random;
    random.out = folder.path() / "model";
    random.tokenizer = folder.path() / "tokenizer";
    random.max_positions = 4096;
    std::filesystem::create_directories(random.tokenizer);
    const auto write = [&](const char* name, const Json& json) {
      std::ofstream(random.tokenizer / name) << json.dump();
    };
    write("tokenizer.json", scripted_tokenizer_json());
    write("tokenizer_config.json",
          {{"chat_template", kScriptedTemplate}, {"eos_token", "<|end|>"}});
    if (Status status = make_random_model(random); !status)
      throw std::runtime_error(status.error().message());
    return Model::load(random.out, {.tool_format = "hermes"}).value();
  }();
  return model;
}

// Opens executors that follow a script in place of the model.
class ScriptMaker final : public ExecutorMaker {
 public:
  explicit ScriptMaker(std::vector<Token> script) : script_(std::move(script)) {}

  Status check(const DeviceModel&, const EngineOptions&) const override { return {}; }
  Result<KvRoom> kv_room(const Device& device, const model::ModelSpec& spec,
                         const KvOptions& options) const override {
    return device.kv_room(spec, options);
  }
  std::unique_ptr<Executor> open(const DeviceModel& model, const EngineOptions&,
                                 const ExecutorOptions& options, const KvRoom& room,
                                 ThreadPool&) const override {
    return std::make_unique<ScriptedExecutor>(ExecutorFacts{.vocab = model.spec().vocab,
                                                            .d_model = model.spec().d_model,
                                                            .page_len = room.page_len,
                                                            .tile_len = options.kv.tile_len,
                                                            .n_pages = room.n_pages,
                                                            .page_bytes = room.page_bytes,
                                                            .kv_capacity = room.kv_capacity,
                                                            .longest_path = room.longest_path()},
                                              script_, kScriptOpening);
  }

 private:
  std::vector<Token> script_;
};

// script: the answer to each request. The technique "scripted" is the way to an executor of a
// test's own.
inline std::unique_ptr<Engine> open_scripted(const std::string& script) {
  static std::vector<Token> tokens;  // of the script of the engine that opens
  static constexpr NamedTechnique kScripted = {
      "scripted", [](TechniqueOptions&, int tile_len) {
        return Technique{.planner = make_tree_planner(tile_len),
                         .executor = std::make_unique<ScriptMaker>(tokens)};
      }};
  [[maybe_unused]] static const bool is_registered = (register_techniques({&kScripted, 1}), true);
  tokens = scripted_model()->encode(script + "<|end|>", /*add_bos=*/false).value();
  EngineOptions options = tiny_options();
  options.sharing = "scripted";
  return Engine::open(scripted_model(), options).value();
}

}  // namespace pando::testing
