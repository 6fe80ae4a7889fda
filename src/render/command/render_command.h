/* ragno render DIR: renders what a finished or stopped crawl has, offline.
 *
 *   each stored page --judged again--> job --render_desk.h--> import_store.h: parsed, committed
 *
 * What: pages that were fetched before render.mode was on are judged by their answers in the
 * archive; jobs that the crawl left behind are done, too. render.share does not hold. What pages
 * lack is scheduled, and they wait until the crawl has gone on.
 * Threads: main, and those of the desk and of import_store.h.
 * Errors: exit statuses (crawl/exit_status.h). */
#pragma once

int render_main(int argc, char **argv);
