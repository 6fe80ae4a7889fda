/* `ragno export DIR KIND`: what a crawl holds, in formats that other programs read.
 *
 * What: hands the arguments to the kind: export.h, command/text/text_export.h,
 * command/part/part_command.h or command/wacz/wacz_export.h.
 * Threads: main. */
#ifndef COMMAND_EXPORT_EXPORT_H
#define COMMAND_EXPORT_EXPORT_H

/* Runs the command with argv[0] = "export". Exit status: that of the kind. */
int export_main(int argc, char **argv);

#endif
