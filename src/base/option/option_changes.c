#include "base/option/option_changes.h"

#include <string.h>

static bool is_same(const OptionSpec *spec, const Options *a, const Options *b)
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
        if (!is_same(&options->specs[i], options, fresh)) {
            OptionChange change = {.spec = &options->specs[i],
                                   .from = options->texts[i],
                                   .to = fresh->texts[i],
                                   .origin = fresh->origins[i]};
            tell(context, &change);
        }
    }
}
