#include "pando/inspect.h"

#include <algorithm>
#include <istream>

#include "base/errors.h"
#include "batch/line_parser.h"
#include "batch/passages.h"
#include "cache/prefix_tree.h"
#include "engine/model_parts.h"

namespace pando {
namespace {

constexpr size_t kMostStops = 5, kMostAfter = 3;
constexpr uint32_t kTokensShown = 12;

class Inspector {
 public:
  Inspector(const Model& model, int context) : model_(model), context_(context), passages_(model) {
    const model::ModelConfig& config = model.parts().weights.config;
    found_.flops_per_token = 2.0 * static_cast<double>(model.info().n_parameters);
    found_.kv_bytes =
        uint64_t{2} * sizeof(uint16_t) * config.n_layers * config.n_kv_heads * config.head_dim;
  }

  void add_bad_line() { ++found_.lines, ++found_.bad_lines; }

  void add(const BatchLine& line) {
    ++found_.lines;
    if (line.refused) ++found_.bad_lines;
    for (const std::string& context : line.contexts) passages_.add(context);
    for (const BatchQuestion& question : line.questions)
      add(request_of(line, question), !question.choices.empty());
  }

  Inspection finish() {
    std::vector<const Node*> nodes = tree_.nodes();  // parents first
    std::unordered_map<const Node*, uint64_t> behind;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      found_.distinct_tokens += (*node)->size();
      behind[(*node)->parent] += behind[*node] + (*node)->size();
    }
    std::erase_if(nodes, [](const Node* node) { return node->children.size() < 2; });
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](const Node* a, const Node* b) { return behind[a] > behind[b]; });
    nodes.resize(std::min(nodes.size(), kMostStops));
    for (const Node* node : nodes) found_.stops.push_back(stop_at(*node, behind[node]));
    found_.repeated_passages = passages_.n_repeated();
    found_.reordered_tokens =
        found_.distinct_tokens - std::min(found_.distinct_tokens, passages_.saved_by_order());
    return std::move(found_);
  }

 private:
  void add(const Request& request, bool has_choices) {
    const SamplingOptions& sampling = request.sampling;
    const Result<std::vector<Token>> tokens = encode(request);
    const size_t n = tokens && sampling.n > 0 && sampling.max_tokens >= 0 ? tokens->size() : 0;
    if (n == 0 || n >= static_cast<size_t>(context_)) {
      ++(n == 0 ? found_.bad_lines : found_.too_long);
      return;
    }
    ++found_.prompts;
    found_.prompt_tokens += n;
    found_.longest_prompt = std::max<uint64_t>(found_.longest_prompt, n);
    if (!has_choices && request.pooling == Pooling::kNone)
      found_.answer_tokens += std::min<uint64_t>(sampling.max_tokens, context_ - n) * sampling.n;
    tree_.acquire(0, *tokens);
  }

  Result<std::vector<Token>> encode(const Request& request) const {
    if (!request.tokens.empty()) return request.tokens;
    if (request.messages.empty()) return model_.encode(request.prompt);
    const Result<std::string> text = model_.render_chat(request.messages, request.chat);
    if (!text) return text.error();
    return model_.encode(*text, /*add_bos=*/false);
  }

  Inspection::Stop stop_at(const Node& node, uint64_t tokens_behind) const {
    Inspection::Stop stop{.prompts = node.n_pins,
                          .ways = node.children.size(),
                          .shared_tokens = node.end(),
                          .tokens_behind = tokens_behind};
    const uint32_t n = std::min(node.size(), kTokensShown);
    stop.before = text_of(std::span(node.tokens).last(n));
    std::vector<const Node*> children;
    for (const auto& [token, child] : node.children) children.push_back(child.get());
    std::sort(children.begin(), children.end(),  // most prompts first, then as they came
              [](const Node* a, const Node* b) {
                return a->n_pins != b->n_pins ? a->n_pins > b->n_pins : a->id < b->id;
              });
    children.resize(std::min(children.size(), kMostAfter));
    for (const Node* child : children)
      stop.after.push_back(
          text_of(std::span(child->tokens).first(std::min(child->size(), kTokensShown))));
    return stop;
  }

  std::string text_of(std::span<const Token> tokens) const {
    Result<std::string> text = model_.decode(tokens);
    return text ? std::move(*text) : fmt::format("{} tokens", tokens.size());
  }

  const Model& model_;
  int context_;
  Passages passages_;
  PrefixTree tree_{[](Node&, Node&) {}};  // every prompt stays pinned
  Inspection found_;
};

}  // namespace

Result<Inspection> inspect_batch(const Model& model, int context, std::istream& input,
                                 const BatchOptions& options) {
  RecordScanner scanner(input, options.format);
  LineParser parser(model, context, options);
  Inspector inspector(model, context);
  while (const std::optional<InputRecord> record = scanner.next()) {
    const Result<std::optional<BatchLine>> line = parser.parse(*record);
    if (!line && parser.failed()) return line.error();
    if (!line) {
      inspector.add_bad_line();
      if (options.on_problem)
        options.on_problem(fmt::format("line {}: {}", record->line, line.error().message));
    } else if (*line) {
      if ((*line)->refused && options.on_problem)
        options.on_problem(fmt::format("line {}: {}", record->line, (*line)->refused->message));
      inspector.add(**line);
    }
  }
  if (!scanner.failure().empty()) return io_error("cannot read the input: {}", scanner.failure());
  return inspector.finish();
}

}  // namespace pando
