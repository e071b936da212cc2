// Messages between rank 0 and the first rank of another replica.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "api/request_bytes.h"

namespace pando {

enum class ReplicaWord : uint32_t {
  // From rank 0, with the values that follow:
  kOpen,        // an engine: EngineOptions; answered by kOpened
  kSubmit,      // uint64_t, the number of the request, from 0 on; Request
  kCancel,      // its number
  kAskWaiting,  // answered by kWaiting
  kAskStats,    // answered by kStats
  kClose,       // the engine; answered by kClosed
  kDismiss,     // the run is over
  // From the replica:
  kOpened,      // std::optional<Error>; an engine is open where there is none
  kCompletion,  // a request's number; Completion
  kFailed,      // a request's number; Error
  kWaiting,     // std::vector<uint64_t>, numbers of requests that wait
  kStats,       // EngineStats
  kClosed,
};

template <class... T>
std::vector<std::byte> replica_message(ReplicaWord word, const T&... values) {
  ByteWriter writer;
  writer.write(word);
  (writer.write(values), ...);
  return writer.take();
}

}  // namespace pando
