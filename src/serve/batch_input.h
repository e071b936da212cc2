// The input of a batch: a file with a request in each line.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/json.h"
#include "pando/values/result.h"
#include "serve/http.h"

namespace pando::serve {

// Paths that the lines of a batch may ask.
std::span<const std::string_view> batch_endpoints();

struct BatchLine {
  std::string custom_id;
  std::string body;  // JSON
};

// Why a batch is refused.
struct BatchProblem {
  std::string code, message;
  uint64_t line = 0;  // from 1; 0: none
  std::string param;  // the field to blame; empty: none
  Json json() const;
};

class BatchInput {
 public:
  struct Options {
    std::string endpoint;
    size_t max_line_bytes;
    // Why requests for this model are refused; empty: they are not.
    std::function<std::string(const std::string& model)> not_served;
    bool checks = true;  // false: the lines were checked before
  };
  static constexpr size_t kMostLines = 50'000, kMostProblems = 20;

  // kIo.
  static Result<std::unique_ptr<BatchInput>> open(const std::string& path, Options options);

  // Reads this many bytes on. True: all is read, or there are too many problems. kIo.
  Result<bool> scan(size_t n_bytes);
  const std::vector<BatchProblem>& problems() const { return problems_; }

  size_t n_lines() const { return lines_.size(); }  // that are not empty
  // kIo; kBadFile for a line that was not checked, or has changed.
  Result<BatchLine> line(size_t index) const;

 private:
  struct Place {
    uint64_t begin = 0, n_bytes = 0;
  };
  BatchInput(int file, Options options) : file_(file, 0), options_(std::move(options)) {}
  void take_line(std::string_view text);
  void check(std::string_view text);
  void check_object(const Json& line);
  void check_body(const Json& body);
  void add_problem(const char* code, std::string message, std::string param = "");
  void end();

  const FileContents file_;
  const Options options_;
  std::vector<Place> lines_;
  std::vector<BatchProblem> problems_;
  std::unordered_set<std::string> custom_ids_;  // while lines are checked
  std::string rest_;                            // beginning of a line
  uint64_t n_read_ = 0, line_begin_ = 0;        // bytes
  uint64_t line_number_ = 0;                    // of the last line, from 1
};

}  // namespace pando::serve
