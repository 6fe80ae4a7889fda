/* `ragno export DIR links|hosts|pages`: PageDB as TSV, CSV or JSON Lines (store/page_export.h). */
#ifndef EXPORT_H
#define EXPORT_H

/* Runs the command with argv[0] = "export". Exit status: 0 done, 2 wrong usage, 3 cannot be read or
 * written, 17 damaged or another format version. */
int export_main(int argc, char **argv);

#endif
