#include "base/option/option_changes.h"

#include <string.h>

static bool option_changes_is_same(const OptionSpec *spec, const Options *a, const Options *b)
{
    const void *left = (const char *)a->values + spec->offset;
    const void *right = (const char *)b->values + spec->offset;
    OptionValue x = option_read(spec, left);
    OptionValue y = option_read(spec, right);
    switch (spec->type) {
    case OPTION_BOOL:
        return x.flag == y.flag;
    case OPTION_WORD:
        return x.word == y.word;
    case OPTION_REAL:
        return !(x.real < y.real) && !(x.real > y.real);
    case OPTION_COUNT:
    case OPTION_TIME:
    case OPTION_SIZE:
        return x.number == y.number;
    case OPTION_TEXT:
        break;
    }
    return strcmp(*(char *const *)left, *(char *const *)right) == 0;
}

void option_changes_tell(const Options *options, const Options *fresh,
                         void (*tell)(void *context, const OptionChange *change), void *context)
{
    for (size_t i = 0; i < options->n_specs; i++) {
        if (!option_changes_is_same(&options->specs[i], options, fresh)) {
            OptionChange change = {.spec = &options->specs[i],
                                   .from = options->texts[i],
                                   .to = fresh->texts[i],
                                   .origin = fresh->origins[i]};
            tell(context, &change);
        }
    }
}

/* ---- sites ---- */

static bool is_for_same(const OptionSite *a, const OptionSite *b)
{
    return a->spec == b->spec && strcmp(a->pattern, b->pattern) == 0;
}

/* Among the sites from `from` on; NULL: there is none. */
static const OptionSite *find_last(const Options *options, size_t from, const OptionSite *wanted)
{
    for (size_t i = options->n_sites; i-- > from;) {
        if (is_for_same(&options->sites[i], wanted)) {
            return &options->sites[i];
        }
    }
    return NULL;
}

void option_changes_tell_sites(const Options *options, const Options *fresh,
                               void (*tell)(void *context, const OptionChange *change),
                               void *context)
{
    for (size_t i = 0; i < options->n_sites; i++) {
        const OptionSite *old = &options->sites[i];
        const OptionSite *new = find_last(fresh, 0, old);
        bool counts = find_last(options, i + 1, old) == NULL;
        if (counts && (new == NULL || strcmp(old->text, new->text) != 0)) {
            OptionChange change = {.spec = &options->specs[old->spec],
                                   .site = old->pattern,
                                   .from = old->text,
                                   .to = new == NULL ? "" : new->text,
                                   .origin = new == NULL ? "" : new->origin};
            tell(context, &change);
        }
    }
    for (size_t i = 0; i < fresh->n_sites; i++) {
        const OptionSite *new = &fresh->sites[i];
        if (find_last(options, 0, new) == NULL && find_last(fresh, i + 1, new) == NULL) {
            OptionChange change = {.spec = &fresh->specs[new->spec],
                                   .site = new->pattern,
                                   .from = "",
                                   .to = new->text,
                                   .origin = new->origin};
            tell(context, &change);
        }
    }
}

/* A name matches itself only. */
static bool has_pattern(const Options *options)
{
    for (size_t i = 0; i < options->n_sites; i++) {
        if (strpbrk(options->sites[i].pattern, "*?[\\") != NULL) {
            return true;
        }
    }
    return false;
}

bool option_changes_has_moved_sites(const Options *options, const Options *fresh)
{
    size_t n = options->n_sites < fresh->n_sites ? options->n_sites : fresh->n_sites;
    size_t same = 0;
    while (same < n && is_for_same(&options->sites[same], &fresh->sites[same])) {
        same++;
    }
    return same < n && (has_pattern(options) || has_pattern(fresh));
}
