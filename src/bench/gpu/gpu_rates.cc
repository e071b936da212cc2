// Rates of a GPU: memory, launches, products of an 8B model, attention over a prefix.
#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <random>

#include "bench/registry.h"
#include "exec/gpu/attention.h"
#include "exec/gpu/gpu_devices.h"
#include "exec/gpu/products.h"
#include "exec/gpu/row_ops.h"

namespace pando::bench {
namespace {

namespace gpu = exec::gpu;

// The measurements on one device.
class GpuRates {
 public:
  explicit GpuRates(const Harness& harness)
      : harness_(harness),
        host_(value_of(exec::open_gpu(harness.settings().device))),
        table_{.title = "Kernels of " + host_->name(), .columns = {"what", "us", "rate"}} {}

  void memory();
  void launches();
  void products();
  void attention();
  const Table& table() const { return table_; }

 private:
  // Seconds of one call, from n calls and one wait.
  double seconds_each(int n, FunctionRef<void()> call) {
    const gpu::Buffer last(*host_, sizeof(float));
    return time_calls(harness_.choose(0.02, 1.0, 3.0),
                      [&] {
                        for (int i = 0; i < n; ++i) call();
                        float unused = 0.0f;
                        host_->read(last, 0, &unused, sizeof unused);
                      })
               .wall /
           n;
  }
  void add(std::string what, double seconds, std::string rate) {
    table_.add({std::move(what), number(seconds * 1e6), std::move(rate)});
  }
  gpu::Rows rows(uint32_t n, size_t width) {
    std::minstd_rand random(n);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> values(n * width);
    for (float& value : values) value = uniform(random);
    gpu::Rows on_device;
    on_device.resize(*host_, n, width);
    host_->write(on_device.values, 0, values.data(), values.size() * sizeof(float));
    return on_device;
  }
  gpu::Matrix matrix(int n, int k);

  const Harness& harness_;
  std::unique_ptr<gpu::Host> host_;
  Table table_;
};

std::string gigabytes(double bytes, double seconds) {
  return number(bytes / seconds / 1e9) + " GB/s";
}

void GpuRates::memory() {
  const size_t n_bytes = harness_.choose(size_t{4} << 20, size_t{1} << 30, size_t{1} << 32);
  constexpr size_t kWidth = 4096;
  const auto n = static_cast<uint32_t>(n_bytes / (kWidth * sizeof(float)));
  gpu::Rows from, to;
  from.resize(*host_, n, kWidth);
  host_->fill(from.values, 0, 0, from.values.bytes());
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  gpu::List<uint32_t> list;
  list.set(*host_, order);
  const double copy =
      seconds_each(4, [&] { gpu::gather_rows(*host_, from, list.buffer(), n, to); });
  add(fmt::format("copy of {} MiB within the device", n_bytes >> 20), copy,
      gigabytes(2.0 * static_cast<double>(n_bytes), copy));
  std::vector<std::byte> bytes(n_bytes / 4);
  const double written =
      seconds_each(1, [&] { host_->write(to.values, 0, bytes.data(), bytes.size()); });
  add(fmt::format("{} MiB to the device", bytes.size() >> 20), written,
      gigabytes(static_cast<double>(bytes.size()), written));
}

// On CUDA, calls that repeat the list before are launched as one graph.
void GpuRates::launches() {
  constexpr int kLaunches = 1000;
  gpu::Rows one = rows(1, 64), other = rows(1, 64);
  gpu::List<uint32_t> first_row;
  first_row.set(*host_, {0});
  bool is_other = false;
  for (const bool repeats : {true, false}) {
    const double seconds = seconds_each(1, [&] {
      is_other = !repeats && !is_other;
      if (is_other) gpu::gather_rows(*host_, one, first_row.buffer(), 1, other);
      for (int i = is_other ? 1 : 0; i < kLaunches; ++i) gpu::scale_rows(*host_, 1.0f, one);
    });
    add(fmt::format("launch of a kernel, of {} that {}", kLaunches,
                    repeats ? "repeat" : "do not repeat"),
        seconds / kLaunches, "");
  }
}

// Random integers, and scales as in a trained model.
gpu::Matrix GpuRates::matrix(int n, int k) {
  std::minstd_rand random(1);
  exec::scalar::Matrix made(DType::kQ8_0, n, k);
  std::vector<std::byte> row(static_cast<size_t>(k) / 32 * 34);
  for (std::byte& byte : row) byte = static_cast<std::byte>(random() & 0xff);
  for (size_t i = 0; i < row.size(); i += 34) row[i] = std::byte{0}, row[i + 1] = std::byte{0x10};
  for (int i = 0; i < n; ++i) made.set_row(i, DType::kQ8_0, row.data());
  return gpu::Matrix::pack(*host_, made);
}

// One layer of 32.
void GpuRates::products() {
  const int scale = harness_.choose(16, 1, 1), d = 4096 / scale, d_ff = 14336 / scale;
  const struct { int n, k; } shapes[] = {{d * 3 / 2, d}, {d, d}, {2 * d_ff, d}, {d, d_ff}};
  gpu::Products products(*host_);
  std::vector<gpu::Stack> stacks;
  size_t n_bytes = 0;
  double n_weights = 0;
  for (const auto [n, k] : shapes) {
    stacks.emplace_back().push_back(matrix(n, k));
    n_bytes += stacks.back()[0].bytes();
    n_weights += static_cast<double>(n) * k;
  }
  for (const uint32_t m : {1u, 16u, 64u, 512u}) {
    const gpu::Rows narrow = rows(m, static_cast<size_t>(d)),
                    wide = rows(m, static_cast<size_t>(d_ff));
    gpu::Rows y;
    const double seconds = seconds_each(2, [&] {
      for (size_t i = 0; i < stacks.size(); ++i)
        products.multiply(stacks[i], i == 3 ? wide : narrow, y);
    });
    add(fmt::format("products of a layer, q8_0, width {}, {} row{}", d, m, m > 1 ? "s" : ""),
        seconds,
        fmt::format("{}, {} Tops/s", gigabytes(static_cast<double>(n_bytes), seconds),
                    number(2 * n_weights * m / seconds / 1e12)));
  }
}

// All rows continue one prefix.
void GpuRates::attention() {
  const int n_keys = harness_.choose(512, 8192, 8192);
  const auto n_rows = harness_.choose(4u, 64u, 64u);
  const kernel::KvShape shape{.type = DType::kF16, .n_layers = 1, .n_kv_heads = 8, .head_dim = 128};
  const model::Heads heads{32, 8, 128};
  const auto n_pages = static_cast<size_t>(n_keys / shape.page_len);
  const gpu::PagePool pool(*host_, {shape}, n_pages);
  host_->fill(pool.memory, 0, 0x2c, pool.memory.bytes());  // about 1/16
  StepPlan plan;
  plan.tokens.resize(n_rows);
  plan.positions.assign(n_rows, static_cast<uint32_t>(n_keys - 1));
  plan.slot_begin.assign(n_rows + 1, 0);
  const auto pages_each = static_cast<uint32_t>(shape.pages_per_tile());
  for (uint32_t page = 0; page < n_pages; ++page) plan.task_pages.push_back(page);
  for (uint32_t page = 0; page < n_pages; page += pages_each)
    plan.tasks.push_back({page / pages_each, 0, n_rows, page, pages_each});
  gpu::Attention attention(*host_);
  attention.set_plan(plan);
  const gpu::Values no_sinks;
  const gpu::Rows q = rows(n_rows, static_cast<size_t>(heads.q_dim()));
  gpu::Rows out;
  const double seconds = seconds_each(4, [&] {
    attention.attend({.pool = pool,
                      .group = 0,
                      .layer = 0,
                      .in_windows = false,
                      .heads = heads,
                      .scale = static_cast<float>(1.4426950408889634 / std::sqrt(128.0)),
                      .score_cap = 0.0f,
                      .window = 0,
                      .sinks = no_sinks},
                     q, out);
  });
  add(fmt::format("attention, f16, {} rows below {} positions", n_rows, n_keys), seconds,
      fmt::format("{}, {} Tflop/s", gigabytes(static_cast<double>(pool.memory.bytes()), seconds),
                  number(4.0 * n_rows * heads.q_dim() * n_keys / seconds / 1e12)));
}

void run_gpu(Harness& harness) {
  GpuRates rates(harness);
  rates.memory();
  rates.launches();
  rates.products();
  rates.attention();
  harness.show(rates.table());
}

}  // namespace

std::vector<Benchmark> gpu_benchmarks() {
  return {{{"gpu",
            "memory, launches, products and attention of a GPU",
            {.device = true, .threads = false}},
           run_gpu}};
}

}  // namespace pando::bench
