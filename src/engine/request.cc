#include "pando/values/request.h"

namespace pando {

const char* finish_reason_name(FinishReason reason) {
  return reason == FinishReason::kStop      ? "stop"
         : reason == FinishReason::kContext ? "context"
                                            : "length";
}

}  // namespace pando
