// The stream of one answer, as replicas send it: whole events pass, and the tokens that they stand
// for are remembered, so that another replica can go on where one broke off.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/values/result.h"
#include "pando/values/token.h"

namespace pando::serve {

// A replica tells the tokens of an event in a comment before its blocks: ": tokens REQUEST CHOICE
// ID ...". A *unit* is such a comment and the blocks up to the next one; the blocks before the
// first comment are the stream's head, a unit too. A unit is whole once the next one begins. The
// unit in which a stream breaks off is asked for again, and what had been passed on of it must come
// with the same bytes, but for counts of tokens. One thread.
class EventFilter {
 public:
  // Takes the next bytes of the stream. Returns those to pass on: whole blocks, without comments
  // about tokens, and without repeated bytes. Errors: kInternal if another replica goes on with
  // other bytes.
  Result<std::string> take(std::string_view bytes);
  // The stream is over. Errors: kInternal if it ends in the middle.
  Status finish() const;

  // The stream broke off; what take() gets next comes from a replica that was sent begun().
  void restart();
  // Value of "pando_begun" for another replica: tokens of the whole units. Empty if the stream must
  // come from its beginning.
  std::string begun() const;

  // A token, or the end of the head, has come.
  bool has_begun() const { return has_comment_; }
  // The reason why the replica ends the stream early: it shuts down or has failed. Empty: it does
  // not. The block with the reason is not passed on.
  const std::string& failure() const { return failure_; }

 private:
  struct AnswerPlace {
    uint32_t request = 0, choice = 0;
    auto operator<=>(const AnswerPlace&) const = default;
  };
  struct Unit {
    std::vector<Token> tokens;
    std::string passed;  // bytes of its blocks that were passed on
  };
  Status take_comment(std::string_view comment);
  Status take_block(std::string_view block, std::string& passed);

  std::string rest_;                                 // of a block that is not whole
  size_t searched_ = 0;                              // bytes of it
  std::map<AnswerPlace, std::vector<Token>> whole_;  // tokens of whole units
  std::map<AnswerPlace, Unit> broken_;               // broken off, and not come again
  Unit open_;
  std::optional<AnswerPlace> open_of_;  // none: head
  size_t n_repeated_ = 0;               // bytes of open_.passed that this stream has repeated
  bool has_comment_ = false;
  std::string failure_;
};

// The text of an object with the field "pando_begun" before its others.
std::string with_begun(std::string_view object, std::string_view begun);

// True if these bytes end a stream in one of the API's forms: nothing follows.
bool ends_stream(std::string_view blocks);

}  // namespace pando::serve
