// Priority of threads when more want to run than there are processors. Linux only; elsewhere, or if
// the system refuses, nothing happens.
#pragma once

namespace pando {

// Adds to the niceness of the calling thread (0 to 19). This cannot be taken back. Threads that it
// starts later inherit it.
void lower_priority(int by);
// Does the same for a thread of a pool that others started; only the first call of a thread counts.
void lower_priority_once(int by);

// For a thread that does a little and sleeps again: the scheduler (EEVDF, since Linux 6.12) lets it
// run sooner after it wakes, in slices of 0.1 ms. Threads that it starts later do not inherit this.
void ask_for_short_slices();

}  // namespace pando
