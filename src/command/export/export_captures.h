/* `ragno export DIR captures`: an index of the archive, in the columns of Common Crawl's.
 *
 * What: a row for each answer and each revisit record, in the order of the files: where it is, what
 * it is, and what the text is, for programs that search an archive by columns (DuckDB, Spark). The
 * names are those of Common Crawl's columnar index as far as it has the column; record_id and ip
 * are our own. A column that an answer has no value for is empty. The charset and the language
 * (CLD2, where it is installed) are those of documents; of a revisit whose payload is in another
 * archive they are empty.
 * Threads: main.
 * Errors: as text_export.h.
 * Source: the schema of Common Crawl's index table (cc-index-table). */
#ifndef COMMAND_EXPORT_EXPORT_CAPTURES_H
#define COMMAND_EXPORT_EXPORT_CAPTURES_H

/* argv: "export", DIR, "captures" and options in any order. Returns the exit status. */
int export_captures_main(int argc, char **argv);

#endif
