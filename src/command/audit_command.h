/* `ragno audit DIR`: proves from crawl.log that a crawl was polite, and answers complaints.
 *
 * What: audit/audit.h does the work; this command reads the options and prints the verdict.
 * Threads: main.
 * Errors: exit status 0 no breach; 1 a breach; 2 usage; 3 there is no log, or not
 * all of it can be read. */
#pragma once

/* argv[0] is "audit". Returns the exit status: 0 no breach, 1 a breach, 2 wrong usage, 3 no log,
 * or one that cannot be read to its end. */
int audit_main(int argc, char **argv);
