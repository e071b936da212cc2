// How a model writes tool calls, and how they are read.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pando/model.h"
#include "pando/values/request.h"

namespace pando {

// Values of ModelOptions::tool_format: "auto", then names of formats.
std::span<const std::string_view> tool_format_names();

// The format of a model's calls.
struct CallsInfo {
  // Source of the format: the chat template, or the option tool_format. kNone: neither; calls are
  // read as plain JSON, as small models write them.
  enum class Source { kTemplate, kOption, kNone };
  Source source = Source::kNone;
  std::string body;  // describes the form of a call
  std::vector<std::pair<std::string, std::string>>
      marks;                           // name and text of each mark, as templates write it
  bool renders_parallel = false;       // two calls that the template writes are read back
  bool renders_text_and_call = false;  // the same for a text before a call
  bool renders_reasoning = false;      // the same for reasoning
  // An answer with a call, as the template writes it; empty if it writes none. `text` and `calls`
  // are what is read from it.
  std::string example;
  std::string text;
  std::vector<ToolCall> calls;
};

// Describes the calls of a model, which may be loaded without weights. kUnsupported if it has no
// chat template.
Result<CallsInfo> describe_calls(const Model& model);

}  // namespace pando
