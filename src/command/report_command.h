/* `ragno report DIR`: what a crawl came to, as text or as one HTML file.
 *
 * What: gathers the report (report/gather) and writes it (report/tell).
 * Threads: main. */
#pragma once

/* argv[0] is "report". Returns the exit status. */
int report_main(int argc, char **argv);
