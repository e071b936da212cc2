#include "pando/inspect.h"

#include <xxhash.h>

#include <algorithm>
#include <istream>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api/model_access.h"
#include "base/errors.h"
#include "batch/engine_requests.h"
#include "batch/line_parser.h"
#include "batch/passages.h"
#include "cache/prefix_tree.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"

namespace pando {
namespace {

constexpr size_t kMostStops = 5, kMostAfter = 3;
constexpr uint32_t kTokensShown = 12, kLeastShared = 16;

// Positions that tokens from `begin` on see, the mean over layers with attention: with a window so
// many at most.
class KeysSeen {
 public:
  explicit KeysSeen(const model::ModelSpec& config) {
    for (const model::LayerConfig& layer : config.layers)
      if (layer.mixer == model::Mixer::kAttention)
        share_[layer.window] += 1 / static_cast<double>(config.n_attention_layers());
  }
  double operator()(uint64_t begin, uint64_t n) const {
    double keys = 0;
    for (const auto& [window, share] : share_)
      keys += share * (up_to(begin + n, window) - up_to(begin, window));
    return keys;
  }

 private:
  static double up_to(uint64_t n_tokens, int window) {
    const auto n = static_cast<double>(n_tokens), w = static_cast<double>(window);
    return window == 0 || n <= w ? n * (n + 1) / 2 : w * (w + 1) / 2 + (n - w) * w;
  }
  std::map<int, double> share_;  // of layers, by window
};

class Inspector {
 public:
  // room: tokens that a prompt and its answer can have in memory.
  Inspector(const Model& model, const EngineOptions& engine, size_t room,
            const BatchOptions& options)
      : model_(model),
        options_(options),
        room_(room),
        passages_(model),
        keys_seen_(spec_of(model)) {
    engine_.context = engine.context;
    const model::ModelSpec& config = spec_of(model);
    // Rows of this table are only read.
    const double table =
        1.0 * config.layer_input_vocab * config.n_layers() * config.layer_input_dim;
    // And a row meets only some of the experts.
    const model::ExpertsConfig& e = config.experts;
    const double unused =
        (1.0 + config.n_inner()) * (e.n_experts - e.n_used) * config.d_model * e.d_ff;
    const auto n_mixtures = std::ranges::count(config.layers, model::FeedForward::kExperts,
                                               &model::LayerConfig::feed_forward);
    found_.flops_per_token = 2.0 * (static_cast<double>(model.info().n_parameters) - table -
                                    static_cast<double>(n_mixtures) * unused);
    for (int i = 0; i < config.n_layers(); ++i)
      if (config.layers[i].mixer == model::Mixer::kAttention)
        found_.flops_per_key += 4.0 * config.heads(i).q_dim();
    found_.kv_bytes = kv_bytes_per_token(model, engine.kv_type);
    if (engine.kv_memory > 0) found_.room = room;
  }

  const char* place = "line";  // the input's lines are called so

  void add_bad_line(uint64_t number, const Error& error) {
    ++found_.lines;
    ++found_.bad_lines;
    problem(number, ": " + error.message());
  }

  void add(uint64_t number, const ask::Line& line) {
    if (line.refused) return add_bad_line(number, *line.refused);
    ++found_.lines;
    if (const char* field = line.unique_field()) {
      const auto [first, is_new] =
          line_of_id_.emplace(XXH3_64bits(line.id.data(), line.id.size()), number);
      if (!is_new) {
        ++found_.repeated_ids;
        problem(number,
                fmt::format(": {} '{}' also appears in line {}", field, line.id, first->second));
      }
    } else {
      note_ids(line);
    }
    for (const std::string& context : line.contexts) passages_.add(context);
    for (const ask::Question& question : line.questions)
      if (Status status = add(line, question); !status) {
        if (status.error().code == ErrorCode::kTooLong) {
          ++found_.too_long;
          continue;
        }
        ++found_.refused;
        problem(number, fmt::format("{}: {}",
                                    question.id ? fmt::format(", question '{}'", *question.id) : "",
                                    status.error().message()));
      }
  }

  // Counts a line if one of its answers has the ids of an answer of an earlier line.
  void note_ids(const ask::Line& line) {
    const ask::Question* equal = nullptr;
    for (const ask::Question& question : line.questions) {
      const bool is_apart = line.answers_apart() && question.id;
      const std::string ids = is_apart ? line.id + '\0' + *question.id : line.id;
      const bool is_new = known_ids_.insert(XXH3_64bits(ids.data(), ids.size())).second;
      if (!is_new && equal == nullptr) equal = &question;
      if (!is_apart) break;  // all its answers have the line's id
    }
    if (equal == nullptr) return;
    if (found_.equal_ids++ == 0) found_.equal_id = equal->request.id;
  }

  Inspection finish() {
    std::vector<const Node*> nodes = tree_.nodes();  // parents first
    std::unordered_map<const Node*, uint64_t> behind;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      found_.distinct_tokens += (*node)->size();
      found_.distinct_keys += keys_seen_((*node)->end() - (*node)->size(), (*node)->size());
      behind[(*node)->parent] += behind[*node] + (*node)->size();
    }
    std::erase_if(nodes, [](const Node* node) {
      return node->children.size() < 2 || node->end() < kLeastShared;
    });
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
  // An error where the engine would have one.
  Status add(const ask::Line& line, const ask::Question& question) {
    const Result<std::vector<Request>> requests = engine_requests(model_, engine_, line, question);
    if (!requests) return requests.error();
    bool has_room = true;
    for (const Request& request : *requests) {
      const size_t n_answer = static_cast<size_t>(std::max(request.sampling.max_tokens, 0));
      const size_t n_longest =
          std::min<size_t>(request.tokens.size() + n_answer, static_cast<size_t>(engine_.context));
      found_.longest_path = std::max<uint64_t>(found_.longest_path, n_longest);
      has_room &= n_longest <= room_;
    }
    if (!has_room) {
      ++found_.no_room;
      ++found_.too_long;
    }
    const std::span<const Token> prompt = prompt_of(question, requests->front());
    const uint64_t n = prompt.size();
    ++found_.prompts;
    found_.prompt_tokens += n;
    found_.longest_prompt = std::max(found_.longest_prompt, n);
    const SamplingOptions& sampling = requests->front().sampling;
    found_.prompt_keys += keys_seen_(0, n);
    if (question.choices.empty() && requests->front().pooling == Pooling::kNone) {
      const uint64_t n_tokens = std::min<uint64_t>(sampling.max_tokens, engine_.context - n);
      const auto n_answers = static_cast<uint64_t>(sampling.n);
      found_.answers += n_answers;
      found_.answer_tokens += n_tokens * n_answers;
      found_.answer_keys += keys_seen_(n, n_tokens) * static_cast<double>(n_answers);
    }
    tree_.acquire(0, prompt);
    return {};
  }

  void problem(uint64_t line, const std::string& message) const {
    if (options_.on_problem) options_.on_problem(fmt::format("{} {}{}", place, line, message));
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
    if (!model_.has_tokenizer()) return fmt::format("{} tokens", tokens.size());
    return decode(*tokenizer_of(model_), tokens, /*skip_special=*/false);
  }

  const Model& model_;
  const BatchOptions& options_;
  size_t room_;
  EngineOptions engine_;  // that the prompts are for
  Passages passages_;
  KeysSeen keys_seen_;
  std::unordered_map<uint64_t, uint64_t> line_of_id_;  // by hash
  std::unordered_set<uint64_t> known_ids_;             // hashes; not of OpenAI lines
  PrefixTree tree_{[](Node&, Node&) {}};               // every prompt stays pinned
  Inspection found_;
};

}  // namespace

Result<Inspection> inspect_batch(const Model& model, const EngineOptions& engine,
                                 std::istream& input, const BatchOptions& given) {
  const Result<BatchOptions> settled = options_for_model(model, given);
  if (!settled) return settled.error();
  const BatchOptions& options = *settled;
  size_t room = static_cast<size_t>(engine.context);
  if (engine.kv_memory > 0) {
    const Result<size_t> longest = longest_sequence(model, engine);
    if (!longest) return longest.error();
    room = *longest;
  }
  RecordScanner scanner(input, options.format, options.task);
  LineParser parser(model, engine.context, options);
  Inspector inspector(model, engine, room, options);
  while (const std::optional<InputRecord> record = scanner.next()) {
    inspector.place = record->place();
    const Result<std::unique_ptr<ask::Line>> line = parser.parse(*record);
    if (!line && parser.failed()) return line.error();
    if (!line) {
      inspector.add_bad_line(record->line, line.error());
    } else if (*line) {
      inspector.add(record->line, **line);
    }
  }
  if (!scanner.failure().empty()) return io_error("cannot read the input: {}", scanner.failure());
  parser.end();
  Inspection found = inspector.finish();
  if (found.no_room > 0) {
    const Result<size_t> needed = kv_memory_for(model, engine, found.longest_path);
    if (!needed) return needed.error();
    found.kv_memory_needed = *needed;
  }
  return found;
}

}  // namespace pando
