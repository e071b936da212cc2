// Lists of replicas that change, and names that have no address.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "model/test_files.h"
#include "serve/client.h"
#include "serve/log_lines.h"
#include "serve/running_router.h"
#include "serve/scripted_answers.h"
#include "serve/scripted_replica.h"

namespace pando::testing {
namespace {

bool has_logged(Lines& lines, const std::string& text) {
  return soon([&] {
    const std::vector<std::string> all = lines.all();
    return std::ranges::any_of(
        all, [&](const std::string& line) { return line.find(text) != line.npos; });
  });
}

TEST(ReplicaWatch, SighupWithoutAFileEndsNothing) {
  ScriptedReplica replica(answers(200, "{}"));
  RunningRouter router({replica.port()});
  ASSERT_EQ(::kill(::getpid(), SIGHUP), 0);
  EXPECT_EQ(Client(router.port()).post("/v1/completions", kBody).status, 200);
}

TEST(ReplicaWatch, AListThatChanges) {
  const TemporaryFolder folder;
  ScriptedReplica first(answers(200, "{\"a\":1}")), second(answers(200, "{\"b\":1}"));
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
  RunningRouter router({}, route, options);
  Client client(router.port());
  EXPECT_EQ(client.post("/v1/completions", kBody).body, "{\"a\":1}");
  write("# none\n");
  EXPECT_TRUE(has_logged(
      lines, "the list of replicas stays as it was: " + route.replicas_file + " has no replicas"));
  EXPECT_EQ(client.post("/v1/completions", kBody).body, "{\"a\":1}");
  write(second.name() + "\n");
  EXPECT_TRUE(has_logged(lines, "read " + route.replicas_file + " again: 1 replicas"));
  EXPECT_TRUE(soon([&] { return client.post("/v1/completions", kBody).body == "{\"b\":1}"; }));
}

TEST(ReplicaWatch, ANameWithoutAddresses) {
  const std::string too_long(64, 'a');  // for a name, so that nobody is asked for it
  serve::RouteOptions route;
  route.replicas.push_back({.host = too_long, .port = 80});
  Lines lines;
  serve::ServerOptions options = tiny_server_options();
  log_to(lines, options);
  ScriptedReplica replica(answers(200, "{}"));
  RunningRouter router({}, route, options);
  EXPECT_TRUE(has_logged(lines, "cannot resolve " + too_long + ", trying again: "));
  Client client(router.port());
  EXPECT_EQ(client.get("/ready").status, 503);
  EXPECT_EQ(client.get("/health").status, 200);
  RunningRouter with_another({replica.port()}, route, options);
  EXPECT_EQ(Client(with_another.port()).post("/v1/completions", kBody).status, 200);
}

}  // namespace
}  // namespace pando::testing
