/* `ragno export DIR links|hosts|pages`: PageDB as TSV, CSV or JSON Lines (page_export.h). */
#ifndef COMMAND_EXPORT_EXPORT_TABLES_H
#define COMMAND_EXPORT_EXPORT_TABLES_H

/* argv: "export", DIR, the kind and options in any order. Exit status: 0 done, or nobody reads any
 * more; 2 wrong usage, 3 cannot be read or written, 17 damaged or another format version. */
int export_tables_main(int argc, char **argv);

#endif
