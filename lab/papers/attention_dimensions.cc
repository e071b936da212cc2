#include "lab/papers/attention_dimensions.h"

namespace pando::lab {
namespace {

// A pass computes the token behind t earlier ones, t from 0 to answer - 1; the first answer token
// comes from the prefill.
double n_decodes(const QaShape& shape) { return shape.answer - 1.0; }
double mean_answer(const QaShape& shape) { return shape.answer / 2.0; }

}  // namespace

AttentionDimensions prefix_cached_dimensions(const QaShape& shape) {
  const double m = shape.questions, path = shape.instruction + shape.context + shape.question;
  AttentionDimensions d{.prefill_q = path,
                        .prefill_kv = path,
                        .next_q = static_cast<double>(shape.question),
                        .next_kv = path,
                        .prefills = m,
                        .decode_q = 1,
                        .decode_kv = path + mean_answer(shape),
                        .decodes = m * n_decodes(shape)};
  d.reads = d.prefill_kv + (m - 1) * d.next_kv + d.decodes * d.decode_kv;
  d.products = path * path + (m - 1) * d.next_q * d.next_kv + d.decodes * d.decode_q * d.decode_kv;
  return d;
}

AttentionDimensions stacked_dimensions(const QaShape& shape) {
  const double m = shape.questions;
  const double header = shape.instruction + shape.context + m * shape.question;
  AttentionDimensions d{.prefill_q = header,
                        .prefill_kv = header,
                        .next_q = 0,
                        .next_kv = 0,
                        .prefills = 1,
                        .decode_q = m,
                        .decode_kv = header + m * mean_answer(shape),
                        .decodes = n_decodes(shape)};
  d.reads = d.prefill_kv + d.decodes * d.decode_kv;
  d.products = header * header + d.decodes * d.decode_q * d.decode_kv;
  return d;
}

AttentionDimensions tree_dimensions(const QaShape& shape) {
  AttentionDimensions d = stacked_dimensions(shape);
  const double m = shape.questions, shared = shape.instruction + shape.context;
  const double path = shared + shape.question;
  d.products =
      shared * shared + m * shape.question * path + d.decodes * m * (path + mean_answer(shape));
  return d;
}

}  // namespace pando::lab
