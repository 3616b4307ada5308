/* SPDX-License-Identifier: Apache-2.0
 *
 * Speeds, measured apart from the runs: these may have been trained side by side, on different days
 * and by different numbers of threads. Each attention's training step is timed in turn, a b c, then
 * c b a, then b c a …, in rounds, alone on all threads: what slows the machine for a while slows a
 * whole round, and ratios within a round do not show it (statistics/rounds.c makes the intervals).
 * speed.json in the comparison's folder has the rounds, with a checksum.
 */
#ifndef ORTHANT_SPEED_H
#define ORTHANT_SPEED_H

#include "compare/comparison_session.h"

/* Fills rounds, speed_machine and step_seconds of the comparison, whose runs have ended: from the
 * file, if it has all attentions of the comparison and is of a machine like this one with as many
 * threads, else by measuring, and then the file is written. Attentions of which no run was finished
 * have no speed. OA_INTERRUPTED when a stop is asked for; OA_FORMAT when the file was changed,
 * OA_ARGUMENT when it is another comparison's. */
enum oa_error oa_comparison_speeds(struct comparison_session *t);

/* The entry that is timed at a place of a round: every other round goes backwards, and each two
 * begin with another one. */
int oa_speed_turn(int place, int round, int count);

/* Timed steps of a slot, of which one takes `step` seconds: as many as fill a twentieth of a
 * second, 3 to 64. Where `training`, the time of all runs, is short, the steps of the 7 slots that
 * each of `count` attentions must have take no longer than that, as far as 3 steps each allow. */
long oa_speed_steps(double training, int count, double step);

#endif
