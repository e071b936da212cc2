// Forms with files, in pieces of any size.
#include "serve/multipart.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace pando::serve {
namespace {

constexpr const char* kFormHeader = "multipart/form-data; boundary=\"x y\"";

class Parts final : public FormSink {
 public:
  Status begin_part(const FormPart& part) override {
    text += "[" + part.name + (part.filename ? "|" + *part.filename : "") + "]";
    return {};
  }
  Status add_bytes(std::string_view bytes) override {
    text += bytes;
    return {};
  }

  std::string text;  // "[name|filename]bytes" of each part
};

// The parts of a body that comes in pieces of this size; or the error.
std::string parts_of(const std::string& body, size_t piece) {
  Parts parts;
  Result<MultipartReader> reader = MultipartReader::make(kFormHeader, parts);
  EXPECT_TRUE(reader.ok());
  for (size_t at = 0; at < body.size(); at += piece)
    if (const Status status = reader->add(std::string_view(body).substr(at, piece)); !status)
      return status.error().message();
  if (const Status status = reader->end(); !status) return status.error().message();
  return parts.text;
}

TEST(Multipart, PartsComeInPiecesOfAnySize) {
  const std::string body =
      "preamble\r\n--x y\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n"
      "--x y\r\ncontent-type: text/plain\r\ncontent-disposition: form-data; name=file; "
      "filename=\"a;\\\"b\\\".jsonl\"\r\n\r\n{}\r\n--x\r\n\r\n--x y\r\n"
      "Content-Disposition: form-data; name=\"empty\"\r\n\r\n\r\n--x y--\r\nepilogue";
  const std::string expected = "[purpose]batch[file|a;\"b\".jsonl]{}\r\n--x\r\n[empty]";
  for (size_t piece = 1; piece <= body.size(); ++piece)
    ASSERT_EQ(parts_of(body, piece), expected) << piece;
}

TEST(Multipart, FirstBoundaryMayStandAtTheBeginning) {
  EXPECT_EQ(parts_of("--x y\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--x y--", 64),
            "[a]1");
  EXPECT_EQ(parts_of("--x y--", 64), "");
}

TEST(Multipart, WhatIsNoFormIsAnError) {
  const std::string begin = "--x y\r\nContent-Disposition: form-data; name=a\r\n\r\n1";
  EXPECT_EQ(parts_of(begin, 64), "the form ends early, expected '--x y--' at its end");
  EXPECT_EQ(parts_of("--x y\r\nContent-Type: text/plain\r\n\r\n1\r\n--x y--", 64),
            "a part of the form has no name, expected 'Content-Disposition: form-data; "
            "name=\"...\"'");
  EXPECT_EQ(parts_of("--x yz\r\n", 64),
            "a boundary of the form is followed by 'z\\x0d', expected a line end");
  EXPECT_EQ(parts_of("--x y\r\n" + std::string(9000, 'h'), 64),
            "the headers of a part of the form have more than 8192 bytes");
}

TEST(Multipart, ContentTypeNeedsABoundary) {
  Parts parts;
  for (const char* type : {"application/json", "multipart/form-data", "multipart/form-data; b=1",
                           "multipart/form-data; boundary="})
    EXPECT_FALSE(MultipartReader::make(type, parts).ok()) << type;
  EXPECT_TRUE(MultipartReader::make("Multipart/Form-Data; Boundary=a", parts).ok());
}

}  // namespace
}  // namespace pando::serve
