/* What PageDB knows, as rows: pages, links, the graph of hosts.
 *
 * What: streaming. Memory does not grow with the number of links, and the host graph needs 4 bytes
 * of a temporary file for each page. Read transactions are short, so a running crawl may be
 * exported: the rows are then those of the pages that were known at the start, as they are when
 * their turn comes.
 *
 * Fields of pages: url index hash host status depth found score level n_crawls n_changes
 * first_crawl last_crawl linked_from content_hash, and of the stored answer: mime bytes title
 * language redirect warc_file warc_offset (page_answer.h; none of them without archive), and with
 * data_bytes canonical json_ld microdata opengraph hreflang (parse/visible/visible_data.h). found
 * is the letter of the discovery path (L link, R redirect, E embed, S sitemap, P robots, M manual),
 * times are ISO 8601, and what is not known is empty. linked_from of a page that another agent of a
 * cluster found is "agent A page INDEX", the row with that index in that agent's export.
 *
 * Fields of links: from to weight cross score kind rel. weight counts how often the link stands on
 * the page, cross is 1 when it leaves the domain, score is that of its target, kind is the word of
 * `ragno check links` for what it is ("a", "img", ...), rel its nofollow, ugc and sponsored. A link
 * of several kinds has a row for each. Rows ascend by (from, to).
 *
 * Fields of hosts: from to weight: origins, and how many links of the pages of the one go to those
 * of the other. Integer arcs (ids or arcs): pages are their indices 0..n-1, hosts their numbers
 * 0..n-1.
 *
 * A filter (where) is asked about each row: of pages about the page (its URL, depth, status, and as
 * source the page that it was found on); of links about the target, with the page that links as
 * source; of hosts about the URL "/" of the host that is linked to, and of the one that links.
 *
 * Owns: its transactions and temporary files.
 * Threads: one.
 * Errors: those of the database and of the file. */
#pragma once

#include "command/export/export_view.h"

/* RESULT_CLOSED: nobody reads the file any more; RESULT_IO, RESULT_FULL: of the file or a temporary
 * one; RESULT_DAMAGED: of the database; RESULT_MEMORY. */
Result page_export_pages(PageDB *db, const PageExportOptions *options);
/* Each link with the addresses of its ends. */
Result page_export_links(PageDB *db, const PageExportOptions *options);
