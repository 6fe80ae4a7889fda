/* `ragno db DIR COMMAND ...`: looks into a page database from the command line.
 *
 * What: DIR is a crawl directory (the database is DIR/crawl.mdb) or the database itself. It is
 * opened for reading only, so a running crawl is not disturbed; every command sees one snapshot.
 * Data goes to standard output, one record a line, tab separated; everything else goes to standard
 * error.
 * Threads: main.
 * Errors: exit status 0 done; 1 no such page or host; 2 wrong usage; 3 input/output error; 17 wrong
 * format version, or damaged. */
#pragma once

/* argv[0] = "db", argv[1] = DIR or --help. Returns the exit status. */
int db_main(int argc, char **argv);
