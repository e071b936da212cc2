#include "serve/replica_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/sha.h>

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "api/model_access.h"
#include "ask/prompt_bytes.h"
#include "base/fields.h"
#include "base/json.h"
#include "pando/values/sharing.h"
#include "pando/version.h"
#include "serve/service.h"

namespace pando::serve {
namespace {

std::string sha256_hex(const std::string& text) {
  std::array<unsigned char, 32> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

// Its exp() and others take part in the arithmetic; empty: not known.
const char* libc_version() {
#if defined(__GLIBC__)
  return gnu_get_libc_version();
#else
  return "";
#endif
}

bool is_exact(const Engine& engine) { return sharing_info(engine.options().sharing).value().exact; }

// Bits and texts of answers depend on these alone. A version may change the arithmetic. A technique
// that is not exact has the bits of no other process.
std::string fingerprint_of(const Engine& engine, const ServerOptions& options,
                           const std::string& process) {
  const ModelInfo info = engine.model().info();
  const EngineOptions& of_engine = engine.options();
  const GenerationConfig& defaults = options.defaults;
  Json facts = {{"version", version()},
                {"commit", build_commit()},
                {"files", options.files_fingerprint},
                {"family", info.family},
                {"parameters", info.n_parameters},
                {"vocab", info.vocab},
                {"weights", info.weight_type},
                {"kv", static_cast<int>(of_engine.kv_type)},
                {"context", of_engine.context},
                {"longest", engine.longest()},
                {"models", options.model_names},
                {"libc", libc_version()},
                {"sharing", of_engine.sharing},
                {"process", is_exact(engine) ? "" : process},
                {"prefixes", options.public_prefixes},
                {"stop", defaults.stop},
                {"eos", defaults.eos}};
  for (const auto& [option, value] : defaults.options) facts["defaults"][option->name] = value;
  return sha256_hex(json_text(facts));
}

std::optional<Predictor> predictor_of(const EngineOptions& options) {
  if (options.step_costs.empty()) return std::nullopt;
  Result<Predictor> predictor = Predictor::from_json(options.step_costs, "step_costs");
  return predictor ? std::optional(std::move(*predictor)) : std::nullopt;
}

// Pieces of prompts that fill the memory for keys and values.
size_t pieces_for(size_t kv_tokens, double bytes_per_token) {
  constexpr double kMost = std::numeric_limits<uint32_t>::max() / 2;
  const double n_bytes = static_cast<double>(kv_tokens) * bytes_per_token;
  return static_cast<size_t>(std::clamp(n_bytes / double{kPieceBytes}, 1.0, kMost));
}

}  // namespace

ReplicaFacts::ReplicaFacts(const Engine& engine, const ServerOptions& options, std::string process)
    : process_(std::move(process)),
      fingerprint_(fingerprint_of(engine, options, process_)),
      predictor_(predictor_of(engine.options())),
      kv_tokens_(engine.kv_capacity()),
      held_(pieces_for(kv_tokens_, kBytesPerToken)) {}

void ReplicaFacts::add_prompt(uint64_t owner, std::string_view path, const Json& body,
                              size_t n_tokens) {
  PieceHasher hasher(owner);
  const ask::PromptWork work =
      ask::read_prompt_bytes(path, body, [&](std::string_view bytes) { hasher.add(bytes); });
  if (!work.cached) return;
  const std::lock_guard lock(mutex_);
  const std::chrono::duration<double> now = std::chrono::steady_clock::now() - start_;
  if (n_tokens > 0) {
    n_bytes_ += static_cast<double>(work.n_bytes);
    n_tokens_ += static_cast<double>(n_tokens);
    held_.set_capacity(pieces_for(kv_tokens_, n_bytes_ / n_tokens_));
  }
  held_.touch(hasher.pieces(), now.count());
}

double ReplicaFacts::bytes_per_token() const {
  const std::lock_guard lock(mutex_);
  return n_tokens_ > 0 ? n_bytes_ / n_tokens_ : kBytesPerToken;
}

HeldDigest ReplicaFacts::held_since(uint64_t version) const {
  const std::lock_guard lock(mutex_);
  return held_.since(version);
}

ReplicaFacts::Times ReplicaFacts::times(const EngineStats& stats) const {
  constexpr double kRows = 256;
  const auto n_queued = static_cast<double>(stats.queued_tokens);
  if (!predictor_) {
    const auto n_rows = static_cast<double>(stats.prefill_rows + stats.decode_rows);
    const double row = n_rows > 0 ? stats.step_s / n_rows : 0;
    const auto n_steps = static_cast<double>(stats.steps);
    return {.prompt_token = row,
            .step = n_steps > 0 ? stats.step_s / n_steps : 0,
            .queued = row * n_queued};
  }
  const double n_running = std::max(1.0, static_cast<double>(stats.running_answers));
  return {.prompt_token = predictor_->seconds({.rows = kRows}) / kRows,
          .prompt_key = predictor_->costs().key,
          .step = predictor_->seconds({.rows = n_running, .outputs = n_running}),
          .queued = stats.queued_s};
}

Result<HttpResponse> replica_report(Service& service, const HttpRequest& request,
                                    const Json& body) {
  if (!request.may_be_routed)
    return wrong_request(401, "invalid_router_key",
                         "this path is for routers alone, expected a router's key");
  Fields fields(body);
  fields.only(std::initializer_list<std::string_view>{"since"});
  const auto since =
      static_cast<uint64_t>(fields.integer("since", 0, std::numeric_limits<int64_t>::max(), 0));
  if (!fields.status()) return fields.status().error();
  const EngineStats stats = service.engine.stats();
  const ReplicaFacts::Times times = service.replica.times(stats);
  const HeldDigest held = service.replica.held_since(since);
  Json pieces = Json::array();
  for (const Piece piece : held.pieces) pieces.push_back(fmt::format("{:016x}", piece));
  return json_response(
      {{"process", service.replica.process()},
       {"fingerprint", service.replica.fingerprint()},
       {"models", service.options.model_names},
       {"any_model", service.options.any_model_name},
       {"context", service.engine.options().context},
       {"longest", service.longest()},
       {"draining", service.draining.load()},
       {"max_running", service.engine.options().max_running},
       {"kv_tokens", service.engine.kv_capacity()},
       {"bytes_per_token", service.replica.bytes_per_token()},
       {"running", stats.running_answers},
       {"waiting", stats.open_answers - stats.running_answers},
       {"seconds_left", times.queued},
       {"seconds_per_prompt_token", times.prompt_token},
       {"seconds_per_prompt_key", times.prompt_key},
       {"seconds_per_step", times.step},
       {"held",
        {{"version", held.version}, {"reset", held.reset}, {"pieces", std::move(pieces)}}}});
}

}  // namespace pando::serve
