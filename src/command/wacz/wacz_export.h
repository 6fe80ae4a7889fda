/* `ragno export DIR wacz`: a crawl's archive, or a part of it, in one WACZ file that viewers open.
 *
 * What: the file is a ZIP file (store/zip/zip_writer.h) with
 *
 *   archive/data.warc.gz      the records (command/part/part_command.h), compressed by gzip
 *   indexes/index.cdx.gz      their CDXJ lines, sorted, in pieces of WACZ_LINES lines
 *   indexes/index.idx         where each piece is, and its digest
 *   pages/pages.jsonl         the documents, with their titles and, by option, their texts
 *   datapackage.json          the name, size and SHA-256 of each of these
 *   datapackage-digest.json   the SHA-256 of that
 *
 * A file that cannot be completed is removed. Memory does not grow with the archive but for a line
 * of index.idx for each WACZ_LINES captures.
 * Threads: main; the workers of command/text/text_run.h.
 * Source: WACZ 1.1.1. */
#pragma once

/* Runs the command. Exit status: 0, 2 usage, 3 a file cannot be read or written, 17 records were
 * damaged and passed over. */
int wacz_export_main(int argc, char **argv);
