#include "parse/text/link_text.h"

#include <string.h>

#include "base/core/ascii.h"
#include "parse/text/entities.h"

#define LONGEST_WORD ((size_t)64) /* a longer one is cut */
#define PIECE        ((size_t)4096)
#define TEXT_LIMIT   ((size_t)1 << 30)

void link_text_init(LinkText *words, size_t most)
{
    *words = (LinkText){.most = most};
    buffer_init(&words->text, TEXT_LIMIT);
}

void link_text_destroy(LinkText *words)
{
    buffer_destroy(&words->text);
}

void link_text_begin(LinkText *words)
{
    buffer_trim(&words->text, (size_t)1 << 20);
    buffer_reset(&words->text);
    words->is_broken = false;
}

/* Text without references. */
static void add_plain(LinkText *words, const char *p, size_t length)
{
    const char *end = p + length;
    while (p < end) {
        const char *word = p;
        while (p < end && !ascii_is_space(*p)) {
            p++;
        }
        if (p > word) {
            if (words->is_broken && words->text.length > 0) {
                (void)buffer_append_char(&words->text, ' ');
            }
            words->is_broken = false;
            (void)buffer_append(&words->text, word, (size_t)(p - word));
        }
        while (p < end && ascii_is_space(*p)) {
            words->is_broken = true;
            p++;
        }
    }
}

/* A piece ends where no reference does. */
static size_t piece_of(const char *text, size_t length)
{
    if (length <= PIECE) {
        return length;
    }
    const char *amp = memrchr(text + PIECE - 64, '&', 64);
    return amp == NULL ? PIECE : (size_t)(amp - text);
}

void link_text_add(LinkText *words, const char *text, size_t length, bool decode)
{
    char decoded[ENTITY_ROOM(PIECE)];
    if (!decode || memchr(text, '&', length) == NULL) {
        add_plain(words, text, length);
        return;
    }
    while (length > 0) {
        size_t n = piece_of(text, length);
        add_plain(words, decoded, entity_decode(text, n, false, decoded));
        text += n;
        length -= n;
    }
}

/* ---- where text may be cut ---- */

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

/* The first place from `from` on where a word begins. */
static size_t word_after(const Buffer *text, size_t from, size_t stop)
{
    size_t at = from;
    while (at < stop && at - from < LONGEST_WORD && text->data[at] != ' ') {
        at++;
    }
    at = at < stop && text->data[at] == ' ' ? at + 1 : from;
    while (at < stop && !begins_character(text->data[at])) {
        at++;
    }
    return at;
}

/* The last place up to `to` where a word ends. */
static size_t word_before(const Buffer *text, size_t to, size_t stop)
{
    size_t at = to;
    while (at > stop && to - at < LONGEST_WORD && text->data[at] != ' ') {
        at--;
    }
    at = at > stop && text->data[at] == ' ' ? at : to;
    while (at > stop && !begins_character(text->data[at])) {
        at--;
    }
    return at;
}

void link_text_forget(LinkText *words)
{
    Buffer *text = &words->text;
    size_t kept = 2 * words->most;
    if (text->length > kept) {
        size_t from = word_after(text, text->length - kept, text->length);
        memmove(text->data, text->data + from, text->length - from);
        text->length -= from;
        text->data[text->length] = '\0';
    }
}

static LinkTextSlice slice(const Buffer *text, size_t from, size_t to)
{
    while (from < to && text->data[from] == ' ') {
        from++;
    }
    while (to > from && text->data[to - 1] == ' ') {
        to--;
    }
    return (LinkTextSlice){.bytes = from < to ? text->data + from : "", .length = to - from};
}

LinkTextSlice link_text_anchor(const LinkText *words, uint32_t from, uint32_t to)
{
    const Buffer *text = &words->text;
    size_t stop = to < text->length ? to : text->length;
    if (from >= stop) {
        return (LinkTextSlice){.bytes = "", .length = 0};
    }
    if (stop - from > words->most) {
        stop = word_before(text, from + words->most, from);
    }
    return slice(text, from, stop);
}

LinkTextSlice link_text_around(const LinkText *words, uint32_t from, uint32_t to)
{
    const Buffer *text = &words->text;
    size_t stop = to < text->length ? to : text->length;
    size_t start = from < stop ? from : stop;
    size_t first = start > words->most ? word_after(text, start - words->most, start) : 0;
    size_t last = stop - start > words->most ? start + words->most : stop;
    last = text->length - last > words->most ? word_before(text, last + words->most, last)
                                             : text->length;
    return slice(text, first, last);
}
