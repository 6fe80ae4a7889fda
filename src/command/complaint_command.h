/* `ragno complaint DIR URL|HOST|ADDRESS`: everything that an answer to a complaint needs.
 *
 * What: what was asked of the host, the page or the address, when, how fast, under which robots.txt
 * and why, from an audit of crawl.log; then a letter in plain words that can be sent as it is, with
 * times in UTC and the address that the requests came from. --deny stops the visits, --forget
 * erases what is kept; the letter says what was done.
 * Owns: nothing.
 * Threads: main.
 * Errors: exit status 0; 1 the audit found a breach of politeness (the letter says so); 2 usage;
 * 3 cannot be read; or what the erasure came to. */
#pragma once

int complaint_main(int argc, char **argv);
