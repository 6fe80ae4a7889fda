#include "parse/filter/filter_internal.h"

#include <stdlib.h>
#include <string.h>

/* Bounds of one match: a step of the matcher takes some nanoseconds, a frame some hundred bytes. */
#define MATCH_LIMIT     1000000u
#define HEAP_LIMIT_KIB  (32u * 1024u)
#define JIT_STACK_FIRST ((size_t)32 * 1024)
#define JIT_STACK_MOST  ((size_t)1024 * 1024)

void filter_delete(Filter *filter)
{
    if (filter == NULL) {
        return;
    }
    for (size_t i = 0; i < filter->n_atoms; i++) {
        pcre2_code_free(filter->atoms[i].regex);
        filter_set_delete(filter->atoms[i].set);
    }
    free(filter->atoms);
    free(filter->code);
    arena_destroy(&filter->arena);
    free(filter);
}

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

typedef void (*AtomVisitor)(void *context, const FilterAtom *atom, bool value);

static bool run(const Filter *filter, const FilterInput *input, FilterScratch *scratch,
                AtomVisitor visit, void *context)
{
    bool value = false;
    size_t at = 0;
    while (at < filter->n_code) {
        const FilterStep *step = &filter->code[at++];
        switch (step->op) {
        case FILTER_OP_TEST: {
            const FilterAtom *atom = &filter->atoms[step->argument];
            value = atom->type->matches(atom, input, scratch);
            if (visit != NULL) {
                visit(context, atom, value);
            }
            break;
        }
        case FILTER_OP_CONSTANT:
            value = step->argument != 0;
            break;
        case FILTER_OP_NOT:
            value = !value;
            break;
        case FILTER_OP_JUMP_IF_FALSE:
            at = value ? at : step->argument;
            break;
        case FILTER_OP_JUMP_IF_TRUE:
            at = value ? step->argument : at;
            break;
        }
    }
    return value;
}

bool filter_matches(const Filter *filter, const FilterInput *input, FilterScratch *scratch)
{
    return run(filter, input, scratch, NULL, NULL);
}

typedef struct Explanation {
    const Filter *filter;
    Buffer *out;
    Result result;
    bool first;
} Explanation;

static void explain_atom(void *context, const FilterAtom *atom, bool value)
{
    Explanation *explanation = context;
    if (explanation->result != RESULT_OK) {
        return;
    }
    explanation->result =
        buffer_printf(explanation->out, "%s%.*s %s", explanation->first ? "" : ", ",
                      (int)(atom->end - atom->start), explanation->filter->text + atom->start,
                      value ? "true" : "false");
    explanation->first = false;
}

Result filter_explain(const Filter *filter, const FilterInput *input, FilterScratch *scratch,
                      bool *matches, Buffer *out)
{
    Explanation explanation = {.filter = filter, .out = out, .result = RESULT_OK, .first = true};
    *matches = run(filter, input, scratch, explain_atom, &explanation);
    return explanation.result;
}
