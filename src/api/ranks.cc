#include "api/ranks.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "api/request_bytes.h"
#include "api/serve_replica.h"
#include "base/counted.h"
#include "base/errors.h"
#include "base/failures.h"
#include "base/fp_state.h"
#include "base/mix.h"
#include "base/numbers/weight_types.h"
#include "comm/transport.h"
#include "engine/options.h"
#include "pando/model_files.h"

namespace pando {
namespace {

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  ByteWriter writer;
  writer.write(value);
  return writer.take();
}
template <class T>
T value_of(const std::vector<std::byte>& bytes) {
  return ByteReader(bytes).read<T>();
}

// Each rank reports its status and a text that must be equal on all ranks. If one fails, all fail,
// and rank 0 names the rank.
Status agree(Comm& comm, const Status& own, const std::string& same) {
  using Said = std::pair<std::optional<Error>, std::string>;
  const auto error_of = [](const Status& status) {
    return status ? std::nullopt : std::optional(status.error());
  };
  if (comm.rank() != 0) {
    send_message(comm, 0, bytes_of(Said{error_of(own), same}));
    const auto verdict = value_of<std::optional<Error>>(receive_message(comm, 0));
    if (!own || !verdict) return own;
    return with_code(ErrorCode::kUnavailable, *verdict);
  }
  Status status = own;
  for (int rank = 1; rank < comm.size(); ++rank) {
    const auto [error, text] = value_of<Said>(receive_message(comm, rank));
    if (!status) continue;
    if (error)
      status = in_file(fmt::format("rank {}", rank), with_code(ErrorCode::kBadFile, *error));
    else if (text != same)
      status = bad_file("rank {} has other model files than rank 0, expected the same on all ranks",
                        rank);
  }
  for (int rank = 1; rank < comm.size(); ++rank)
    send_message(comm, rank, bytes_of(error_of(status)));
  return status;
}

// Hash of the configuration, of names and sizes of tensors, and of the first and last bytes of
// each.
std::string fingerprint(const model::OpenedModel& files) {
  uint64_t hash = 0;
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = mix64(hash ^ static_cast<unsigned char>(c));
    hash = mix64(hash);
  };
  add(files.config.to_json(DType::kF32));
  for (const std::string& name : files.checkpoint.names()) add(name);
  const auto add_tensor = [&](const model::WeightSpec& spec) {
    const Result<model::TensorView> view = files.checkpoint.tensor(spec);
    if (!view) return false;
    constexpr size_t kSome = 4096;
    const size_t n = std::min(view->n_bytes, kSome);
    const auto* const data = reinterpret_cast<const char*>(view->data);
    add(std::to_string(view->n_bytes));
    add({data, n});
    add({data + view->n_bytes - n, n});
    return true;
  };
  for (const model::WeightSpec& spec : model::weight_specs(files.config))
    for (const model::WeightSpec& stored : files.checkpoint.stored_as(spec))
      if (!add_tensor(stored) && stored.shape.size() == 3)  // quantised, of all experts
        for (int expert = 0; expert < stored.shape[0]; ++expert)
          add_tensor(stored.of_expert(expert));
  return std::to_string(hash);
}

// Hash that compares replicas: covers also the small files, which each replica reads for itself.
Result<std::string> fingerprint_of_files(const std::filesystem::path& model,
                                         const std::filesystem::path& tokenizer) {
  std::string text;
  for (const std::filesystem::path& path : {model, tokenizer}) {
    if (path.empty()) continue;
    const Result<uint64_t> hash = model_fingerprint(path);
    if (!hash) return hash.error();
    text += " " + std::to_string(*hash);
  }
  return text;
}

}  // namespace

Result<LoadedShare> load_share(const ModelPath& path, const ModelOptions& options, ThreadPool& pool,
                               Ranks::Impl& ranks) {
  using Loading = Ranks::Impl::Loading;
  Comm& all = *ranks.comm;
  ranks.loading = Loading::kUnderWay;
  if (all.rank() == 0) announce_load(all);
  const Result<const Device*> device = find_device(options.device);
  Result<model::OpenedModel> opened = open_files(path);
  Status status = !device ? device.error() : opened ? Status() : opened.error();
  const int own = ranks.replica.rank();
  if (status) status = check_layout(**device, opened->config, ranks.layout, own);
  std::string same = status ? fingerprint(*opened) : "";
  if (status && ranks.layout.replicas > 1) {
    const Result<std::string> files = fingerprint_of_files(path.path(), options.tokenizer);
    if (files) same += *files;
    if (!files) status = files.error();
  }
  if (status = agree(all, status, same); !status) {
    ranks.loading = Loading::kFailed;
    return status.error();
  }
  LoadedShare loaded{.files = std::make_unique<model::OpenedModel>(std::move(*opened))};
  RankGroup group = ranks.ranks();
  divide_model(**device, loaded.files->config, *loaded.files, made_type(options.weights), pool,
               group);
  ranks.layout = group.layout;
  status = [&]() -> Status {
    try {
      auto weights = (*device)->load(
          loaded.files->config, *loaded.files,
          {.requantised = made_type(options.weights), .share = ranks.layout.share_of(own)}, pool);
      if (!weights) return weights.error();
      loaded.weights = std::move(*weights);
      return {};
    } catch (const std::exception& error) {  // then the others hear of it
      return in_file(path.string(),
                     make_error(ErrorCode::kUnavailable, "cannot be loaded: {}", reason_of(error)));
    }
  }();
  const Status of_all = agree(all, status, "");
  ranks.loading = of_all ? Loading::kDone : Loading::kFailed;
  if (!of_all) return of_all.error();
  return loaded;
}

Ranks::Ranks(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

// If loading failed, the other ranks have ended.
Ranks::~Ranks() {
  try {
    if (impl_->loading == Impl::Loading::kDone) {
      if (rank() == 0) dismiss_replicas(*impl_->comm, impl_->layout.n_ranks());
      if (impl_->replica.rank() == 0) dismiss_ranks(impl_->replica);
    } else if (rank() == 0 && impl_->loading != Impl::Loading::kFailed) {
      dismiss_ranks(*impl_->comm);
    }
  } catch (const std::exception&) {
    // They are gone already.
  }
}

std::shared_ptr<Ranks> Ranks::over(std::unique_ptr<Impl> impl) {
  return std::shared_ptr<Ranks>(new Ranks(std::move(impl)));
}

Result<std::shared_ptr<Ranks>> Ranks::join(std::string_view parallel) {
  Result<std::unique_ptr<Comm>> comm = open_transport();
  if (!comm) return comm.error();
  // Rank 0 reports the error; the others get another code.
  const auto code = (*comm)->rank() == 0 ? ErrorCode::kInvalidArgument : ErrorCode::kUnavailable;
  const Result<RankLayout> layout = RankLayout::parse(parallel);
  if (!layout) return with_code(code, layout.error());
  const int64_t n = layout->n_processes();
  const int n_started = (*comm)->size();
  if (n_started != n)
    return of_option("parallel",
                     make_error(code, "is '{}', which needs {}; {} {} started", parallel,
                                counted(static_cast<uint64_t>(n), "processes"), n_started,
                                n_started == 1 ? "was" : "were"));
  return over(std::make_unique<Impl>(std::move(*comm), *layout));
}

int Ranks::rank() const { return impl_->comm->rank(); }
int Ranks::size() const { return impl_->comm->size(); }
int Ranks::replicas() const { return impl_->layout.replicas; }
void Ranks::abort(std::string_view why) noexcept { impl_->comm->abort(why); }
void Ranks::set_last_words(std::chrono::milliseconds time) { impl_->comm->set_last_words(time); }

Status Ranks::serve(const std::filesystem::path& model, const ModelOptions& options) {
  using Loading = Impl::Loading;
  int threads = options.threads;
  if (Status status = fill_in_threads(threads); !status) return status;
  FpStateGuard fp_state;
  if (!wait_for_load(*impl_->comm)) return {};
  if (impl_->replica.rank() == 0) {
    ModelOptions own = options;
    own.ranks = std::shared_ptr<Ranks>(std::shared_ptr<Ranks>(), this);
    const Result<std::shared_ptr<const Model>> whole = Model::load(model, own);
    if (impl_->loading == Loading::kFailed) return whole.error();
    // The others wait in the middle of loading.
    if (impl_->loading != Loading::kDone) throw std::runtime_error(whole.error().message());
    serve_replica(*impl_->comm, whole, threads);
    return {};
  }
  ThreadPool pool(threads);
  const Result<LoadedShare> share = load_share(model, options, pool, *impl_);
  if (!share) return share.error();
  serve_rank(*share->weights, threads, impl_->ranks());
  return {};
}

}  // namespace pando
