// Values in a file of torch.save: an archive of ZIP whose entries are not compressed.
#pragma once

#include <vector>

#include "base/model_path.h"
#include "pando/values/result.h"

namespace pando::model {

// The storages data/0, data/1, ... of the archive, in this order, as f32. The pickle beside them,
// which names tensors, is not run: a caller knows the tensors by their sizes. kUnsupported for
// files of another form, and for numbers that are neither f32, f16 nor bf16, all of one type.
Result<std::vector<std::vector<float>>> read_torch_storages(const ModelPath& path);

}  // namespace pando::model
