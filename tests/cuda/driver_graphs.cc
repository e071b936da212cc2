// Capture of streams, and graphs.
#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "cuda/driver_state.h"

namespace pando::testing::cuda {
namespace {

struct UpdateResult {
  int result;
  void *node, *from_node;
};

// True if nodes are of the same kinds, so that an executable graph can be updated.
bool have_one_shape(const Operations& a, const Operations& b) {
  return std::ranges::equal(a, b, {}, &Operation::kind, &Operation::kind);
}

}  // namespace

DRIVER cuStreamBeginCapture_v2(Stream* stream, int) {
  ENTER(Needs::kContext);
  if (!state().streams.has(stream) || stream->captured) return kInvalidValue;
  stream->captured = std::make_unique<Graph>();
  stream->is_broken = false;
  stream->capturing = std::this_thread::get_id();
  return 0;
}
DRIVER cuStreamEndCapture(Stream* stream, Graph** graph) {
  ENTER(Needs::kContext);
  *graph = nullptr;
  if (!state().streams.has(stream) || !stream->captured) return kCaptureUnmatched;
  std::unique_ptr<Graph> captured = std::move(stream->captured);
  if (stream->is_broken) return kCaptureInvalidated;
  *graph = state().graphs.add(std::move(captured));
  return 0;
}
DRIVER cuGraphDestroy(Graph* graph) {
  ENTER(Needs::kNothing);
  return destroy(state().graphs, graph);
}
DRIVER cuGraphInstantiateWithFlags(Executable** executable, Graph* graph, unsigned long long) {
  ENTER(Needs::kContext);
  if (!state().graphs.has(graph)) return kInvalidValue;
  *executable =
      state().executables.add(std::make_unique<Executable>(Executable{graph->operations}));
  return 0;
}
DRIVER cuGraphExecUpdate_v2(Executable* executable, Graph* graph, UpdateResult* result) {
  ENTER(Needs::kContext);
  if (!state().executables.has(executable) || !state().graphs.has(graph)) return kInvalidValue;
  *result = {};
  if (!have_one_shape(executable->operations, graph->operations)) return kUpdateFailed;
  executable->operations = graph->operations;
  return 0;
}
DRIVER cuGraphLaunch(Executable* executable, Stream* stream) {
  ENTER(Needs::kContext);
  if (!state().executables.has(executable) || !state().streams.has(stream) || stream->captured)
    return kInvalidValue;
  stream->pending.insert(stream->pending.end(), executable->operations.begin(),
                         executable->operations.end());
  return 0;
}
DRIVER cuGraphExecDestroy(Executable* executable) {
  ENTER(Needs::kNothing);
  return destroy(state().executables, executable);
}

}  // namespace pando::testing::cuda
