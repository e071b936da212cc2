// Uploads of files, as clients of OpenAI send them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "serve/client.h"

namespace pando::testing {

inline constexpr const char* kUploadType = "multipart/form-data; boundary=boundary-of-a-test";

struct Upload {
  std::string purpose = "batch";
  std::string filename = "in.jsonl";
  std::vector<std::pair<std::string, std::string>> fields = {};  // besides
};

// The body of an upload.
inline std::string form_of(const std::string& bytes, const Upload& upload) {
  std::string form;
  const auto add = [&](const std::string& head, const std::string& value) {
    form += "--boundary-of-a-test\r\nContent-Disposition: form-data; " + head + "\r\n\r\n" + value +
            "\r\n";
  };
  add("name=\"purpose\"", upload.purpose);
  for (const auto& [name, value] : upload.fields) add("name=\"" + name + "\"", value);
  add("name=\"file\"; filename=\"" + upload.filename + "\"", bytes);
  return form + "--boundary-of-a-test--\r\n";
}

inline Answer upload(Client& client, const std::string& bytes, const Upload& upload = {},
                     const std::string& key = "") {
  return client.ask("POST", "/v1/files", form_of(bytes, upload), key, kUploadType);
}

}  // namespace pando::testing
