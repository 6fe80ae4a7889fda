/* `ragno why DIR URL`: everything about one URL.
 *
 * What: opens the sources of why/why.h and prints its answer as text or JSON.
 * Threads: main. */
#pragma once

/* argv[0] is "why". Returns the exit status: 1 when the URL is unknown. */
int why_main(int argc, char **argv);
