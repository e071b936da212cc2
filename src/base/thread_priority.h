// Who goes first where more threads want to run than there are processors. On Linux only;
// elsewhere, and where the system says no, nothing happens.
#pragma once

namespace pando {

// Of the calling thread: adds to its niceness (0 to 19), which cannot be taken back. Threads that
// it starts later begin with the same.
void lower_priority(int by);
// The same for threads of a pool that others started: what comes after a thread's first call does
// nothing.
void lower_priority_once(int by);

// For a thread that does a little and sleeps again: the scheduler (EEVDF, since Linux 6.12) lets it
// run sooner after it wakes, in slices of 0.1 ms. Threads that it starts later do not inherit this.
void ask_for_short_slices();

}  // namespace pando
