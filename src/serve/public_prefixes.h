// Beginnings of prompts that all API keys share.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pando/model.h"

namespace pando::serve {

// Immutable; any thread.
class PublicPrefixes {
 public:
  // Texts by name: as the beginning of a prompt, and as the system message of a conversation where
  // the model has a chat template for it. Errors: kInvalidArgument for an empty one and for one
  // behind which a context of so many tokens has no room, and those of Model::encode.
  static Result<PublicPrefixes> make(const Model& model,
                                     const std::map<std::string, std::string>& texts,
                                     size_t context);

  // The one of this name; null where it is empty. Errors: kInvalidArgument for one that is not
  // known.
  struct Prefix {
    std::string name;
    std::vector<std::vector<Token>> forms;
  };
  Result<const Prefix*> find(const std::string& name) const;

  // How many of a prompt's first tokens are the prefix's. The last ones may differ, where text and
  // what follows it become one token. Errors: kInvalidArgument where it is less than half of them.
  static Result<size_t> n_public(const Prefix& prefix, const std::vector<Token>& prompt);

 private:
  std::map<std::string, Prefix> prefixes_;
};

}  // namespace pando::serve
