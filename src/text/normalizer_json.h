// "normalizer" of a tokenizer.json.
#pragma once

#include "text/json_file.h"
#include "text/normalizer.h"

namespace pando {

Result<Normalizer> read_normalizer(const JsonPlace& place);

}  // namespace pando
