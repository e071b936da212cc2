#include "serve/mailbox.h"

#include <gtest/gtest.h>

#include <new>

#include "serve/gate.h"

namespace pando::serve {
namespace {

Event event_of(uint64_t request) { return {.request = request, .text = "t"}; }

TEST(Mailbox, TellsOnceUntilItIsEmptied) {
  int n_told = 0;
  Mailbox mailbox([&] { ++n_told; });
  mailbox.put(3, event_of(1));
  mailbox.put(4, event_of(2));
  EXPECT_EQ(n_told, 1);
  const std::vector<Heard> heard = mailbox.take();
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[1].request, 4u);
  EXPECT_EQ(heard[1].event.request, 2u);
  mailbox.put(3, event_of(1));
  EXPECT_EQ(n_told, 2);
}

TEST(Mailbox, WhoCouldNotBeToldIsToldOfTheNextEvent) {
  int n_tries = 0;
  Mailbox mailbox([&] {
    if (++n_tries == 1) throw std::bad_alloc();
  });
  mailbox.put(0, event_of(1));
  mailbox.put(0, event_of(1));
  mailbox.put(0, event_of(1));
  EXPECT_EQ(n_tries, 2);
  EXPECT_EQ(mailbox.take().size(), 3u);
  EXPECT_FALSE(mailbox.is_lossy());
}

TEST(Mailbox, NothingComesOnceItIsClosed) {
  int n_told = 0;
  Mailbox mailbox([&] { ++n_told; });
  mailbox.close();
  mailbox.put(0, event_of(1));
  EXPECT_EQ(n_told, 0);
  EXPECT_TRUE(mailbox.take().empty());
}

TEST(Gate, LetsNobodyInOnceItIsClosed) {
  Gate gate;
  int n_in = 0;
  gate.pass([&] { ++n_in; });
  gate.close();
  gate.pass([&] { ++n_in; });
  EXPECT_EQ(n_in, 1);
}

}  // namespace
}  // namespace pando::serve
