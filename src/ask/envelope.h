// Every answer of the API says this of itself.
#pragma once

#include <cstdint>
#include <string>

namespace pando::ask {

struct Envelope {
  std::string id;       // without its kind
  int64_t created = 0;  // seconds since 1970
  std::string model;
  std::string warning;  // SharingInfo::warning of the engine that answers
};

}  // namespace pando::ask
