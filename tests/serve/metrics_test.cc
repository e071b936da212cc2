// A server tells Prometheus this of itself.
#include "serve/metrics.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <vector>

#include "pando/version.h"
#include "serve/client.h"
#include "serve/metric_values.h"
#include "serve/process_metrics.h"

namespace pando::testing {
namespace {

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}
const double kBegan = seconds_since_1970();

TEST(ServerMetrics, SayWhatKeysAndValuesMayTake) {
  RunningServer server;
  const std::string before = metrics_of(server);
  EXPECT_EQ(Client(server.port()).post("/v1/completions", {{"prompt", "P"}}).status, 200);
  const std::string after = metrics_of(server);
  const double page_bytes = metric_value(after, "pando_kv_bytes");  // a short text takes one page
  const double capacity = metric_value(after, "pando_kv_capacity_bytes");
  ASSERT_GT(page_bytes, 0);
  EXPECT_EQ(capacity, std::floor(64 * 0x1p20 / page_bytes) * page_bytes);
  constexpr double kPageTokens = 32;
  EXPECT_EQ(metric_value(after, "pando_kv_capacity_tokens"), capacity / page_bytes * kPageTokens);
  EXPECT_EQ(metric_value(before, "pando_kv_capacity_bytes"), capacity) << "before any request too";
}

TEST(ServerMetrics, SayWhatIsBuiltAndServed) {
  EngineOptions options = tiny_options();
  options.kv_type = KvType::kInt8;
  options.context = 320;
  RunningServer server(tiny_server_options(), options);
  const std::string text = metrics_of(server);
  EXPECT_EQ(metric_value(text, std::string("pando_build_info{commit=\"") + build_commit() +
                                   "\",version=\"" + version() + "\"}"),
            1);
  EXPECT_EQ(metric_value(text,
                         "pando_model_info{context=\"320\",family=\"qwen3\",kv_dtype=\"int8\","
                         "model=\"tiny\",weights=\"" +
                             server.engine().model().info().weight_type + "\"}"),
            1);
}

// Minutes are told apart, and milliseconds.
TEST(ServerMetrics, BucketsFitSlowMachinesAndFastOnes) {
  const auto engine = open_tiny();
  serve::Metrics metrics(*engine, "tiny");
  for (const double seconds : {0.004, 100.0, 250.0, 500.0}) {
    metrics.first_token(seconds);
    metrics.count_request("/x", 200, seconds);
  }
  for (const double seconds : {0.0009, 3.0, 8.0}) metrics.next_tokens(seconds);
  const std::string text = metrics.text(0, 0);
  for (const std::string name : {"pando_time_to_first_token_seconds_bucket{",
                                 "pando_http_request_seconds_bucket{path=\"/x\","})
    for (const auto& [bound, n] :
         {std::pair{"0.005", 1}, {"60", 1}, {"120", 2}, {"300", 3}, {"600", 4}, {"+Inf", 4}})
      EXPECT_EQ(metric_value(text, name + "le=\"" + bound + "\"}"), n) << name << bound;
  for (const auto& [bound, n] : {std::pair{"0.001", 1}, {"1", 1}, {"2.5", 1}, {"5", 2}, {"10", 3}})
    EXPECT_EQ(metric_value(text, std::string("pando_time_per_output_token_seconds_bucket{le=\"") +
                                     bound + "\"}"),
              n)
        << bound;
}

double process_value(const std::string& name) {
  for (const prometheus::MetricFamily& family : serve::process_metrics())
    if (family.name == name)
      return family.type == prometheus::MetricType::Counter ? family.metric.at(0).counter.value
                                                            : family.metric.at(0).gauge.value;
  ADD_FAILURE() << name << " is missing";
  return 0;
}

// The number of a line of /proc/self/status: kB where it has a unit.
double status_value(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + ":")) return std::strtod(line.c_str() + name.size() + 1, nullptr);
  ADD_FAILURE() << name;
  return 0;
}

TEST(ProcessMetrics, AreThoseOfTheSystem) {
  const double resident = 1024 * status_value("VmRSS");
  EXPECT_NEAR(process_value("process_resident_memory_bytes"), resident, 0.1 * resident);
  const double addressed = 1024 * status_value("VmSize");
  EXPECT_NEAR(process_value("process_virtual_memory_bytes"), addressed, 0.1 * addressed);
  EXPECT_EQ(process_value("process_threads"), status_value("Threads"));
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_EQ(process_value("process_max_fds"), static_cast<double>(limit.rlim_cur));
  EXPECT_GT(process_value("process_start_time_seconds"), kBegan - 60);
  EXPECT_LT(process_value("process_start_time_seconds"), kBegan + 2);
}

TEST(ProcessMetrics, CountFilesThatAreOpen) {
  const double before = process_value("process_open_fds");
  std::vector<int> files;
  for (int i = 0; i < 7; ++i) files.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(process_value("process_open_fds"), before + 7);
  for (const int file : files) close(file);
  EXPECT_EQ(process_value("process_open_fds"), before);
}

TEST(ProcessMetrics, CountProcessorTime) {
  const auto used = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  const double begin = used();
  while (used() < begin + 0.1) continue;
  constexpr double kTicks = 0.05;  // the system counts hundredths
  EXPECT_NEAR(process_value("process_cpu_seconds_total"), used(), kTicks);
}

TEST(ServerMetrics, HaveThoseOfTheProcess) {
  RunningServer server;
  const std::set<std::string> names = metric_names(metrics_of(server));
  for (const prometheus::MetricFamily& family : serve::process_metrics())
    EXPECT_TRUE(names.contains(family.name)) << family.name;
}

TEST(ServerMetrics, AreAllInTheDocuments) {
  const std::string page = source_file("docs/serving.md");
  for (const std::string& name : metric_names(all_metrics()))
    EXPECT_TRUE(page.find("`" + name + "`") != std::string::npos ||
                page.find("`" + name + "{") != std::string::npos)
        << name;
}

}  // namespace
}  // namespace pando::testing
