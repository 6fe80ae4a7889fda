/* `ragno export DIR links|hosts|pages`: PageDB as TSV, CSV or JSON Lines
 * (command/export/page_export.h). */
#ifndef COMMAND_EXPORT_EXPORT_H
#define COMMAND_EXPORT_EXPORT_H

/* Runs the command with argv[0] = "export". Exit status: 0 done, 2 wrong usage, 3 cannot be read or
 * written, 17 damaged or another format version. */
int export_main(int argc, char **argv);

#endif
