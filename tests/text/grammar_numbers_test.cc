// Bounds of numbers, against numbers.
#include <cmath>
#include <cstdio>

#include "grammar_testing.h"
#include "text/grammar/decimal.h"

namespace pando::testing {
namespace {

using grammar::CharDfa;
using grammar::Decimal;

Decimal decimal(const std::string& text) {
  return *grammar::decimal_of(nlohmann::ordered_json::parse(text));
}

TEST(GrammarNumbers, DecimalsAreExact) {
  EXPECT_EQ(text_of(decimal("1.50")), "1.5");
  EXPECT_EQ(text_of(decimal("1e3")), "1000");
  EXPECT_EQ(text_of(decimal("-25e-4")), "-0.0025");
  EXPECT_EQ(text_of(decimal("-0.0")), "0");
  EXPECT_TRUE(is_less(decimal("-2"), decimal("-1.5")));
  EXPECT_TRUE(is_less(decimal("0.09"), decimal("0.1")));
  EXPECT_FALSE(is_less(decimal("3"), decimal("3.0")));
}

// In hundredths, so that the comparison is exact.
TEST(GrammarNumbers, BoundsAllowWhatIsInside) {
  for (const int bound :
       {-1234, -1000, -100, -99, -1, 0, 1, 5, 10, 99, 100, 250, 999, 1000, 1234}) {
    char text[32];
    std::snprintf(text, sizeof text, "%d.%02d", bound / 100, std::abs(bound % 100));
    const std::string written = (bound < 0 && bound > -100 ? "-" : "") + std::string(text);
    for (const bool is_exclusive : {false, true}) {
      const auto from = CharDfa::of(texts_from(decimal(written), is_exclusive));
      const auto to = CharDfa::of(texts_to(decimal(written), is_exclusive));
      ASSERT_TRUE(from.ok() && to.ok());
      for (int value = -1300; value <= 1300; ++value) {
        std::snprintf(text, sizeof text, "%s%d.%02d", value < 0 ? "-" : "", std::abs(value) / 100,
                      std::abs(value) % 100);
        ASSERT_EQ(from->matches(text), is_exclusive ? value > bound : value >= bound)
            << text << " from " << written;
        ASSERT_EQ(to->matches(text), is_exclusive ? value < bound : value <= bound)
            << text << " to " << written;
        if (value % 100 != 0) continue;
        const std::string whole = std::to_string(value / 100);
        ASSERT_EQ(from->matches(whole), is_exclusive ? value > bound : value >= bound)
            << whole << " from " << written;
        ASSERT_EQ(to->matches(whole), is_exclusive ? value < bound : value <= bound)
            << whole << " to " << written;
      }
    }
  }
}

TEST(GrammarNumbers, Multiples) {
  const auto sevens = grammar::multiples_of(decimal("7"));
  const auto quarters = grammar::multiples_of(decimal("0.25"));
  ASSERT_TRUE(sevens && quarters);
  for (int value = -500; value <= 500; ++value) {
    EXPECT_EQ(sevens->matches(std::to_string(value)), value % 7 == 0) << value;
    char text[32];
    std::snprintf(text, sizeof text, "%s%d.%02d", value < 0 ? "-" : "", std::abs(value) / 100,
                  std::abs(value) % 100);
    EXPECT_EQ(quarters->matches(text), value % 25 == 0) << text;
  }
  EXPECT_TRUE(sevens->matches("14.00"));
  EXPECT_FALSE(sevens->matches("14.7"));
  EXPECT_TRUE(quarters->matches("0.5000"));
  EXPECT_FALSE(grammar::multiples_of(decimal("0.123456789")));
}

}  // namespace
}  // namespace pando::testing
