// Lists of replicas that change, and names that have no address.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "model/test_files.h"
#include "serve/client.h"
#include "serve/log_lines.h"
#include "serve/running_router.h"
#include "serve/scripted_replica.h"

namespace pando::testing {
namespace {

const Json kWatchedBody = {{"model", "tiny"}, {"prompt", "P"}};

ScriptedReplica::Script says(const std::string& body) {
  return [body](ScriptedAnswer& answer) { answer.send(200, body); };
}

bool has_logged(Lines& lines, const std::string& text) {
  return soon([&] {
    const std::vector<std::string> all = lines.all();
    return std::ranges::any_of(
        all, [&](const std::string& line) { return line.find(text) != line.npos; });
  });
}

TEST(ReplicaWatch, SighupWithoutAFileEndsNothing) {
  ScriptedReplica replica(says("{}"));
  RunningRouter router({replica.port()});
  ASSERT_EQ(::kill(::getpid(), SIGHUP), 0);
  EXPECT_EQ(Client(router.port()).post("/v1/completions", kWatchedBody).status, 200);
}

TEST(ReplicaWatch, AListThatChanges) {
  const TemporaryFolder folder;
  ScriptedReplica first(says("{\"a\":1}")), second(says("{\"b\":1}"));
  serve::RouteOptions route;
  route.replicas_file = folder.path() / "replicas";
  const auto write = [&](const std::string& text) {
    std::ofstream(route.replicas_file) << text;
    ASSERT_EQ(::kill(::getpid(), SIGHUP), 0);
  };
  std::ofstream(route.replicas_file) << first.name() << "\n";
  Lines lines;
  serve::ServerOptions options = tiny_server_options();
  log_to(lines, options);
  RunningRouter router({}, route, options, /*n_up=*/1);
  Client client(router.port());
  EXPECT_EQ(client.post("/v1/completions", kWatchedBody).body, "{\"a\":1}");
  write("# none\n");
  EXPECT_TRUE(has_logged(
      lines, "the list of replicas stays as it was: " + route.replicas_file + " has no replicas"));
  EXPECT_EQ(client.post("/v1/completions", kWatchedBody).body, "{\"a\":1}");
  write(second.name() + "\n");
  EXPECT_TRUE(has_logged(lines, "read " + route.replicas_file + " again: 1 replicas"));
  EXPECT_TRUE(
      soon([&] { return client.post("/v1/completions", kWatchedBody).body == "{\"b\":1}"; }));
}

TEST(ReplicaWatch, ANameWithoutAddresses) {
  const std::string too_long(64, 'a');  // for a name, so that nobody is asked for it
  serve::RouteOptions route;
  route.replicas.push_back({.host = too_long, .port = 80});
  Lines lines;
  serve::ServerOptions options = tiny_server_options();
  log_to(lines, options);
  ScriptedReplica replica(says("{}"));
  RunningRouter router({}, route, options);
  EXPECT_TRUE(has_logged(lines, "cannot resolve " + too_long + ", trying again: "));
  Client client(router.port());
  EXPECT_EQ(client.get("/ready").status, 503);
  const Answer refused = client.post("/v1/completions", kWatchedBody);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.retry_after, "1");
  EXPECT_EQ(client.get("/health").status, 200);
  RunningRouter with_another({replica.port()}, route, options);
  EXPECT_EQ(Client(with_another.port()).post("/v1/completions", kWatchedBody).status, 200);
}

}  // namespace
}  // namespace pando::testing
