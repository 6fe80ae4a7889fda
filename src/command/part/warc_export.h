/* `ragno export DIR warc`: a part of a crawl's archive, as one WARC file.
 *
 * What: the records of captures that the command line wants (part_copy.h), to a file or standard
 * output, with a summary on standard error.
 * Threads: main. */
#ifndef COMMAND_PART_WARC_EXPORT_H
#define COMMAND_PART_WARC_EXPORT_H

/* Runs the command. Exit status: 0 also when `| head` has had enough; 2 usage; 3 a file cannot be
 * read or written; 17 records were damaged and passed over. */
int warc_export_main(int argc, char **argv);

#endif
