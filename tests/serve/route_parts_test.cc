// Parts of a router that need no sockets.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>

#include "model/test_files.h"
#include "serve/route/event_blocks.h"
#include "serve/route/event_filter.h"
#include "serve/route/kept_metrics.h"
#include "serve/route/key_limits.h"
#include "serve/route/metric_sums.h"
#include "serve/route/replica_status.h"
#include "serve/route/replica_url.h"
#include "serve/route/response_places.h"
#include "serve/route/retry_pause.h"
#include "serve/route/routed_body.h"
#include "serve/routes.h"

namespace pando::testing {
namespace {

using serve::parse_replica_url;

TEST(ReplicaUrl, Forms) {
  struct Form {
    const char *text, *whole;
  };
  const Form forms[] = {
      {"http://10.0.0.7:8000", "http://10.0.0.7:8000"},
      {"http://pando/", "http://pando:80"},
      {"https://pando.internal", "https://pando.internal:443"},
      {"pando:8000", "http://pando:8000"},
      {"http://[::1]:81", "http://[::1]:81"},
      {"https://[fe80::1]", "https://[fe80::1]:443"},
  };
  for (const Form& form : forms) {
    const auto url = parse_replica_url(form.text);
    ASSERT_TRUE(url) << form.text;
    EXPECT_EQ(url->text(), form.whole);
  }
  EXPECT_EQ(parse_replica_url("http://[::1]:81")->host, "::1");
}

TEST(ReplicaUrl, Refused) {
  for (const char* text :
       {"", "pando", "http://", "http://pando:0", "http://pando:65536", "http://pando:80a",
        "http://pando:", "http://pando/v1", "::1:80", "http://[::1", "http://[::1]80",
        "http://user@pando:80", "ftp://pando:80"})
    EXPECT_FALSE(parse_replica_url(text)) << text;
  EXPECT_EQ(parse_replica_url("pando").error().message(),
            "'pando' is no address of a replica, expected http://HOST:PORT");
}

TEST(ReplicaUrl, Files) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "replicas";
  std::ofstream(path) << "# all\n\n http://a:1 \nb:2\r\n";
  const auto urls = serve::read_replica_urls(path);
  ASSERT_TRUE(urls);
  ASSERT_EQ(urls->size(), 2u);
  EXPECT_EQ((*urls)[0].text(), "http://a:1");
  EXPECT_EQ((*urls)[1].text(), "http://b:2");
  std::ofstream(path) << "a:1\nb\n";
  EXPECT_EQ(serve::read_replica_urls(path).error().message(),
            path + ", line 2: 'b' is no address of a replica, expected http://HOST:PORT");
}

TEST(MetricSums, Add) {
  serve::MetricSums sums;
  sums.add(
      "# HELP a_total A\n# TYPE a_total counter\na_total{x=\"1 2\"} 3\na_total{x=\"2\"} 4\n"
      "# HELP process_x P\n# TYPE process_x gauge\nprocess_x 1\n"
      "# HELP h H\n# TYPE h histogram\nh_count 2\nh_sum 0.5\nh_bucket{le=\"1\"} 2\n"
      "h_bucket{le=\"+Inf\"} 2\n");
  sums.add(
      "# HELP a_total A\n# TYPE a_total counter\na_total{x=\"1 2\"} 10\na_total{x=\"3\"} 1\n"
      "# HELP h H\n# TYPE h histogram\nh_count 1\nh_sum 0.25\nh_bucket{le=\"1\"} 0\n"
      "h_bucket{le=\"+Inf\"} 1\n");
  // Other buckets: left out.
  sums.add(
      "# HELP h H\n# TYPE h histogram\nh_count 7\nh_sum 7\nh_bucket{le=\"2\"} 7\n"
      "h_bucket{le=\"+Inf\"} 7\n");
  EXPECT_EQ(sums.text(),
            "# HELP a_total A\n# TYPE a_total counter\na_total{x=\"1 2\"} 13\na_total{x=\"2\"} 4\n"
            "a_total{x=\"3\"} 1\n"
            "# HELP h H\n# TYPE h histogram\nh_count 3\nh_sum 0.75\nh_bucket{le=\"1\"} 2\n"
            "h_bucket{le=\"+Inf\"} 3\n");
}

TEST(MetricSums, TotalsOnly) {
  serve::MetricSums sums;
  sums.add(
      "# TYPE a_total counter\na_total 3\n# TYPE g gauge\ng 5\n"
      "# TYPE h histogram\nh_count 2\n",
      /*totals_only=*/true);
  EXPECT_EQ(sums.text(), "# TYPE a_total counter\na_total 3\n# TYPE h histogram\nh_count 2\n");
}

std::string counts(int total, int gauge, int start) {
  return fmt::format(
      "# TYPE a_total counter\na_total {}\n# TYPE g gauge\ng {}\n"
      "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds {}\n",
      total, gauge, start);
}
std::string summed_counts(int total, int gauge) {
  return fmt::format("# TYPE a_total counter\na_total {}\n# TYPE g gauge\ng {}\n", total, gauge);
}

TEST(KeptMetrics, TotalsNeverFall) {
  serve::KeptMetrics metrics(2);
  metrics.keep("a", counts(10, 1, 100));
  metrics.keep("b", counts(20, 2, 100));
  EXPECT_EQ(metrics.text({"a", "b"}), summed_counts(30, 3));
  EXPECT_EQ(metrics.text({"b"}), summed_counts(30, 2));  // one is away
  metrics.keep("b", counts(25, 2, 100));
  EXPECT_EQ(metrics.text({"a", "b"}), summed_counts(35, 3));
  metrics.keep("a", counts(1, 4, 200));  // another process
  EXPECT_EQ(metrics.text({"a", "b"}), summed_counts(36, 6));
  metrics.keep("c", counts(100, 7, 100));  // the texts of two are kept
  EXPECT_EQ(metrics.text({"a", "c"}), summed_counts(136, 11));
}

TEST(KeyLimits, CountOpenRequests) {
  serve::KeyLimits limits(2);
  auto first = limits.enter(1);
  const auto second = limits.enter(1), other = limits.enter(2);
  EXPECT_TRUE(first && second && other);
  EXPECT_FALSE(limits.enter(1));
  first.reset();
  EXPECT_TRUE(limits.enter(1));
  serve::KeyLimits none(0);
  const auto a = none.enter(1), b = none.enter(1);
  EXPECT_TRUE(a && b);
}

TEST(ResponsePlaces, AreTheLatest) {
  serve::ResponsePlaces places(2);
  places.add("a", "x");
  places.add("b", "y");
  places.add("a", "z");
  EXPECT_EQ(places.find("a"), "z");
  places.add("c", "x");
  EXPECT_EQ(places.find("a"), "");
  EXPECT_EQ(places.find("b"), "y");
  EXPECT_EQ(places.find("c"), "x");
}

TEST(ReplicaStatus, Parse) {
  const auto status = serve::parse_replica_status(
      R"({"process":"p","fingerprint":"f","models":["m"],"context":100,"longest":90,)"
      R"("draining":true,"kv_tokens":1000,"bytes_per_token":2,"running":1,"seconds_left":0.5,"more":1,)"
      R"("held":{"version":7,"reset":true,"pieces":["00000000000000ff","x"]}})");
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_EQ(status->process, "p");
  EXPECT_EQ(status->longest, 90u);
  EXPECT_FALSE(status->takes_any_model);
  EXPECT_TRUE(status->is_draining);
  EXPECT_EQ(status->report.seconds_left, 0.5);
  EXPECT_EQ(status->report.kv_tokens, 500) << "of four bytes";
  EXPECT_EQ(status->held.version, 7u);
  EXPECT_TRUE(status->held.reset);
  EXPECT_EQ(status->held.pieces, std::vector<Piece>{0xff});
  for (const char* text : {"", "[]", "{}", R"({"process":1})"})
    EXPECT_FALSE(serve::parse_replica_status(text)) << text;
}

TEST(RetryPause, DoublesAndWaitsAsTold) {
  using std::chrono::milliseconds;
  serve::RetryPause pause;
  EXPECT_EQ(pause.next(), milliseconds(100));
  for (const int longest : {100, 200, 400, 800, 1600, 2000, 2000}) {
    pause.refused({});
    const milliseconds time = pause.next();
    EXPECT_GE(time, milliseconds(longest / 2));
    EXPECT_LE(time, milliseconds(longest));
  }
  EXPECT_EQ(pause.next(), milliseconds(100));
  pause.refused({{"retry-after", "9"}});
  pause.refused({{"Retry-After", "7"}});
  EXPECT_EQ(pause.next(), milliseconds(7000));
  pause.refused({});
  EXPECT_LE(pause.next(), milliseconds(2000));
}

TEST(RoutedBody, IsReadAsReplicasDo) {
  const auto read = [](const std::string& more) {
    const std::string tools = R"("tools":[{"a":12345678901234567890123)" + more + "}]";
    return serve::read_routed_body(*serve::find_route("/v1/chat/completions", "POST"),
                                   "{" + tools + R"(,"messages":[{"role":"user","content":")" +
                                       std::string(600, 'x') + "\"}]}",
                                   /*owner=*/0);
  };
  EXPECT_GE(read("4").pieces.size(), 2u);
  EXPECT_EQ(read("4").pieces, read("4").pieces);
  EXPECT_NE(read("4").pieces.front(), read("5").pieces.front());
}

TEST(EventBlocks, LinesThatEndAStream) {
  EXPECT_TRUE(serve::ends_lines("{\"a\":1}\n{\"done\":true}\n"));
  EXPECT_TRUE(serve::ends_lines("{\"error\":\"x\"}\n"));
  for (const char* lines :
       {"", "{\"done\":true}", "{\"done\":true}\n{\"a\":1}\n", "{\"done\":false}\n",
        "{\"a\":{\"done\":true}}\n", "{\"a\":\"\\\"done\\\":true\"}\n"})
    EXPECT_FALSE(serve::ends_lines(lines)) << lines;
}

TEST(EventFilter, BodiesWithWhatHasBegun) {
  EXPECT_EQ(serve::with_begun(" { \"a\":1}", "[]"), " {\"pando_begun\":[], \"a\":1}");
  EXPECT_EQ(serve::with_begun("{ }", "[1]"), "{\"pando_begun\":[1] }");
}

}  // namespace
}  // namespace pando::testing
