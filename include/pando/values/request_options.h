// The options of a request, by name. Lines, bodies, tables, commands, journals, C and Python are
// all read, checked and described by this table: a new option is a member of SamplingOptions and a
// row.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pando/values/request.h"
#include "pando/values/result.h"

namespace pando {

// Places where an option may stand; RequestOption::places joins several.
enum OptionPlace : unsigned {
  kInLine = 1,     // a line or table of the batch runner, POST /v1/answers, C and Python
  kInBody = 2,     // a body of /v1/completions and of /v1/chat/completions, in the same form
  kInCommand = 4,  // the command line: --top-k for top_k
  kInJournal = 8,  // every journal. An option with kInCommand alone is in a journal only if it is
                   // not the default, so that journals of earlier versions can be resumed
  kInConfig = 16,  // generation_config.json, by its config_name
  kInSamplingConfig = 32,  // the same, where its do_sample is true
};

using OptionMember =
    std::variant<int SamplingOptions::*, double SamplingOptions::*, bool SamplingOptions::*,
                 std::optional<uint64_t> SamplingOptions::*,
                 std::vector<std::string> SamplingOptions::*, std::vector<Token> SamplingOptions::*,
                 std::map<Token, double> SamplingOptions::*>;

// A row of the table.
struct RequestOption {
  const char* name = "";
  OptionMember member;
  unsigned places = 0;        // of OptionPlace
  const char* help = "";      // one line
  bool reports = false;       // concerns the report of an answer, not its drawing
  const char* expected = "";  // for numbers: their bounds, in words
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
  const char* config_name = name;  // in generation_config.json

  bool stands_in(unsigned place) const { return (places & place) != 0; }
  // True if a number is within the bounds; false for infinities and NaN.
  bool holds(double value) const { return value >= least && value <= most; }
};

// All of them, in the order in which they are described.
std::span<const RequestOption> request_options();
// Null if none of this name may stand there.
const RequestOption* find_option(std::string_view name, OptionPlace place);

// The value of an option that is a number, else nothing.
std::optional<double> option_number(const RequestOption& option, const SamplingOptions& sampling);
// `option` must be a number, and `value` within its bounds, and whole if the option is an integer.
void set_option_number(const RequestOption& option, double value, SamplingOptions& sampling);

// kInvalidArgument for the first number that is out of its bounds: "top_p is 2, expected 0 to 1".
Status check_options(const SamplingOptions& sampling);

}  // namespace pando
