// Finds the files of a model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pando/values/result.h"

namespace pando {

// The directory or GGUF file that `name` means: a path, or a hub id "org/name" whose files the
// hub's own tools have put in `hub_cache` before (models--org--name/snapshots/<what refs/main
// says>). "org/name/file.gguf" is one file of it. A directory that has no config.json and one GGUF
// file means that file. A folder models--org--name means the snapshot of refs/main, or else its
// only snapshot. Nothing is fetched. The message of kNotFound lists the places that were searched.
Result<std::filesystem::path> find_model(const std::string& name,
                                         const std::filesystem::path& hub_cache);

// Does the same for a tokenizer. It may also be a file by itself: tokenizer.json, tekken.json or
// tokenizer.model.
Result<std::filesystem::path> find_tokenizer(const std::string& name,
                                             const std::filesystem::path& hub_cache);

// The files of a model or tokenizer that Pando reads, sorted, with those of the folders that
// modules.json names. `path`: from find_model or find_tokenizer. A tokenizer's file includes the
// files that are read beside it. Error: kIo.
Result<std::vector<std::filesystem::path>> files_of_model(const std::filesystem::path& path);

// A hash that tells the files of one model from those of another. It covers all names and sizes,
// whole small files, and 256 evenly spread pieces of 4 KiB of large files (more than 64 MiB).
// `path`: as for files_of_model. Errors: kIo, kNotFound.
Result<uint64_t> model_fingerprint(const std::filesystem::path& path);

}  // namespace pando
