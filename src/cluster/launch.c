/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cluster.h"

#include <stdlib.h>

/* Open MPI's mpirun; mpiexec of MPICH and what speaks PMI; srun. A batch script of Slurm that calls
 * the program itself has SLURM_NTASKS, too, but is no step. */
static const char *const sizes[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS" };

long oa_launched_ranks(void)
{
    long most = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *text = getenv(sizes[i]);
        most = oa_max(most, text ? strtol(text, NULL, 10) : 0);
    }
    return most;
}
