"""As many threads of XLA as THREADS says (1; any other number: all). To import before JAX."""
import os

import steps

if steps.THREADS == 1:  # XLA sizes its pool of threads by the processors that it may run on
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}"
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
