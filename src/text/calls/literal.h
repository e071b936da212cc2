// Values as models write them outside JSON: Python's literals, and objects with bare keys and
// quotes of their own. JSON itself is read too.
#pragma once

#include <string>

#include "text/calls/json_scan.h"

namespace pando::calls {

struct LiteralStyle {
  std::string quote = {};  // around strings without escapes, besides ' and "; empty: none
  bool bare_keys = false;  // keys of objects may stand without quotes
  // A string between ' or " ends only where an argument of a call ends, so quotes may stand in it.
  bool in_call = false;
};

// Reads one value. A number at the end of the text needs more text.
Read read_literal(Scan& scan, const LiteralStyle& style, CallJson& out, int depth = 0);

}  // namespace pando::calls
