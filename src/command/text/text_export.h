/* `ragno export DIR text`: the texts of a crawl's archive, as JSON Lines or WET.
 *
 *   pieces of WARC files (text_jobs) -> threads: captures (text_source) -> texts (text_page) ->
 *   records (text_writer) -> in order again (text_order) -> output
 *
 * What: works on a finished or a running crawl. The order of the output is that of the archive,
 * however many threads there are. Memory does not grow with the archive: a few pages for each
 * thread, and TEXT_EXPORT_WAITING bytes that wait to be written.
 * Threads: as many as processors, or --threads; the caller's thread writes.
 * Errors: a damaged record costs that record, an unreadable file that file. Both are reported, and
 * the exit status is then EXIT_DIRECTORY or EXIT_IO although the rest was written. */
#ifndef COMMAND_TEXT_TEXT_EXPORT_H
#define COMMAND_TEXT_TEXT_EXPORT_H

/* argv: "export", DIR, "text" and options in any order. Returns the exit status. */
int text_export_main(int argc, char **argv);

/* For CommandOption.take, of the options that other exports of the archive have, too: of a
 * WallTime, and of a TextChoice. */
int text_take_time(void *to, const char *value);
int text_take_url(void *to, const char *value);
int text_take_host(void *to, const char *value);

#endif
