#include "parse/visible/visible_marks.h"

#include <stdlib.h>
#include <string.h>

#include "parse/text/skim_scan.h"

void visible_marks_init(VisibleMarks *marks)
{
    memset(marks, 0, sizeof *marks);
}

void visible_marks_destroy(VisibleMarks *marks)
{
    free(marks->headings);
    free(marks->links);
    free(marks->blocks);
    free(marks->areas);
    visible_marks_init(marks);
}

void visible_marks_begin(VisibleMarks *marks, const char *markup)
{
    marks->markup = markup;
    marks->failed = false;
    marks->n_headings = 0;
    marks->n_links = 0;
    marks->n_blocks = 0;
    marks->n_areas = 0;
    marks->block_start = 0;
    marks->link_start = VISIBLE_NO_MARK;
    marks->link_bytes = 0;
}

/* Makes room for one more of n items; false when there may be no more, or memory ran out. */
static bool visible_marks_make_room(VisibleMarks *marks, void **items, size_t n, size_t *capacity,
                                    size_t most, size_t item_bytes)
{
    if (n < *capacity) {
        return true;
    }
    if (n >= most) {
        return false;
    }
    size_t wanted = *capacity == 0 ? 64 : 2 * *capacity;
    void *more = reallocarray(*items, wanted, item_bytes);
    if (more == NULL) {
        marks->failed = true;
        return false;
    }
    *items = more;
    *capacity = wanted;
    return true;
}

uint32_t visible_marks_heading(VisibleMarks *marks, size_t at, unsigned level)
{
    void *items = marks->headings;
    if (!visible_marks_make_room(marks, &items, marks->n_headings, &marks->headings_capacity,
                                 VISIBLE_HEADINGS_MAX, sizeof *marks->headings)) {
        return VISIBLE_NO_MARK;
    }
    marks->headings = items;
    marks->headings[marks->n_headings] =
        (VisibleMark){.start = (uint32_t)at, .end = (uint32_t)at, .value = level};
    return (uint32_t)marks->n_headings++;
}

void visible_marks_heading_end(VisibleMarks *marks, uint32_t heading, size_t at)
{
    if (heading != VISIBLE_NO_MARK) {
        marks->headings[heading].end = (uint32_t)at;
    }
}

uint32_t visible_marks_link(VisibleMarks *marks, size_t at, const char *href)
{
    if (marks->link_start == VISIBLE_NO_MARK) {
        marks->link_start = (uint32_t)at;
    }
    void *items = marks->links;
    if (!marks->wants_links ||
        !visible_marks_make_room(marks, &items, marks->n_links, &marks->links_capacity,
                                 VISIBLE_LINKS_MAX, sizeof *marks->links)) {
        return VISIBLE_NO_MARK;
    }
    marks->links = items;
    marks->links[marks->n_links] = (VisibleMark){
        .start = (uint32_t)at, .end = (uint32_t)at, .value = (uint32_t)(href - marks->markup)};
    return (uint32_t)marks->n_links++;
}

void visible_marks_link_end(VisibleMarks *marks, uint32_t link, size_t at)
{
    if (marks->link_start != VISIBLE_NO_MARK) {
        marks->link_bytes += (uint32_t)at - marks->link_start;
        marks->link_start = VISIBLE_NO_MARK;
    }
    if (link != VISIBLE_NO_MARK) {
        marks->links[link].end = (uint32_t)at;
    }
}

uint32_t visible_marks_area(VisibleMarks *marks, uint32_t parent, HtmlTagId id, VisibleRole role)
{
    void *items = marks->areas;
    if (!marks->wants_blocks ||
        !visible_marks_make_room(marks, &items, marks->n_areas, &marks->areas_capacity,
                                 VISIBLE_AREAS_MAX, sizeof *marks->areas)) {
        return parent;
    }
    marks->areas = items;
    marks->areas[marks->n_areas] =
        (VisibleArea){.parent = parent,
                      .first_block = (uint32_t)marks->n_blocks,
                      .end_block = (uint32_t)marks->n_blocks,
                      .id = (uint8_t)id,
                      .role = (uint8_t)role,
                      .is_header = id == HTML_HEADER || id == HTML_FOOTER};
    return (uint32_t)marks->n_areas++;
}

void visible_marks_area_end(VisibleMarks *marks, uint32_t area)
{
    if (area != VISIBLE_NO_MARK) {
        marks->areas[area].end_block = (uint32_t)marks->n_blocks;
    }
}

void visible_marks_block(VisibleMarks *marks, size_t at, uint32_t area)
{
    if (!marks->wants_blocks || at <= marks->block_start) {
        return;
    }
    uint32_t link_bytes = marks->link_bytes;
    if (marks->link_start != VISIBLE_NO_MARK) {
        link_bytes += (uint32_t)at - marks->link_start;
        marks->link_start = (uint32_t)at;
    }
    void *items = marks->blocks;
    if (visible_marks_make_room(marks, &items, marks->n_blocks, &marks->blocks_capacity,
                                VISIBLE_BLOCKS_MAX, sizeof *marks->blocks)) {
        marks->blocks = items;
        marks->blocks[marks->n_blocks++] = (VisibleBlock){.start = marks->block_start,
                                                          .end = (uint32_t)at,
                                                          .link_bytes = link_bytes,
                                                          .area = area};
    }
    marks->block_start = (uint32_t)at;
    marks->link_bytes = 0;
}

void visible_marks_trim(const char *text, uint32_t *start, uint32_t *end)
{
    while (*start < *end && (scan_class(text[*start]) & SCAN_SPACE) != 0) {
        (*start)++;
    }
    while (*end > *start && (scan_class(text[*end - 1]) & SCAN_SPACE) != 0) {
        (*end)--;
    }
}
