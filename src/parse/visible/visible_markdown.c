#include "parse/visible/visible_markdown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/ascii.h"

#define SPANS_MAX  32u /* within each other; what is deeper is plain */
#define BOXES_MAX  32u
#define TICKS_MAX  16u
#define WORD_BYTES 32u /* of the language of code */

/* Emphasis, code or a link. Its mark is written before its first word. */
typedef struct Span {
    const VisibleEdge *edge;
    bool is_open;
} Span;

/* What every line of it begins with: an item of a list, a quotation. */
typedef struct Box {
    uint8_t id;
    bool is_due; /* nothing of it was written yet */
    bool is_numbered;
    unsigned number; /* of a list: its next item's; of an item: its own */
} Box;

typedef struct Writer {
    const VisibleMarkdown *page;
    Buffer *out;
    size_t start;     /* of the page in out */
    unsigned breaks;  /* owed: 1, a line; 2, an empty one, too */
    unsigned heading; /* its level; 0: this is none */
    bool is_blank;    /* a space is owed */
    bool is_hard;     /* a line break is owed */
    bool at_start;    /* of a line: nothing was written behind its prefix */
    unsigned pre;     /* open elements */
    unsigned ticks;   /* of the code that is open */
    bool is_padded;   /* it begins or ends with one: there is a space between */
    unsigned layout;  /* open tables that are none of Markdown */
    unsigned tables;  /* the others */
    unsigned columns; /* of the row so far */
    unsigned width;   /* of the table: the columns of its longest row */
    bool in_cell;
    bool has_head; /* the table's first row was written */
    size_t n_spans;
    Span spans[SPANS_MAX];
    size_t n_boxes;
    Box boxes[BOXES_MAX];
} Writer;

static void put(Writer *w, const char *string)
{
    (void)buffer_append_string(w->out, string); /* its error sticks */
}

static void put_ticks(Writer *w, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        put(w, "`");
    }
}

/* The most backticks in a row up to the end of the element, and one more: what fences it. */
static unsigned ticks_of(Writer *w, const VisibleEdge *edge)
{
    const VisibleMarks *marks = w->page->marks;
    const VisibleEdge *last = edge + 1;
    while (last < marks->edges + marks->n_edges && (last->id != edge->id || !last->is_end)) {
        last++;
    }
    size_t end = last < marks->edges + marks->n_edges ? last->at : w->page->length;
    unsigned most = 0;
    unsigned run = 0;
    size_t first = edge->at;
    while (first < end && ascii_is_space(w->page->text[first])) {
        first++;
    }
    w->is_padded = first < end && (w->page->text[first] == '`' || w->page->text[end - 1] == '`');
    for (size_t i = edge->at; i < end; i++) {
        run = w->page->text[i] == '`' ? run + 1 : 0;
        most = run > most ? run : most;
    }
    return most < TICKS_MAX ? most + 1 : TICKS_MAX;
}

/* ---- lines ---- */

/* Begins a line: the marks of all that it is in; a blank one has no spaces at its end. */
static void begin_line(Writer *w, bool blank)
{
    if (w->out->length > w->start) {
        put(w, "\n");
    }
    for (size_t i = 0; i < w->n_boxes; i++) {
        Box *box = &w->boxes[i];
        if (box->id == HTML_BLOCKQUOTE) {
            if (!blank || !box->is_due) {
                put(w, blank ? ">" : "> ");
            }
            box->is_due = box->is_due && blank;
        } else if (box->id == HTML_LI && !blank) {
            int width = box->is_numbered ? snprintf(NULL, 0, "%u. ", box->number) : 2;
            if (!box->is_due) {
                (void)buffer_printf(w->out, "%*s", width, "");
            } else if (box->is_numbered) {
                (void)buffer_printf(w->out, "%u. ", box->number);
            } else {
                put(w, "- ");
            }
            box->is_due = false;
        }
    }
    w->at_start = true;
}

/* Writes what is owed before a word. */
static void settle(Writer *w)
{
    bool begins = w->breaks > 0 || w->out->length == w->start;
    if (begins) {
        if (w->breaks > 1 && w->out->length > w->start) {
            begin_line(w, true);
        }
        begin_line(w, false);
        for (unsigned i = 0; i < w->heading; i++) {
            put(w, i + 1 == w->heading ? "# " : "#");
        }
    } else if (w->is_hard) {
        put(w, "\\");
        begin_line(w, false);
    } else if (w->is_blank) {
        put(w, " ");
    }
    w->breaks = 0;
    w->is_hard = false;
    w->is_blank = false;
}

/* ---- spans ---- */

static const char *span_mark(uint8_t id)
{
    return id == HTML_B || id == HTML_STRONG ? "**" : "*";
}

static HtmlSlice attribute_of(const Writer *w, const VisibleEdge *edge, const char *name)
{
    HtmlSlice value;
    (void)skim_value(edge->attributes, w->page->end, name, &value);
    return value;
}

/* The URL of a link. False: it leads nowhere. */
static bool put_target(Writer *w, const VisibleEdge *edge)
{
    HtmlSlice reference = attribute_of(w, edge, "href");
    return reference.length > 0 && w->page->resolve(w->page->context, reference, w->out);
}

static void open_spans(Writer *w)
{
    for (size_t i = 0; i < w->n_spans; i++) {
        Span *span = &w->spans[i];
        if (!span->is_open && w->ticks == 0) {
            span->is_open = true;
            if (span->edge->id == HTML_CODE) {
                w->ticks = ticks_of(w, span->edge);
                put_ticks(w, w->ticks);
                put(w, w->is_padded ? " " : "");
            } else {
                put(w, span->edge->id == HTML_A ? "[" : span_mark(span->edge->id));
            }
        }
    }
}

static void close_span(Writer *w, Span *span)
{
    if (!span->is_open) {
        return;
    }
    span->is_open = false;
    if (span->edge->id == HTML_CODE) {
        put(w, w->is_padded ? " " : "");
        put_ticks(w, w->ticks);
        w->ticks = 0;
    } else if (span->edge->id == HTML_A) {
        put(w, "](");
        (void)put_target(w, span->edge);
        put(w, ")");
    } else {
        put(w, span_mark(span->edge->id));
    }
}

static void close_spans(Writer *w, size_t from)
{
    for (size_t i = w->n_spans; i > from; i--) {
        close_span(w, &w->spans[i - 1]);
    }
}

/* Whether an element is a span, as which it begins. */
static bool is_span(uint8_t id)
{
    return id == HTML_A || id == HTML_B || id == HTML_STRONG || id == HTML_I || id == HTML_EM ||
           id == HTML_CODE;
}

static void take_span(Writer *w, const VisibleEdge *edge)
{
    size_t before = w->out->length;
    if (!edge->is_end) {
        bool is_plain = edge->id == HTML_A && !put_target(w, edge);
        w->out->length = before;
        for (size_t i = 0; i < w->n_spans; i++) {
            is_plain |= w->spans[i].edge->id == edge->id;
        }
        if (w->pre == 0 && !is_plain && w->n_spans < SPANS_MAX) {
            w->spans[w->n_spans++] = (Span){.edge = edge};
        }
        return;
    }
    for (size_t i = w->n_spans; i > 0; i--) {
        if (w->spans[i - 1].edge->id == edge->id) {
            close_spans(w, i - 1);
            w->n_spans--;
            memmove(&w->spans[i - 1], &w->spans[i], (w->n_spans - (i - 1)) * sizeof *w->spans);
            return;
        }
    }
}

/* ---- words ---- */

/* Whether Markdown would take the character at p for markup, in a word. */
static bool is_markup(const Writer *w, const char *from, const char *p, const char *end)
{
    char next = p + 1 < end ? p[1] : ' ';
    switch (*p) {
    case '\\':
    case '`':
    case '*':
    case '[':
    case ']':
    case '<':
    case '|':
    case '_':
        return true;
    case '&':
        return ascii_is_letter(next) || next == '#';
    case '+':
    case '-':
        return w->at_start && (next == ' ' || next == *p);
    case '#':
    case '=':
    case '>':
    case '~':
        return w->at_start;
    case '.':
    case ')':
        return w->at_start && p > from && next == ' '; /* behind digits */
    default:
        return false;
    }
}

static void put_word(Writer *w, const char *p, const char *end)
{
    settle(w);
    open_spans(w);
    for (const char *from = p; p < end; p++) {
        if (w->ticks == 0 && is_markup(w, from, p, end)) {
            put(w, "\\");
        } else if (w->ticks > 0 && w->in_cell && *p == '|') {
            put(w, "\\"); /* cells end in code, too */
        }
        (void)buffer_append_char(w->out, *p);
        w->at_start = w->at_start && ascii_is_digit(*p);
    }
    w->at_start = false;
}

static void put_code(Writer *w, const char *p, const char *end)
{
    for (; p < end; p++) {
        if (*p == '\n') {
            w->breaks++; /* those at its end are none */
            continue;
        }
        for (; w->breaks > 0; w->breaks--) {
            begin_line(w, w->breaks > 1);
        }
        w->at_start = false;
        (void)buffer_append_char(w->out, *p);
    }
}

static void take_text(Writer *w, const char *p, const char *end)
{
    if (w->pre > 0) {
        /* What separates the block from the text before it is none of it. */
        while (w->at_start && p < end && *p == '\n') {
            p++;
        }
        put_code(w, p, end);
        return;
    }
    while (p < end) {
        const char *word = p;
        while (p < end && !ascii_is_space(*p)) {
            p++;
        }
        if (p > word && (w->tables == 0 || w->in_cell || w->columns == 0)) {
            put_word(w, word, p);
        }
        for (; p < end && ascii_is_space(*p); p++) {
            bool feeds = *p == '\n' && !w->in_cell && w->heading == 0 && w->ticks == 0;
            w->is_hard |= feeds;
            w->is_blank = !w->at_start;
        }
    }
}

/* ---- blocks ---- */

static void end_paragraph(Writer *w, unsigned breaks)
{
    if (w->in_cell) {
        w->is_blank = true;
        return;
    }
    close_spans(w, 0);
    bool is_first = w->n_boxes > 0 && w->boxes[w->n_boxes - 1].is_due;
    breaks = is_first && w->breaks > 0 ? w->breaks : breaks;
    w->breaks = breaks > w->breaks ? breaks : w->breaks;
    w->is_hard = false;
    w->is_blank = false;
}

/* Whether the cells of a table hold lines of text alone; and how many there are in a row. */
static bool is_data(Writer *w, const VisibleEdge *table)
{
    const VisibleEdge *end = w->page->marks->edges + w->page->marks->n_edges;
    unsigned rows = 0;
    unsigned columns = 0;
    w->width = 0;
    for (const VisibleEdge *edge = table + 1; edge < end; edge++) {
        bool has_blocks = edge->id == HTML_TABLE || edge->id == HTML_UL || edge->id == HTML_OL ||
                          edge->id == HTML_PRE || edge->id == HTML_BLOCKQUOTE ||
                          (edge->id >= HTML_H1 && edge->id <= HTML_H6);
        if (edge->id == HTML_TABLE && edge->is_end) {
            return rows > 1;
        }
        if (has_blocks) {
            return false;
        }
        rows += edge->id == HTML_TR && !edge->is_end ? 1 : 0;
        columns = edge->id == HTML_TR ? 0 : columns;
        columns += (edge->id == HTML_TD || edge->id == HTML_TH) && !edge->is_end ? 1 : 0;
        w->width = columns > w->width ? columns : w->width;
    }
    return rows > 1;
}

static void take_table(Writer *w, const VisibleEdge *edge)
{
    if (!edge->is_end) {
        end_paragraph(w, 2);
        bool data = w->tables == 0 && is_data(w, edge);
        w->tables += data ? 1 : 0;
        w->layout += data ? 0 : 1;
        w->has_head = false;
        w->columns = 0;
        return;
    }
    if (w->tables > 0) {
        w->tables--;
    } else {
        w->layout -= w->layout > 0 ? 1 : 0;
    }
    w->columns = 0;
    end_paragraph(w, 2);
}

static void take_row(Writer *w, const VisibleEdge *edge)
{
    if (edge->is_end && w->columns > 0 && !w->has_head) {
        w->has_head = true;
        for (unsigned i = w->columns; i < w->width; i++) {
            put(w, " |"); /* the others would be cut */
        }
        begin_line(w, false);
        for (unsigned i = 0; i < w->width; i++) {
            put(w, "|---");
        }
        put(w, "|");
    }
    w->columns = 0;
    end_paragraph(w, w->has_head ? 1 : 2);
}

static void take_cell(Writer *w, const VisibleEdge *edge)
{
    if (!edge->is_end) {
        if (w->columns++ == 0) {
            w->is_hard = false;
            settle(w);
            put(w, "|");
        }
        put(w, " ");
        w->in_cell = true;
        w->at_start = true;
        w->is_hard = false;
        w->is_blank = false;
        return;
    }
    close_spans(w, 0);
    w->in_cell = false;
    w->is_blank = false;
    put(w, " |");
}

static unsigned number_of(HtmlSlice value)
{
    unsigned number = 0;
    for (size_t i = 0; i < value.length && i < 9 && ascii_is_digit(value.bytes[i]); i++) {
        number = 10 * number + (unsigned)(value.bytes[i] - '0');
    }
    return number;
}

/* A list, an item or a quotation begins. */
static void begin_container(Writer *w, const VisibleEdge *edge)
{
    bool is_item = edge->id == HTML_LI;
    Box *list = w->n_boxes > 0 ? &w->boxes[w->n_boxes - 1] : NULL;
    end_paragraph(w, is_item || (list != NULL && list->id == HTML_LI) ? 1 : 2);
    if (w->n_boxes == BOXES_MAX) {
        return;
    }
    HtmlSlice start = attribute_of(w, edge, is_item ? "value" : "start");
    Box box = {.id = edge->id,
               .is_due = is_item || edge->id == HTML_BLOCKQUOTE,
               .is_numbered = edge->id == HTML_OL};
    box.number = start.length > 0 ? number_of(start) : 1;
    if (is_item && list != NULL && list->is_numbered && list->id == HTML_OL) {
        box.is_numbered = true;
        box.number = start.length > 0 ? box.number : list->number;
        list->number = box.number + 1;
    }
    w->boxes[w->n_boxes++] = box;
}

static void end_container(Writer *w, const VisibleEdge *edge)
{
    end_paragraph(w, edge->id == HTML_LI ? 1 : 2);
    for (size_t i = w->n_boxes; i > 0; i--) {
        if (w->boxes[i - 1].id == edge->id) {
            w->n_boxes = i - 1;
            break;
        }
    }
}

/* "language-c" in the class of the element or of the <code> in it. */
static void put_language(Writer *w, const VisibleEdge *edge)
{
    const VisibleEdge *end = w->page->marks->edges + w->page->marks->n_edges;
    for (int i = 0; i < 2 && edge + i < end; i++) {
        HtmlSlice class = attribute_of(w, edge + i, "class");
        const char *word = memmem(class.bytes, class.length, "language-", 9);
        for (size_t n = 9; word != NULL && word + n < class.bytes + class.length &&
                           n < WORD_BYTES && (ascii_is_letter(word[n]) || ascii_is_digit(word[n]));
             n++) {
            (void)buffer_append_char(w->out, word[n]);
        }
        if (word != NULL) {
            return;
        }
    }
}

static void take_pre(Writer *w, const VisibleEdge *edge)
{
    if (!edge->is_end && w->pre++ == 0) {
        end_paragraph(w, 2);
        settle(w);
        w->ticks = ticks_of(w, edge);
        w->ticks = w->ticks < 3 ? 3 : w->ticks;
        put_ticks(w, w->ticks);
        put_language(w, edge);
        w->at_start = true;
        w->breaks = 1;
    } else if (edge->is_end && w->pre > 0 && --w->pre == 0) {
        begin_line(w, false);
        put_ticks(w, w->ticks);
        w->ticks = 0;
        w->breaks = 0;
        end_paragraph(w, 2);
    }
}

static void take_edge(Writer *w, const VisibleEdge *edge)
{
    uint8_t id = edge->id;
    bool in_table = w->tables > 0; /* there is no table in one of these */
    if (w->pre > 0 && id != HTML_PRE) {
        return;
    }
    if (is_span(id)) {
        take_span(w, edge);
    }
    if (!edge->is_block) {
        return;
    }
    if (id == HTML_TABLE) {
        take_table(w, edge);
    } else if (id == HTML_TR && in_table) {
        take_row(w, edge);
    } else if ((id == HTML_TD || id == HTML_TH) && in_table) {
        take_cell(w, edge);
    } else if (id == HTML_PRE && !w->in_cell) {
        take_pre(w, edge);
    } else if (id == HTML_LI || id == HTML_UL || id == HTML_OL || id == HTML_BLOCKQUOTE) {
        if (edge->is_end) {
            end_container(w, edge);
        } else {
            begin_container(w, edge);
        }
    } else if (id != HTML_TBODY && id != HTML_THEAD && id != HTML_TFOOT) {
        end_paragraph(w, 2);
        bool is_heading = id >= HTML_H1 && id <= HTML_H6;
        w->heading = is_heading && !edge->is_end && !w->in_cell ? (unsigned)(id - HTML_H1) + 1 : 0;
        if (id == HTML_HR && !w->in_cell) {
            settle(w);
            put(w, "---");
            end_paragraph(w, 2);
        }
    }
}

Result visible_markdown_write(const VisibleMarkdown *page, Buffer *out)
{
    Writer *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return RESULT_MEMORY;
    }
    w->page = page;
    w->out = out;
    w->start = out->length;
    size_t at = 0;
    for (size_t i = 0; i <= page->marks->n_edges; i++) {
        size_t end = i < page->marks->n_edges ? page->marks->edges[i].at : page->length;
        while (at < end) {
            size_t until = end;
            bool keeps = page->keeps == NULL || page->keeps(page->context, at, &until);
            until = until < end ? until : end;
            if (keeps) {
                take_text(w, page->text + at, page->text + until);
            }
            at = until;
        }
        if (i < page->marks->n_edges) {
            take_edge(w, &page->marks->edges[i]);
        }
    }
    close_spans(w, 0);
    free(w);
    return out->failed;
}
