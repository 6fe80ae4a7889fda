/* `ragno [crawl]`: the command line of a crawl. */
#ifndef CRAWL_H
#define CRAWL_H

int crawl_main(int argc, char **argv);
/* `ragno --help`: fits a screen. */
void crawl_usage(void);

#endif
