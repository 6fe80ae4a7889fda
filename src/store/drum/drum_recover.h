/* What drum_open does with the bucket files of an earlier run.
 *
 * What: files that are merged already, or that the owner's last commit does not know of, are
 * removed. Torn tails are cut off. What is damaged is counted, and set aside when not even its
 * header can be read. What remains is lined up for its merge.
 * Threads: the one that opens the Drum.
 * Errors: those of drum_open. */
#ifndef STORE_DRUM_DRUM_RECOVER_H
#define STORE_DRUM_DRUM_RECOVER_H

#include "store/drum/drum_generation.h"

/* Adds what the directory holds to sealed, also before an error, and makes the generation that
 * collects next. */
Result drum_recover(int directory, const DrumOptions *options, DrumGenerations *sealed,
                    DrumGeneration **collecting, DrumRecovery *recovery);

#endif
