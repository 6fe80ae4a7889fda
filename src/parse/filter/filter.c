#include "parse/filter/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"
#include "parse/filter/filter_atoms.h"
#include "base/core/ascii.h"

/* ---- Which URLs to schedule, fetch, parse, follow and store ---- */

void filter_delete(Filter *filter)
{
    if (filter == NULL) {
        return;
    }
    for (size_t i = 0; i < filter->n_atoms; i++) {
        pcre2_code_free(filter->atoms[i].regex);
        map_destroy(&filter->atoms[i].set);
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

/* The grammar: filter_compile. */

#define ARENA_BLOCK_BYTES 4096

/* Operators wait on a stack of our own until what they govern is complete (Dijkstra's shunting
 * yard); "and" and "or" become a jump over their right side, whose target is known only then. */
/* In order of increasing strength. */
typedef enum OpKind { OP_PAREN, OP_OR, OP_AND, OP_NOT } OpKind;

typedef struct Pending {
    OpKind kind;
    size_t at; /* PAREN, NOT: where in the text; AND, OR: the jump in the code */
} Pending;

typedef struct Parser {
    FilterCompiler compiler;
    Pending *stack;
    size_t n_stack;
} Parser;

static Result filter_parse_emit(Parser *parser, FilterOp op, size_t argument)
{
    Filter *filter = parser->compiler.filter;
    FilterStep step = {.op = op, .argument = (uint32_t)argument};
    return array_add(&filter->code, &filter->n_code, sizeof step, &step);
}

static Result filter_parse_push(Parser *parser, OpKind kind, size_t at)
{
    Pending pending = {.kind = kind, .at = at};
    return array_add(&parser->stack, &parser->n_stack, sizeof pending, &pending);
}

/* Completes the operators on top of the stack that bind at least as tightly as least. */
static Result reduce(Parser *parser, OpKind least)
{
    Filter *filter = parser->compiler.filter;
    while (parser->n_stack > 0) {
        Pending top = parser->stack[parser->n_stack - 1];
        if (top.kind == OP_PAREN || top.kind < least) {
            break;
        }
        parser->n_stack--;
        if (top.kind != OP_NOT) {
            filter->code[top.at].argument = (uint32_t)filter->n_code;
            continue;
        }
        Result rc = filter_parse_emit(parser, FILTER_OP_NOT, 0);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

static bool filter_parse_is_word(char c)
{
    return ascii_is_alnum(c) || c == '_' || c == '.' || c == '$';
}

/* The length of the word at the next byte; 0 when there is none. */
static size_t scan_word(const FilterCompiler *compiler)
{
    size_t end = compiler->at;
    while (end < compiler->length && filter_parse_is_word(compiler->text[end])) {
        end++;
    }
    return end - compiler->at;
}

/* Takes one of the spellings of an operator; false when the next token is something else. */
static bool filter_parse_take(FilterCompiler *compiler, const char *const *spellings)
{
    const char *p = compiler->text + compiler->at;
    size_t left = compiler->length - compiler->at;
    for (; *spellings != NULL; spellings++) {
        size_t n = strlen(*spellings);
        bool whole = !filter_parse_is_word(**spellings) || scan_word(compiler) == n;
        if (n <= left && memcmp(p, *spellings, n) == 0 && whole) {
            compiler->at += n;
            return true;
        }
    }
    return false;
}

static const char *const spellings_not[] = {"not", "NOT", "!", "~", "\xC2\xAC", NULL};
static const char *const spellings_and[] = {"and", "AND", "&&", "&", "\xE2\x88\xA7", NULL};
static const char *const spellings_or[] = {"or", "OR", "||", "|", "\xE2\x88\xA8", NULL};
static const char *const spellings_true[] = {"true", "TRUE", NULL};
static const char *const spellings_false[] = {"false", "FALSE", NULL};

/* Says what stands at the next byte, for messages. */
static const char *describe_next(const FilterCompiler *compiler, char text[40])
{
    if (compiler->at >= compiler->length) {
        return "the end";
    }
    size_t n = scan_word(compiler);
    if (n == 0) {
        n = 1;
        while (compiler->at + n < compiler->length &&
               ((unsigned char)compiler->text[compiler->at + n] & 0xC0) == 0x80 && n < 4) {
            n++;
        }
    }
    (void)snprintf(text, 40, "'%.*s%s'", (int)(n > 24 ? 24 : n), compiler->text + compiler->at,
                   n > 24 ? "..." : "");
    return text;
}

/* What an atom lacks. */
static const char *filter_need_name(unsigned needs)
{
    static const struct {
        unsigned needs;
        const char *name;
    } names[] = {{FILTER_HAS_RESPONSE | FILTER_HAS_STATUS | FILTER_HAS_TYPE, "response"},
                 {FILTER_HAS_TEXT, "link text"},
                 {FILTER_HAS_DEPTH, "depth"},
                 {FILTER_HAS_USAGE, "record of usage"}};
    size_t i = 0;
    while (i < sizeof names / sizeof *names && (needs & names[i].needs) == 0) {
        i++;
    }
    return i < sizeof names / sizeof *names ? names[i].name : "source page";
}

/* NAME "(" arguments ")". */
static Result parse_atom(Parser *parser)
{
    FilterCompiler *compiler = &parser->compiler;
    Filter *filter = compiler->filter;
    size_t start = compiler->at;
    size_t n_word = scan_word(compiler);
    const char *name = compiler->text + start;
    const char *dot = memrchr(name, '.', n_word);
    size_t n_name = dot == NULL ? n_word : (size_t)(name + n_word - dot - 1);
    name += n_word - n_name;
    const FilterAtomType *type = filter_atom_find(name, n_name);
    if (type == NULL) {
        const char *nearest = filter_atom_nearest(name, n_name);
        if (nearest != NULL) {
            (void)snprintf(compiler->error->hint, sizeof compiler->error->hint, "did you mean %s?",
                           nearest);
        }
        return filter_compiler_fail(compiler, start, "unknown atom '%.*s'",
                                    (int)(n_name > 60 ? 60 : n_name), name);
    }
    if (compiler->options != NULL && (type->needs & ~compiler->options->available) != 0) {
        return filter_compiler_fail(compiler, start, "%s needs a %s, which there is none of here",
                                    type->help.name, filter_need_name(type->needs));
    }
    FilterAtom new_atom = {.type = type, .start = start};
    if (array_add(&filter->atoms, &filter->n_atoms, sizeof new_atom, &new_atom) != RESULT_OK) {
        return RESULT_MEMORY;
    }
    FilterAtom *atom = &filter->atoms[filter->n_atoms - 1];
    compiler->at += n_word;
    filter_compiler_skip_space(compiler);
    if (compiler->at >= compiler->length || compiler->text[compiler->at] != '(') {
        char text[40];
        return filter_compiler_fail(compiler, compiler->at, "expected '(' after %s, not %s",
                                    type->help.name, describe_next(compiler, text));
    }
    Result rc = filter_read_arguments(compiler, atom);
    if (rc != RESULT_OK) {
        return rc;
    }
    atom->end = compiler->at;
    return filter_parse_emit(parser, FILTER_OP_TEST, filter->n_atoms - 1);
}

/* One token where an operand is expected; *complete says whether it was the whole of one. */
static Result parse_operand(Parser *parser, bool *complete)
{
    FilterCompiler *compiler = &parser->compiler;
    size_t start = compiler->at;
    char text[40];
    *complete = false;
    if (filter_parse_take(compiler, spellings_not)) {
        return filter_parse_push(parser, OP_NOT, start);
    }
    if (start < compiler->length && compiler->text[start] == '(') {
        compiler->at++;
        return filter_parse_push(parser, OP_PAREN, start);
    }
    *complete = true;
    if (filter_parse_take(compiler, spellings_true)) {
        return filter_parse_emit(parser, FILTER_OP_CONSTANT, 1);
    }
    if (filter_parse_take(compiler, spellings_false)) {
        return filter_parse_emit(parser, FILTER_OP_CONSTANT, 0);
    }
    if (scan_word(compiler) > 0 && !filter_parse_take(compiler, spellings_and) &&
        !filter_parse_take(compiler, spellings_or)) {
        return parse_atom(parser);
    }
    compiler->at = start;
    return filter_compiler_fail(compiler, start, "expected an atom, 'not' or '(', not %s",
                                describe_next(compiler, text));
}

/* One token behind an operand; *operand says whether another operand must follow. */
static Result parse_operator(Parser *parser, bool *operand)
{
    FilterCompiler *compiler = &parser->compiler;
    size_t start = compiler->at;
    bool is_and = filter_parse_take(compiler, spellings_and);
    *operand = is_and || filter_parse_take(compiler, spellings_or);
    if (*operand) {
        OpKind kind = is_and ? OP_AND : OP_OR;
        Result rc = reduce(parser, kind);
        if (rc != RESULT_OK) {
            return rc;
        }
        rc =
            filter_parse_emit(parser, is_and ? FILTER_OP_JUMP_IF_FALSE : FILTER_OP_JUMP_IF_TRUE, 0);
        if (rc != RESULT_OK) {
            return rc;
        }
        return filter_parse_push(parser, kind, compiler->filter->n_code - 1);
    }
    if (compiler->text[start] != ')') {
        char text[40];
        return filter_compiler_fail(compiler, start, "expected 'and', 'or' or the end, not %s",
                                    describe_next(compiler, text));
    }
    Result rc = reduce(parser, OP_OR);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (parser->n_stack == 0) {
        return filter_compiler_fail(compiler, start, "this ')' closes nothing");
    }
    parser->n_stack--;
    compiler->at++;
    return RESULT_OK;
}

static Result filter_parse_parse(Parser *parser)
{
    FilterCompiler *compiler = &parser->compiler;
    bool operand = true;
    for (;;) {
        filter_compiler_skip_space(compiler);
        Result rc = RESULT_OK;
        if (operand) {
            bool complete = false;
            rc = parse_operand(parser, &complete);
            operand = !complete;
        } else if (compiler->at < compiler->length) {
            rc = parse_operator(parser, &operand);
        } else {
            break;
        }
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    Result rc = reduce(parser, OP_OR);
    if (rc == RESULT_OK && parser->n_stack > 0) {
        return filter_compiler_fail(compiler, parser->stack[parser->n_stack - 1].at,
                                    "this '(' is never closed");
    }
    return rc;
}

Result filter_compile(Filter **filter, const char *text, size_t length,
                      const FilterOptions *options, FilterError *error)
{
    *filter = NULL;
    *error = (FilterError){.column = 1};
    Parser parser = {
        .compiler = {.options = options, .error = error, .text = text, .length = length}};
    if (length > FILTER_MAX_BYTES) {
        (void)filter_compiler_fail(&parser.compiler, 0, "longer than %zu bytes", FILTER_MAX_BYTES);
        return RESULT_LIMIT;
    }
    Filter *made = calloc(1, sizeof *made);
    Result rc = made == NULL ? RESULT_MEMORY : RESULT_OK;
    if (rc == RESULT_OK) {
        parser.compiler.filter = made;
        arena_init(&made->arena, ARENA_BLOCK_BYTES, SIZE_MAX / 2);
        made->text = arena_copy(&made->arena, text, length);
        rc = made->text == NULL ? RESULT_MEMORY : filter_parse_parse(&parser);
    }
    free(parser.stack);
    if (rc == RESULT_MEMORY) {
        (void)filter_compiler_fail(&parser.compiler, parser.compiler.at, "out of memory");
    }
    if (rc != RESULT_OK) {
        filter_delete(made);
        return rc;
    }
    *filter = made;
    return RESULT_OK;
}
