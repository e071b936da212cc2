// A model: weights and tokenizer, loaded once and shared by any number of engines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/values/chat.h"
#include "pando/values/result.h"
#include "pando/values/token.h"
#include "pando/values/weight_type.h"

namespace pando {

class Device;
class ModelPath;
class Ranks;
struct TextForm;

// Options of loading a model.
struct ModelOptions {
  WeightType weights = WeightType::kAsStored;  // of matrices; norms stay as they are stored
  std::filesystem::path tokenizer;  // directory or GGUF file with it; empty: the model's own
  // A file with a chat template, or the name of one of several that the model has; empty: as
  // docs/chat.md says. One that cannot be read fails the loading.
  std::string chat_template = {};
  // How answers write tool calls: a name of tool_format_names() (tools.h). Empty or "auto": as the
  // chat template shows.
  std::string tool_format = {};
  int threads = 0;     // for loading; 0: one for each fast processor
  std::string device;  // device, by its name in `pando devices`; empty: the first
  std::shared_ptr<Ranks> ranks =
      nullptr;  // set on rank 0: the ranks that share the model (ranks.h)
};

// Facts about a model.
struct ModelInfo {
  std::string family;       // as docs/models.md lists them: "llama", "qwen3", "granitemoehybrid"
  int64_t n_parameters;     // weights
  int n_layers;             // attention and feed-forward, each
  int d_model;              // length of a hidden row
  int vocab;                // tokens, and logits of a row
  int max_positions;        // longest sequence the model was made for, in tokens
  std::string weight_type;  // of most: "f32", "f16", "bf16", "q8_0", "q4_0", "q4_K", "int8",
                            // "bf16_dot"
  size_t weight_bytes;      // in memory
  bool gives_logits;        // false: its tokens see both ways, and it gives embeddings alone
  // Oddities of the files that are no errors, and instruction sets with wrong matrix products.
  std::vector<std::string> warnings;
  // Parts of the files that are not loaded because text does not need them (for images, sounds,
  // multi-token prediction, masked tokens), and tokens of the tokenizer that the model lacks.
  std::vector<std::string> notes;
};

// Immutable; any thread may use it at any time.
class Model {
 public:
  // Reads a Hugging Face model directory - config.json, safetensors (one file or shards), and the
  // tokenizer's files - or a GGUF file; without a tokenizer the model takes and gives tokens only.
  // Errors: kNotFound, kBadFile, kUnsupported; the message names file, field, found and expected.
  static Result<std::shared_ptr<const Model>> load(const std::filesystem::path& path,
                                                   const ModelOptions& options = {});
  // For the library itself: reads files that may be open already.
  static Result<std::shared_ptr<const Model>> load(const ModelPath& path,
                                                   const ModelOptions& options = {});
  ~Model();

  ModelInfo info() const;      // facts about the loaded model
  bool has_tokenizer() const;  // otherwise it takes and gives tokens only
  // Tokens of a prompt; `add_bos`: with the beginning-of-sequence token where the model wants one.
  // Errors: kInvalidArgument for text that is not UTF-8, kUnsupported without a tokenizer.
  Result<std::vector<Token>> encode(std::string_view text, bool add_bos = true) const;
  // A warning if encode() adds a token that ends answers to the end of each text: then a model has
  // nothing to continue. Otherwise empty.
  std::string prompt_warning() const;
  // Text of tokens; bytes that are not UTF-8 become U+FFFD. Special tokens are left out.
  Result<std::string> decode(std::span<const Token> tokens) const;
  // Text of one token inside a longer text, with its leading space. A special token has its text
  // too. Empty for ids outside the vocabulary. Errors: kUnsupported without a tokenizer.
  Result<std::string> piece(Token token) const;

  // Renders the prompt of a conversation by the model's own chat template. Its tokens are
  // encode(text, false): a template writes a beginning-of-sequence token itself. Errors:
  // kUnsupported without a template, or with one that Pando cannot read (docs/chat.md);
  // kInvalidArgument, with the line, if the template refuses.
  Result<std::string> render_chat(std::span<const ChatMessage> messages,
                                  const ChatOptions& options = {}) const;
  // The date that the chat template uses if a request gives none, such as "2026-11-25": the day on
  // which the model was loaded. Empty if the template never asks.
  std::string chat_day() const;

  // Checks that answers can have the form. Errors name the part that is malformed
  // (kInvalidArgument) or not supported (kUnsupported).
  Status check_form(const TextForm& form) const;
  // Warnings about what a valid form has that is not enforced; empty if there is nothing. Compiles
  // the form, as check_form does.
  std::vector<std::string> form_warnings(const TextForm& form) const;

  struct Parts;
  const Parts& parts() const { return *parts_; }  // for the library itself

 private:
  friend Result<std::shared_ptr<const Model>> load_for_timing(const std::filesystem::path& path,
                                                              const ModelOptions& options);
  explicit Model(std::unique_ptr<Parts> parts);
  static Result<std::shared_ptr<const Model>> load_parts(const ModelPath& directory,
                                                         const ModelOptions& options,
                                                         const Device& device, int threads);
  std::unique_ptr<Parts> parts_;
};

}  // namespace pando
