#include "parse/filter/filter_code.h"

#include <stdlib.h>

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

typedef void (*AtomVisitor)(void *context, const FilterAtom *atom, bool value);

static bool filter_run(const Filter *filter, const FilterInput *input, FilterScratch *scratch,
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
    return filter_run(filter, input, scratch, NULL, NULL);
}

typedef struct Explanation {
    const Filter *filter;
    Buffer *out;
    Result result;
    bool first;
} Explanation;

unsigned filter_needs(const Filter *filter)
{
    unsigned needs = 0;
    for (size_t i = 0; i < filter->n_atoms; i++) {
        needs |= filter->atoms[i].type->needs;
    }
    return needs;
}

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
    *matches = filter_run(filter, input, scratch, explain_atom, &explanation);
    return explanation.result;
}
