// The thread that reads a batch's input.
#pragma once

#include <exception>
#include <istream>
#include <memory>
#include <thread>

#include "batch/inbox.h"
#include "pando/file_input.h"

namespace pando {

// Reads records until there are none, or none are wanted.
class InputReader {
 public:
  InputReader(std::istream& input, const BatchOptions& options, std::shared_ptr<Inbox> inbox)
      : input_(input), inbox_(std::move(inbox)), thread_([&input, &options, inbox = inbox_] {
          try {
            RecordScanner scanner(input, options.format, options.task);
            while (std::optional<InputRecord> record = scanner.next())
              if (!inbox->put(std::move(*record))) return;
            inbox->end_of_input(scanner.failure());
          } catch (const std::exception& error) {  // no memory; a stream that throws
            inbox->end_of_input(error.what());
          }
        }) {}
  ~InputReader() {
    inbox_->close();
    if (auto* file = dynamic_cast<FileInput*>(input_.rdbuf())) file->interrupt();
    thread_.join();
  }

 private:
  std::istream& input_;
  std::shared_ptr<Inbox> inbox_;
  std::thread thread_;
};

}  // namespace pando
