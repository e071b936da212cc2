#include "text/grammar/formats.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace pando::grammar {

namespace {

// Days that the calendar has: 29 February in leap years alone.
const std::string kMonthDay =
    "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]"
    "|2[0-8]))";
const std::string kLeapYear =
    "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)";
const std::string kDate = "([0-9]{4}-" + kMonthDay + "|" + kLeapYear + "-02-29)";
const std::string kHour = "([01][0-9]|2[0-3])";
const std::string kSecondPart = "(\\.[0-9]+)?";
// A leap second only where the zone is UTC.
const std::string kTime = "(" + kHour + ":[0-5][0-9]:[0-5][0-9]" + kSecondPart + "([zZ]|[+-]" +
                          kHour + ":[0-5][0-9])|23:59:60" + kSecondPart + "([zZ]|[+-]00:00))";
const std::string kByte = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const std::string kIpv4 = kByte + "(\\." + kByte + "){3}";
const std::string kGroup = "[0-9a-fA-F]{1,4}";

// An address of eight groups; one run of zeros may be left out.
std::string ipv6() {
  const std::string last = "(" + kGroup + ":" + kGroup + "|" + kIpv4 + ")";
  std::string all = "(" + kGroup + ":){6}" + last;
  for (int before = 0; before <= 7; ++before) {
    const std::string head =
        before == 0 ? "" : kGroup + "(:" + kGroup + "){" + std::to_string(before - 1) + "}";
    // At most 7 - before groups behind "::", the last two of which may be an address of version 4.
    const int most = 7 - before;
    std::string tail;
    if (most >= 1) {
      tail = "(" + kGroup + "(:" + kGroup + "){0," + std::to_string(most - 1) + "}";
      if (most >= 2) tail += "|(" + kGroup + ":){0," + std::to_string(most - 2) + "}" + kIpv4;
      tail += ")?";
    }
    all += "|" + head + "::" + tail;
  }
  return "(" + all + ")";
}

// Excludes labels whose third and fourth characters are hyphens: they encode other characters.
const std::string kAlnum = "[A-Za-z0-9]";
const std::string kLabel = kAlnum + "(" + kAlnum + "|[A-Za-z0-9-](" + kAlnum + "|" + kAlnum +
                           "[A-Za-z0-9-]{0,59}" + kAlnum + "|-" + kAlnum + "([A-Za-z0-9-]{0,58}" +
                           kAlnum + ")?))?";
const std::string kHostname = kLabel + "(\\." + kLabel + ")*";
const std::string kAtom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const std::string kEmail = "(" + kAtom + "(\\." + kAtom +
                           ")*|\"([^\\x00-\\x1F\"\\\\\\x7F-\\u{10FFFF}]|\\\\[ -~])*\")@(" +
                           kHostname + "|\\[" + kIpv4 + "\\]|\\[IPv6:" + ipv6() + "\\])";
const std::string kUnreserved = "[A-Za-z0-9._~-]";
const std::string kEscaped = "%[0-9A-Fa-f]{2}";
const std::string kSubDelims = "[!$&'()*+,;=]";
const std::string kPathChar = "(" + kUnreserved + "|" + kEscaped + "|" + kSubDelims + "|[:@])";
const std::string kUserInfo = "(" + kUnreserved + "|" + kEscaped + "|" + kSubDelims + "|:)*@";
const std::string kHost = "(\\[(" + ipv6() +
                          "|[vV][0-9A-Fa-f]+\\.([A-Za-z0-9._~!$&'()*+,;=:-])+)\\]|(" + kUnreserved +
                          "|" + kEscaped + "|" + kSubDelims + ")*)";
const std::string kAuthority = "//(" + kUserInfo + ")?" + kHost + "(:[0-9]*)?";
const std::string kPathRest = "(/" + kPathChar + "*)*";
const std::string kQuery = "(\\?(" + kPathChar + "|[/?])*)?(#(" + kPathChar + "|[/?])*)?";
const std::string kRootedPath = "/(" + kPathChar + "+" + kPathRest + ")?";
const std::string kUri = "[A-Za-z][A-Za-z0-9+.-]*:(" + kAuthority + kPathRest + "|" + kRootedPath +
                         "|" + kPathChar + "+" + kPathRest + "|)" + kQuery;
// A relative path whose first part has no colon.
const std::string kFirstPart = "(" + kUnreserved + "|" + kEscaped + "|" + kSubDelims + "|@)+";
const std::string kRelative =
    "(" + kAuthority + kPathRest + "|" + kRootedPath + "|" + kFirstPart + kPathRest + "|)" + kQuery;
const std::string kDays = "[0-9]+D";
const std::string kTimeOfDuration = "T([0-9]+H([0-9]+M([0-9]+S)?)?|[0-9]+M([0-9]+S)?|[0-9]+S)";
const std::string kDuration = "P(((" + kDays + "|[0-9]+M(" + kDays + ")?|[0-9]+Y([0-9]+M(" + kDays +
                              ")?)?)(" + kTimeOfDuration + ")?)|" + kTimeOfDuration + "|[0-9]+W)";
const std::string kPointer = "(/([^/~]|~[01])*)*";

}  // namespace

std::optional<std::string_view> pattern_of_format(std::string_view name) {
  static const std::array<std::pair<std::string_view, std::string>, 13> kFormats{{
      {"date", kDate},
      {"time", kTime},
      {"date-time", kDate + "[tT]" + kTime},
      {"duration", kDuration},
      {"email", kEmail},
      {"hostname", kHostname},
      {"ipv4", kIpv4},
      {"ipv6", ipv6()},
      {"uri", kUri},
      {"uri-reference", "(" + kUri + "|" + kRelative + ")"},
      {"uuid", "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"},
      {"json-pointer", kPointer},
      {"relative-json-pointer", "(0|[1-9][0-9]*)(#|" + kPointer + ")"},
  }};
  const auto* found = std::find_if(kFormats.begin(), kFormats.end(),
                                   [&](const auto& format) { return format.first == name; });
  if (found == kFormats.end()) return std::nullopt;
  return found->second;
}

size_t longest_of_format(std::string_view name) { return name == "hostname" ? 253 : SIZE_MAX; }

std::span<const std::string_view> format_names() {
  static constexpr std::array<std::string_view, 19> kNames{"date",
                                                           "date-time",
                                                           "double",
                                                           "duration",
                                                           "email",
                                                           "float",
                                                           "hostname",
                                                           "int32",
                                                           "int64",
                                                           "ipv4",
                                                           "ipv6",
                                                           "json-pointer",
                                                           "relative-json-pointer",
                                                           "time",
                                                           "uint32",
                                                           "uint64",
                                                           "uri",
                                                           "uri-reference",
                                                           "uuid"};
  return kNames;
}

bool is_known_format(std::string_view name) {
  return std::ranges::binary_search(format_names(), name);
}

std::optional<NumberFormat> bounds_of_format(std::string_view name) {
  if (name == "int32") return NumberFormat{"-2147483648", "2147483647"};
  if (name == "int64") return NumberFormat{"-9223372036854775808", "9223372036854775807"};
  if (name == "uint32") return NumberFormat{"0", "4294967295"};
  if (name == "uint64") return NumberFormat{"0", "18446744073709551615"};
  if (name == "float" || name == "double") return NumberFormat{};
  return std::nullopt;
}

}  // namespace pando::grammar
