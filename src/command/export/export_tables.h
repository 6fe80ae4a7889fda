/* `ragno export DIR links|hosts|pages`: PageDB as TSV, CSV or JSON Lines.
 *
 * What: the command line of page_export.h.
 * Threads: main. */
#ifndef COMMAND_EXPORT_EXPORT_TABLES_H
#define COMMAND_EXPORT_EXPORT_TABLES_H

/* argv: "export", DIR, the kind and options in any order. Exit status: 0 done, or the reader of the
 * output has closed it; 2 usage; 3 cannot be read or written; 17 damaged or of another format
 * version. */
int export_tables_main(int argc, char **argv);

#endif
