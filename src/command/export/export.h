/* `ragno export DIR KIND`: what a crawl holds, in formats that other programs read.
 *
 * What: hands the arguments to the kind: export.h, command/text/text_export.h,
 * command/part/part_command.h or command/wacz/wacz_export.h.
 * Threads: main. */
#pragma once

/* `ragno export DIR captures`: an index of the archive, in the columns of Common Crawl's.
 *
 * What: a row for each answer and each revisit record, in the order of the files: where it is, what
 * it is, and what the text is, for programs that search an archive by columns (DuckDB, Spark). The
 * names and forms are those of Common Crawl's columnar index as far as it has the column (a digest
 * of SHA-1 is bare, a language is three letters); usage, record_id and ip are our own. A column
 * that an answer has no value for is empty. The charset and the language (CLD2, where it is
 * installed) are those of documents; of a revisit whose payload is in another archive they are
 * empty. */

/* Runs the command with argv[0] = "export". Exit status: that of the kind. */
int export_main(int argc, char **argv);
