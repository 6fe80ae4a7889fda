/* What atoms test of an answer. */
#include "parse/filter/filter_tests.h"
#include "parse/usage/usage.h"

#include "parse/filter/filter_part.h"
#include "parse/filter/filter_regex.h"

FILTER_TEST(is_http_response)
{
    return input->status != 0;
}

FILTER_TEST(status_is)
{
    return input->status > 0 && filter_any_range(atom, (uint64_t)input->status);
}

FILTER_TEST(status_category)
{
    return input->status > 0 && filter_any_range(atom, (uint64_t)input->status / 100);
}

FILTER_TEST(content_type_starts)
{
    if (input->content_type == NULL) {
        return false;
    }
    for (size_t i = 0; i < atom->n_items; i++) {
        if (strncasecmp(input->content_type, atom->items[i].text, atom->items[i].length) == 0) {
            return true;
        }
    }
    return false;
}

/* "image/" followed by "*" is every type of that family. */
static bool is_mime(FilterPart mime, const FilterItem *item)
{
    size_t n = item->length;
    if (n >= 2 && item->text[n - 1] == '*' && item->text[n - 2] == '/') {
        return mime.length >= n - 1 && strncasecmp(mime.text, item->text, n - 1) == 0;
    }
    return filter_part_equals_without_case(mime, item);
}

FILTER_TEST(mime_is)
{
    return input->content_type != NULL &&
           filter_part_any(atom, filter_part_mime(input->content_type), is_mime);
}

FILTER_TEST(size_below)
{
    return input->has_body && input->body_length < atom->items[0].low;
}

FILTER_TEST(is_probably_binary)
{
    const size_t looked_at = 1000;
    const unsigned least = 3;
    unsigned zeros = 0;
    for (size_t i = 0; input->has_body && i < input->body_length && i < looked_at; i++) {
        zeros += input->body[i] == '\0';
    }
    return zeros >= least;
}

FILTER_TEST(response_matches)
{
    return input->has_body && filter_regex_matches(atom, input->body_length > 0 ? input->body : "",
                                                   input->body_length, scratch);
}

FILTER_TEST(anchor_matches)
{
    return input->anchor != NULL &&
           filter_regex_matches(atom, input->anchor, input->anchor_length, scratch);
}

FILTER_TEST(text_matches)
{
    return input->text != NULL &&
           filter_regex_matches(atom, input->text, input->text_length, scratch);
}

FILTER_TEST(title_matches)
{
    return input->title != NULL &&
           filter_regex_matches(atom, input->title, strlen(input->title), scratch);
}

FILTER_TEST(digest_equals)
{
    if (input->digest == NULL) {
        return false;
    }
    const char *colon = strrchr(input->digest, ':');
    const char *digest = colon == NULL ? input->digest : colon + 1;
    return filter_part_any(atom, (FilterPart){digest, strlen(digest)},
                           filter_part_equals_without_case);
}

FILTER_TEST(usage_denied)
{
    for (size_t i = 0; i < atom->n_items; i++) {
        if ((usage_asked(atom->items[i].text, atom->items[i].length) & input->usage_denied) != 0) {
            return true;
        }
    }
    return false;
}
