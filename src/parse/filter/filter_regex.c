#include "parse/filter/filter_regex.h"

#include <stdlib.h>

/* Bounds of one match: a step of the matcher takes some nanoseconds, a frame some hundred bytes. */
#define MATCH_LIMIT     1000000u
#define HEAP_LIMIT_KIB  (32u * 1024u)
#define JIT_STACK_FIRST ((size_t)32 * 1024)
#define JIT_STACK_MOST  ((size_t)1024 * 1024)

struct FilterScratch {
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    uint64_t given_up;
};

Result filter_scratch_new(FilterScratch **scratch)
{
    *scratch = NULL;
    FilterScratch *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return RESULT_MEMORY;
    }
    made->match = pcre2_match_data_create(1, NULL);
    made->context = pcre2_match_context_create(NULL);
    made->stack = pcre2_jit_stack_create(JIT_STACK_FIRST, JIT_STACK_MOST, NULL);
    if (made->match == NULL || made->context == NULL) {
        filter_scratch_delete(made);
        return RESULT_MEMORY;
    }
    (void)pcre2_set_match_limit(made->context, MATCH_LIMIT);
    (void)pcre2_set_heap_limit(made->context, HEAP_LIMIT_KIB);
    if (made->stack != NULL) { /* NULL: PCRE2 was built without JIT */
        pcre2_jit_stack_assign(made->context, NULL, made->stack);
    }
    *scratch = made;
    return RESULT_OK;
}

void filter_scratch_delete(FilterScratch *scratch)
{
    if (scratch == NULL) {
        return;
    }
    pcre2_match_data_free(scratch->match);
    pcre2_match_context_free(scratch->context);
    pcre2_jit_stack_free(scratch->stack);
    free(scratch);
}

uint64_t filter_scratch_given_up(const FilterScratch *scratch)
{
    return scratch->given_up;
}

Result filter_regex_compile(FilterAtom *atom, char message[FILTER_REGEX_MESSAGE_BYTES],
                            size_t *offset)
{
    const FilterItem *item = &atom->items[0];
    uint32_t options = PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C;
    if (atom->type->arguments == FILTER_REGEX) {
        options |= PCRE2_ANCHORED | PCRE2_ENDANCHORED;
    }
    int code = 0;
    PCRE2_SIZE at = 0;
    atom->regex = pcre2_compile((PCRE2_SPTR)item->text, item->length, options, &code, &at, NULL);
    if (atom->regex == NULL) {
        if (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAP_FAILED) {
            return RESULT_MEMORY;
        }
        (void)pcre2_get_error_message(code, (PCRE2_UCHAR *)message, FILTER_REGEX_MESSAGE_BYTES);
        *offset = at;
        return RESULT_INVALID;
    }
    /* Without JIT (not built in, or memory may not be executable) the interpreter matches. */
    (void)pcre2_jit_compile(atom->regex, PCRE2_JIT_COMPLETE);
    return RESULT_OK;
}

bool filter_regex_matches(const FilterAtom *atom, const char *text, size_t length,
                          FilterScratch *scratch)
{
    int rc =
        pcre2_match(atom->regex, (PCRE2_SPTR)text, length, 0, 0, scratch->match, scratch->context);
    if (rc < 0 && rc != PCRE2_ERROR_NOMATCH) {
        scratch->given_up++;
    }
    return rc >= 0;
}
