// The channels of gpt-oss. Models write the header of a message in other ways than templates do, so
// the format is not learned.
#pragma once

#include "text/calls/call_reader.h"

namespace pando::calls {

CallFormat harmony_format();

// A header up to <|message|>: <|start|>assistant<|channel|>NAME, with "to=functions.NAME" in it if
// the message is a call.
struct ChannelHeader {
  std::string channel;    // "analysis", "commentary", "final"
  std::string recipient;  // a function's name; empty: none
};
Read read_channel_header(Scan& scan, ChannelHeader& header);

}  // namespace pando::calls
