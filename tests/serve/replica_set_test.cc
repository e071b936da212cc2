// Choices and states of replicas, and when they are asked for their status. No sockets.
#include "serve/route/replica_set.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "serve/route/replica_connection.h"

namespace pando::testing {
namespace {

using namespace std::chrono_literals;
using SetClock = serve::ReplicaSet::Clock;

serve::ReplicaSet::Address address_of(const std::string& url, const char* address = "10.0.0.7") {
  const serve::ReplicaUrl parsed = *serve::parse_replica_url(url);
  return {parsed, {boost::asio::ip::make_address(address), parsed.port}};
}

serve::ReplicaStatus status_told_by(const std::string& process) {
  serve::ReplicaStatus status;
  status.process = process;
  status.fingerprint = "f";
  status.models = {"tiny"};
  return status;
}

// One replica that has told its status.
struct OneReplica {
  OneReplica() {
    set.log = [this](const std::string& line) { lines.push_back(line); };
    set.replace({address_of("http://10.0.0.7:8000")});
    replica = set.due(SetClock::now()).at(0).replica;
    set.take(*replica, status_told_by("1"), SetClock::now());
  }
  // It is asked for its status by then. It counts as asked from now on.
  bool is_due(SetClock::time_point at) { return !set.due(at).empty(); }
  bool is_due(SetClock::duration in) { return is_due(SetClock::now() + in); }

  serve::RouteOptions options;
  serve::ReplicaSet set{options, nullptr};
  std::vector<std::string> lines;
  std::shared_ptr<serve::Replica> replica;
};

// A request under way.
struct OpenRequest {
  explicit OpenRequest(serve::Replica& replica)
      : connection(replica.make_connection(context.get_executor())),
        exchange(replica, *connection) {}
  // Runs what closes its connection.
  bool was_cut() {
    context.restart();
    return context.poll() > 0;
  }

  boost::asio::io_context context;
  std::unique_ptr<serve::ReplicaConnection> connection;
  serve::Replica::Exchange exchange;
};

TEST(ReplicaSet, AsksOftenWhileADrainingReplicaHasRequests) {
  OneReplica one;
  const SetClock::time_point before = SetClock::now();
  for (int i = 0; i < 9; ++i) one.set.fail(*one.replica, "refused", /*is_refused=*/true);
  EXPECT_FALSE(one.is_due(before + 2s));  // 15 to 30 s
  const OpenRequest request(*one.replica);
  const SetClock::time_point again = SetClock::now();
  one.set.fail(*one.replica, "refused", /*is_refused=*/true);
  EXPECT_FALSE(one.is_due(again + 1s));
  EXPECT_TRUE(one.is_due(one.options.replica_timeout / 4));
}

// A router that could not ask for a while has heard nothing either.
TEST(ReplicaSet, IsSilentFromItsFirstQuestionWithoutAnAnswer) {
  OneReplica one;
  OpenRequest request(*one.replica);
  const SetClock::time_point asked = SetClock::now() + 1h;
  one.set.look(asked);
  EXPECT_FALSE(request.was_cut());
  EXPECT_TRUE(one.is_due(asked));
  one.set.fail(*one.replica, "no answer");
  EXPECT_TRUE(one.is_due(asked + 1s));
  one.set.look(asked + one.options.replica_timeout);
  EXPECT_FALSE(request.was_cut());
  one.set.look(asked + one.options.replica_timeout + 1ms);
  EXPECT_TRUE(request.was_cut());
}

TEST(ReplicaSet, ARefusalIsASignOfLife) {
  OneReplica one;
  OpenRequest request(*one.replica);
  const SetClock::time_point asked = SetClock::now() + 1h;
  EXPECT_TRUE(one.is_due(asked));
  one.set.fail(*one.replica, "refused", /*is_refused=*/true);
  one.set.look(asked + one.options.replica_timeout + 1ms);
  EXPECT_FALSE(request.was_cut());
}

// Its answers do not make it a place for new requests before its pause is over.
TEST(ReplicaSet, AsksOneThatBreaksRequestsInTimeWhileItHasOthers) {
  OneReplica one;
  const OpenRequest request(*one.replica);
  for (int i = 0; i < 9; ++i) {
    one.set.pause(*one.replica, "broke");
    one.set.take(*one.replica, status_told_by("1"), SetClock::now() + 1h);  // kUp again
  }
  one.set.pause(*one.replica, "broke");  // for 15 to 30 s
  EXPECT_TRUE(one.is_due(one.options.replica_timeout / 4));
  const SetClock::time_point told = SetClock::now();
  one.set.take(*one.replica, status_told_by("1"), told);
  EXPECT_FALSE(one.is_due(told + 1s));
  EXPECT_TRUE(one.is_due(one.options.replica_timeout / 4));
  EXPECT_FALSE(one.set.is_any_up());
}

TEST(ReplicaSet, CutsOnlyRequestsOfTheEarlierProcess) {
  OneReplica one;
  OpenRequest before(*one.replica);
  const SetClock::time_point asked = SetClock::now();
  one.set.take(*one.replica, status_told_by("1"), asked);
  OpenRequest after(*one.replica);
  one.set.take(*one.replica, status_told_by("2"), SetClock::now());
  EXPECT_TRUE(before.was_cut());
  EXPECT_FALSE(after.was_cut());
  EXPECT_EQ(one.lines.back(),
            "replica http://10.0.0.7:8000 was started again: 1 open requests of its earlier "
            "process");
}

TEST(ReplicaSet, WaitsLongerForAReplicaThatBreaksRequestsAgain) {
  OneReplica one;
  one.set.pause(*one.replica, "broke");
  EXPECT_TRUE(one.is_due(0s));
  one.set.take(*one.replica, status_told_by("1"), SetClock::now());
  EXPECT_TRUE(one.set.is_any_up());
  const SetClock::time_point before = SetClock::now();
  one.set.pause(*one.replica, "broke");
  one.set.pause(*one.replica, "broke");  // another request of the same break
  EXPECT_FALSE(one.is_due(before + 300ms));
  EXPECT_TRUE(one.is_due(500ms));
}

TEST(ReplicaSet, DoesNotBelieveAStatusFromBeforeABreak) {
  OneReplica one;
  const SetClock::time_point asked = SetClock::now() - 1ms;
  one.set.pause(*one.replica, "broke");
  one.set.take(*one.replica, status_told_by("1"), asked);
  EXPECT_FALSE(one.set.is_any_up());
  EXPECT_TRUE(one.is_due(0s));
  one.set.take(*one.replica, status_told_by("1"), SetClock::now());
  EXPECT_TRUE(one.set.is_any_up());
}

TEST(ReplicaSet, AProblemOfTheRouterSaysNothingOfAReplica) {
  OneReplica one;
  EXPECT_TRUE(one.is_due(10s));
  one.set.ask_again(*one.replica);
  EXPECT_TRUE(one.set.is_any_up());
  EXPECT_TRUE(one.is_due(1s));
  EXPECT_TRUE(serve::is_own_fault(boost::asio::error::no_descriptors));
  EXPECT_TRUE(serve::is_own_fault(boost::asio::error::no_memory));
  EXPECT_FALSE(serve::is_own_fault(boost::asio::error::connection_refused));
  EXPECT_FALSE(serve::is_own_fault({}));
}

TEST(ReplicaSet, TwoUrlsOfOneReplica) {
  OneReplica one;
  one.set.replace({address_of("http://10.0.0.7:8000"), address_of("http://pando:8000")});
  EXPECT_EQ(one.set.facts().size(), 1u);
  one.set.replace({address_of("http://pando:8000")});
  EXPECT_TRUE(one.set.is_any_up());
  one.set.replace({address_of("http://pando:8000", "10.0.0.8")});
  EXPECT_EQ(one.set.facts().at(0).health, serve::ReplicaHealth::kDraining);
  EXPECT_EQ(one.set.facts().at(1).name, "http://10.0.0.8:8000");
}

TEST(ReplicaSet, AModelOfAReplicaThatWasNotSeenYet) {
  OneReplica one;
  const auto code_of = [&](const char* model) {
    const auto choice = one.set.choose({.work = {}, .model = model});
    return choice ? std::string("chosen") : choice.error().message();
  };
  const std::string later = "no replica is available (hint: try again later)";
  EXPECT_EQ(code_of("tiny"), "chosen");
  EXPECT_EQ(code_of("tiny:latest"), "chosen");
  EXPECT_EQ(code_of("other"), "the model 'other' is served by no replica");
  one.set.replace({address_of("http://10.0.0.7:8000")}, /*is_whole=*/false);
  EXPECT_EQ(code_of("other"), later);
  one.set.replace({address_of("http://10.0.0.7:8000"), address_of("http://10.0.0.7:8001")});
  EXPECT_EQ(code_of("other"), later);
  EXPECT_EQ(code_of("tiny"), "chosen");
}

}  // namespace
}  // namespace pando::testing
