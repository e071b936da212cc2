#include "api/ranks.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "base/errors.h"
#include "base/fp_state.h"
#include "base/mix.h"
#include "comm/transport.h"
#include "engine/options.h"
#include "exec/ranks/rank_executor.h"
#include "kernel/isa.h"
#include "kernel/weight_types.h"

namespace pando {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Each rank reports its status and a text that must be equal on all ranks. If one fails, all fail,
// and rank 0 names the rank.
Status agree(Comm& comm, const Status& own, const std::string& same) {
  const auto say = [](const Status& status, const std::string& text) {
    return status ? "+" + text : "-" + status.error().message;
  };
  if (comm.rank() != 0) {
    send_message(comm, 0, bytes_of(say(own, same)));
    const std::string verdict = text_of(receive_message(comm, 0));
    if (!own) return own;
    return verdict.empty() ? Status() : make_error(ErrorCode::kUnavailable, "{}", verdict);
  }
  Status status = own;
  for (int rank = 1; rank < comm.size(); ++rank) {
    const std::string said = text_of(receive_message(comm, rank));
    if (!status) continue;
    if (said[0] == '-')
      status = make_error(ErrorCode::kBadFile, "rank {}: {}", rank, said.substr(1));
    else if (said.substr(1) != same)
      status = bad_file("rank {} has other model files than rank 0, expected the same on all ranks",
                        rank);
  }
  const std::string verdict = status ? std::string() : status.error().message;
  for (int rank = 1; rank < comm.size(); ++rank) send_message(comm, rank, bytes_of(verdict));
  return status;
}

// Of the configuration, of names and sizes of tensors, and of the first and last bytes of each.
std::string fingerprint(const model::Weights& weights) {
  uint64_t hash = 0;
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = mix64(hash ^ static_cast<unsigned char>(c));
    hash = mix64(hash);
  };
  add(weights.config.to_json(DType::kF32));
  for (const std::string& name : weights.checkpoint.names()) add(name);
  for (const model::WeightSpec& spec : model::weight_specs(weights.config))
    if (const Result<model::TensorView> view = weights.checkpoint.tensor(spec); view) {
      constexpr size_t kSome = 4096;
      const size_t n = std::min(view->n_bytes, kSome);
      const auto* const data = reinterpret_cast<const char*>(view->data);
      add(std::to_string(view->n_bytes));
      add({data, n});
      add({data + view->n_bytes - n, n});
    }
  return std::to_string(hash);
}

}  // namespace

Result<model::Weights> load_share(const std::filesystem::path& path,
                                  std::optional<DType> requantised, const kernel::Kernels& kernels,
                                  ThreadPool& pool, const exec::Ranks& ranks) {
  if (ranks.comm->rank() == 0) exec::announce_load(*ranks.comm);
  const Result<model::Weights> opened = model::Weights::open(path);
  Status status = opened ? Status() : opened.error();
  const model::Share share = ranks.layout.share_of(ranks.comm->rank());
  if (status)
    status = exec::check_layout(opened->config, ranks.layout, ranks.comm->rank());
  if (status = agree(*ranks.comm, status, status ? fingerprint(*opened) : ""); !status)
    return status.error();
  Result<model::Weights> loaded = [&]() -> Result<model::Weights> {
    try {
      return model::Weights::load(path, requantised, kernels, pool, share);
    } catch (const std::exception& error) {  // then the others hear of it
      return make_error(ErrorCode::kUnavailable, "{}: cannot be loaded: {}", path.string(),
                        error.what());
    }
  }();
  if (Status all = agree(*ranks.comm, loaded ? Status() : loaded.error(), ""); !all)
    return all.error();
  return loaded;
}

Ranks::Ranks(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Ranks::~Ranks() {
  try {
    if (rank() == 0) exec::dismiss_ranks(*impl_->comm);
  } catch (const std::exception&) {
    // They are gone already.
  }
}

Result<std::shared_ptr<Ranks>> Ranks::join(std::string_view parallel) {
  Result<std::unique_ptr<Comm>> comm = open_transport();
  if (!comm) return comm.error();
  // Of who tells of an error, and of the others.
  const auto code = (*comm)->rank() == 0 ? ErrorCode::kInvalidArgument : ErrorCode::kUnavailable;
  const Result<exec::RankLayout> layout = exec::RankLayout::parse(parallel);
  if (!layout) return make_error(code, "{}", layout.error().message);
  const int n = layout->n_ranks(), n_started = (*comm)->size();
  if (n_started != n)
    return make_error(code,
                      "parallel is '{}', which needs {} processes; {} {} started (hint: mpirun -n "
                      "{})",
                      parallel, n, n_started, n_started == 1 ? "was" : "were", n);
  return std::shared_ptr<Ranks>(
      new Ranks(std::make_unique<Impl>(Impl{.comm = std::move(*comm), .layout = *layout})));
}

int Ranks::rank() const { return impl_->comm->rank(); }
int Ranks::size() const { return impl_->comm->size(); }
void Ranks::abort(std::string_view why) noexcept { impl_->comm->abort(why); }
void Ranks::set_last_words(std::chrono::milliseconds time) { impl_->comm->set_last_words(time); }

Status Ranks::serve(const std::filesystem::path& model, WeightType weights, int threads) {
  if (Status status = fill_in_threads(threads); !status) return status;
  const Result<const kernel::Kernels*> kernels = kernel::kernels_by_name("");
  if (!kernels) return kernels.error();
  FpStateGuard fp_state;
  if (!exec::wait_for_load(*impl_->comm)) return {};
  ThreadPool pool(threads);
  const Result<model::Weights> share =
      load_share(model, kernel::made_type(weights), **kernels, pool, impl_->ranks());
  if (!share) return share.error();
  exec::serve_rank(*share, threads, impl_->ranks());
  return {};
}

}  // namespace pando
