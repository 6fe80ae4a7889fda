/* The main text of a page: without navigation, header, footer and sidebars.
 *
 * What: the method is Kohlschuetter's, "Boilerplate Detection using Shallow Text Features"
 * (Kohlschuetter, Fankhauser, Nejdl, WSDM 2010): the rules over word counts and link densities of a
 * block and its two neighbours (figure 4 there, the NumWords/LinkDensity classifier) say which
 * blocks are surely content. Documents have short blocks that are content as well: headings, cells,
 * lines of code. So, as in the methods that look for the densest part of the tree (Sun, Song, Liao,
 * "DOM Based Content Extraction via Text Density", SIGIR 2011), the innermost element that holds
 * nearly all of the sure content is the main part; what is in it is main text, but for its own
 * elements of navigation: those that say so (<nav>, <aside>, role), and those that are links for
 * the most part and hold no sure content.
 *
 * A page that says what its main part is (<main>, role="main") is believed when that part has text.
 * A page without sure content (a list of links) has as main text all that is in no element of
 * navigation.
 *
 * How well it does: tests/interop/main_text.py, on pages of more than 20 generators.
 * Owns: nothing; scratch memory is the caller's.
 * Threads: pure. */
#pragma once

#include "base/memory/buffer.h"
#include "parse/visible/visible_lines.h"

/* What is counted of a block; the sums are over all blocks before it. */
typedef struct VisibleBlockFacts {
    uint32_t words;
    uint32_t bytes; /* without white space at its ends */
    uint32_t link_bytes;
    bool sure;  /* content by its features */
    bool aside; /* in an element of navigation */
    bool keep;
    uint64_t sure_before;
    uint64_t bytes_before;
    uint64_t links_before;
} VisibleBlockFacts;

typedef struct VisibleMain {
    VisibleBlockFacts *facts; /* owned, one for each block of the page and one behind them */
    Buffer text;              /* the main text */
} VisibleMain;

void visible_main_init(VisibleMain *main);
void visible_main_destroy(VisibleMain *main);
/* Forgets the page before, and gives memory back beyond keep_bytes. */
void visible_main_begin(VisibleMain *main, size_t keep_bytes);
/* Finds the main text in a text whose blocks and areas are in marks. RESULT_MEMORY. */
Result visible_main_find(VisibleMain *main, const char *text, const VisibleMarks *marks);
