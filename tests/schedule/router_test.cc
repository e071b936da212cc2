#include "schedule/router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "schedule/random_prompts.h"

namespace pando {
namespace {

using RoutedPrompt = std::vector<Piece>;

constexpr double kToken = 0.01;                                         // seconds
constexpr double kPiece = 64 * kToken;                                  // seconds
constexpr double kFirstCome = std::numeric_limits<double>::infinity();  // no prompt overtakes

// n pieces that no other beginning has.
RoutedPrompt routed_prompt(uint64_t beginning, size_t n) {
  RoutedPrompt pieces(n);
  std::iota(pieces.begin(), pieces.end(), mix64(beginning));
  return pieces;
}

RoutedWork routed_work(const RoutedPrompt& pieces) {
  return {.pieces = pieces, .n_prompt = kPieceTokens * static_cast<double>(pieces.size())};
}

// Replicas of equal costs, and of as much room as pieces say (0: as much as there may be).
Router router_of(size_t n, RouterOptions options, size_t n_pieces = 0) {
  Router router(options);
  for (ReplicaId id = 0; id < n; ++id) {
    EXPECT_EQ(router.join(), id);
    router.report(id,
                  {.kv_tokens = kPieceTokens * static_cast<double>(n_pieces),
                   .seconds_per_prompt_token = kToken},
                  {}, 0, 0);
  }
  return router;
}

ReplicaId send(Router& router, const RoutedPrompt& pieces, double now, TicketId* ticket = nullptr) {
  const ReplicaId replica = router.choose(routed_work(pieces), now)->replica;
  const TicketId sent = router.sent(replica, routed_work(pieces), now);
  if (ticket != nullptr) *ticket = sent;
  return replica;
}

TEST(Router, PoliciesHaveNames) {
  EXPECT_EQ(route_policy_named("lars").value(), RoutePolicy::kLars);
  EXPECT_EQ(route_policy_named("round_robin").value(), RoutePolicy::kRoundRobin);
  EXPECT_EQ(route_policy_named("least").error().message(),
            "policy is 'least', expected round_robin, least_loaded, prefix or lars");
}

TEST(Router, EqualReplicasTakeTurns) {
  for (const RoutePolicy policy : {RoutePolicy::kRoundRobin, RoutePolicy::kLeastLoaded,
                                   RoutePolicy::kPrefix, RoutePolicy::kLars}) {
    Router router = router_of(3, {.policy = policy});
    for (uint32_t i = 0; i < 7; ++i) {
      TicketId ticket = 0;
      EXPECT_EQ(send(router, routed_prompt(i, 2), i, &ticket), i % 3);
      router.ended(ticket, i);
    }
  }
}

TEST(Router, NoneThatIsExcludedPausedOrDrainingIsChosen) {
  for (const RoutePolicy policy : {RoutePolicy::kRoundRobin, RoutePolicy::kLeastLoaded,
                                   RoutePolicy::kPrefix, RoutePolicy::kLars}) {
    Router router = router_of(4, {.policy = policy});
    const RoutedPrompt prompt = routed_prompt(1, 4);
    for (ReplicaId id = 0; id < 3; ++id) router.sent(id, routed_work(prompt), 0);
    router.set_state(0, ReplicaState::kPaused);
    router.set_state(1, ReplicaState::kDraining);
    const ReplicaId excluded[] = {2};
    EXPECT_EQ(router.choose(routed_work(prompt), 0, excluded)->replica, 3u);
    router.leave(3);
    EXPECT_FALSE(router.choose(routed_work(prompt), 0, excluded));
    router.set_state(0, ReplicaState::kUp);
    const RouteChoice choice = router.choose(routed_work(prompt), 0, excluded).value();
    EXPECT_EQ(choice.replica, 0u);
    EXPECT_EQ(choice.n_held, 4u) << "a pause forgets nothing";
  }
}

TEST(Router, LeastLoadedCountsOpenRequests) {
  Router router = router_of(2, {.policy = RoutePolicy::kLeastLoaded});
  const RoutedPrompt large = routed_prompt(1, 20), small = routed_prompt(2, 1);
  TicketId ticket = 0;
  EXPECT_EQ(send(router, large, 0, &ticket), 0u);
  EXPECT_EQ(send(router, small, 0), 1u);
  router.report(1, {.n_running = 3}, {}, 1, 1);  // two are of others
  EXPECT_EQ(send(router, small, 1), 0u);
  EXPECT_EQ(send(router, small, 1), 0u);
  EXPECT_EQ(router.view(0, 1).n_open, 3);
  router.ended(ticket, 1);
  EXPECT_EQ(router.view(0, 1).n_open, 2);
}

TEST(Router, PrefixGoesToTheLongestHolderUnlessItIsOverloaded) {
  Router router = router_of(2, {.policy = RoutePolicy::kPrefix});
  const RoutedPrompt prompt = routed_prompt(1, 4);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(send(router, prompt, 0), 0u) << i;
  EXPECT_EQ(send(router, prompt, 0), 1u) << "nine are open there, none here";
}

TEST(Router, LarsKeepsAConversationWhileThatPays) {
  Router router = router_of(2, {.again = 2, .patience = kFirstCome});
  const RoutedPrompt turns = routed_prompt(1, 10);
  const std::span<const Piece> all = turns;
  const RoutedPrompt first(all.begin(), all.begin() + 8);
  TicketId ticket = 0;
  ASSERT_EQ(send(router, first, 0, &ticket), 0u);
  router.ended(ticket, 1);
  // Others' work at its replica: less, and then more, than twice the prefill that this saves.
  const RouteChoice alone = router.choose(routed_work(turns), 1).value();
  EXPECT_EQ(alone.replica, 0u);
  EXPECT_EQ(alone.n_held, 8u);
  EXPECT_DOUBLE_EQ(alone.begins, 1 + 2 * kPiece);
  router.report(0, {.seconds_left = 15 * kPiece}, {.version = 1}, 1, 1);
  EXPECT_EQ(router.choose(routed_work(turns), 1)->replica, 0u);
  router.report(0, {.seconds_left = 17 * kPiece}, {.version = 1}, 1, 1);
  EXPECT_EQ(router.choose(routed_work(turns), 1)->replica, 1u);
}

TEST(Router, LarsSpreadsAHotBeginning) {
  Router router = router_of(4, {});
  RoutedPrompt prompt = routed_prompt(1, 4);
  std::map<ReplicaId, int> n_sent;
  for (uint64_t i = 0; i < 400; ++i) {
    prompt.resize(4);
    for (const Piece piece : routed_prompt(100 + i, 2)) prompt.push_back(piece);
    ++n_sent[send(router, prompt, 0)];
  }
  for (ReplicaId id = 0; id < 4; ++id) EXPECT_NEAR(n_sent[id], 100, 8) << id;
}

// It overtakes the long one, and waits for all the short ones.
TEST(Router, LarsSendsAShortPromptBehindALongOne) {
  Router router = router_of(2, {.patience = 2});
  const RoutedPrompt short_one = routed_prompt(1, 1);
  router.sent(0, routed_work(routed_prompt(2, 100)), 0);
  for (uint64_t i = 3; i < 6; ++i) router.sent(1, routed_work(routed_prompt(i, 1)), 0);
  EXPECT_EQ(router.choose(routed_work(short_one), 0)->replica, 0u);
  EXPECT_EQ(router.choose(routed_work(routed_prompt(9, 50)), 0)->replica, 1u);
}

TEST(Router, LarsPassesAHolderThatWouldBeLate) {
  Router router = router_of(2, {.again = 3, .patience = kFirstCome});
  const RoutedPrompt prompt = routed_prompt(1, 8);
  router.sent(0, routed_work(prompt), 0);
  router.report(0, {.seconds_left = 12 * kPiece}, {.version = 1}, 1, 1);
  RoutedWork work = routed_work(prompt);
  EXPECT_EQ(router.choose(work, 1)->replica, 0u);
  work.deadline = 1 + 9 * kPiece;
  EXPECT_EQ(router.choose(work, 1)->replica, 1u);
}

TEST(Router, LarsFillsTheCacheThatLosesLeast) {
  Router router = router_of(3, {}, 8);
  for (ReplicaId id = 0; id < 3; ++id)
    router.ended(router.sent(id, routed_work(routed_prompt(id, 8)), id == 1 ? 0 : 5), 5);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(router.choose(routed_work(routed_prompt(9, 4)), 10)->replica, 1u);
}

TEST(Router, ReportsSayWhatIsHeld) {
  Router router = router_of(2, {});
  const RoutedPrompt prompt = routed_prompt(1, 6);
  HeldPieces at_replica(100);
  at_replica.touch(prompt, 0);
  HeldDigest digest = at_replica.since(0);
  router.report(1, {}, digest, 0, 0);
  EXPECT_EQ(router.choose(routed_work(prompt), 0)->n_held, 6u);
  at_replica.clear();
  at_replica.touch(routed_prompt(2, 3), 0);
  digest = at_replica.since(digest.version);
  router.report(1, {}, digest, 0, 0);
  EXPECT_EQ(router.view(1, 0).n_held, 9u) << "more was added";
  router.report(1, {}, at_replica.since(0), 0, 0);
  EXPECT_EQ(router.view(1, 0).n_held, 3u) << "the whole list";
  router.restarted(1);
  EXPECT_EQ(router.view(1, 0).n_held, 0u);
}

TEST(Router, SenselessReportsCountAsNothing) {
  Router router = router_of(2, {});
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (ReplicaId id = 0; id < 2; ++id)
    router.report(id,
                  {.seconds_left = kNan,
                   .n_running = -4,
                   .max_running = kFirstCome,
                   .kv_tokens = -1,
                   .seconds_per_prompt_token = kNan,
                   .seconds_per_step = 1e300},
                  {}, 0, 0);
  const RoutedPrompt prompt = routed_prompt(1, 2);
  const RouteChoice choice = router.choose(routed_work(prompt), 0).value();
  EXPECT_DOUBLE_EQ(choice.begins, 2 * kPiece);
  EXPECT_EQ(router.view(0, 0).n_open, 0);
}

TEST(Router, TicketsOfAReplicaThatIsGoneAreVoid) {
  Router router = router_of(2, {});
  const TicketId ticket = router.sent(0, routed_work(routed_prompt(1, 6)), 0);
  const TicketId other = router.sent(1, routed_work(routed_prompt(1, 6)), 0);
  router.leave(0);
  EXPECT_EQ(router.n_tickets(), 1u);
  EXPECT_EQ(router.join(), 0u);
  EXPECT_NE(router.sent(0, routed_work(routed_prompt(1, 6)), 0), ticket);
  router.first_token(ticket, 1);
  router.ended(ticket, 1);
  EXPECT_EQ(router.view(0, 1).n_tickets, 1u);
  router.restarted(1);
  router.ended(other, 1);
  EXPECT_EQ(router.n_tickets(), 1u);
}

TEST(Router, PiecesOfAllReplicasAreBounded) {
  Router router = router_of(3, {.most_pieces = 30});
  const auto n_held = [&] {
    size_t n = 0;
    for (ReplicaId id = 0; id < router.n_replicas(); ++id) n += router.view(id, 0).n_held;
    return n;
  };
  for (uint64_t i = 0; i < 50; ++i) send(router, routed_prompt(i, 4), 0);
  EXPECT_EQ(n_held(), 30u);
  router.join();  // shares what there may be
  EXPECT_EQ(n_held(), 3 * 7u);
}

// Replicas come and go; a plain model of each says what it holds.
TEST(Router, KnowsWhatEachReplicaHolds) {
  std::mt19937 rng(5);
  for (int round = 0; round < 6; ++round) {
    constexpr size_t kMost = 60;
    Router router({.policy = RoutePolicy::kRoundRobin, .most_pieces = kMost});
    std::map<ReplicaId, HeldPieces> naive;
    std::map<TicketId, ReplicaId> open;
    for (int i = 0; i < 1500; ++i) {
      const RoutedPrompt pieces = testing::random_prompt(rng);
      const RoutedWork work = routed_work(pieces);
      const uint32_t what = rng() % 100;
      if (what < 3 && naive.size() < 12) {
        naive.emplace(router.join(), HeldPieces(0));
      } else if (what < 5 && !naive.empty()) {
        const ReplicaId gone = std::next(naive.begin(), rng() % naive.size())->first;
        what == 3 ? router.leave(gone) : router.restarted(gone);
        what == 3 ? static_cast<void>(naive.erase(gone)) : naive.at(gone).clear();
        std::erase_if(open, [&](const auto& ticket) { return ticket.second == gone; });
      } else if (what < 30 && !open.empty()) {
        const auto ticket = std::next(open.begin(), rng() % open.size());
        if (rng() % 2 == 0) router.first_token(ticket->first, i);
        router.ended(ticket->first, i);
        open.erase(ticket);
      } else if (const auto choice = router.choose(work, i)) {
        ASSERT_EQ(choice->n_held, naive.at(choice->replica).n_leading(pieces));
        open.emplace(router.sent(choice->replica, work, i), choice->replica);
        naive.at(choice->replica).touch(pieces, i);
      } else {
        ASSERT_TRUE(naive.empty());
      }
      for (auto& [id, held] : naive) held.set_capacity(kMost / naive.size());
      ASSERT_EQ(router.n_tickets(), open.size());
      for (const auto& [id, held] : naive) {
        ASSERT_EQ(router.view(id, i).n_held, held.size());
        ASSERT_EQ(router.view(id, i).n_open,
                  std::ranges::count(open, id, [](const auto& ticket) { return ticket.second; }));
      }
    }
  }
}

}  // namespace
}  // namespace pando
