/* Page question: what a classifier is asked about a page, and what it answers, as lines of text.
 *
 * What: two forms. QUESTION_JSON: {"url": ..., "title": ..., "language": ..., "text": ...} on one
 * line (the language is the one that the text shows, text_language.h, else the one that the page
 * says); the answer is a number from 0 to 1, or a JSON object with such a "score".
 * QUESTION_FASTTEXT: title and text on one line; the answer is what `fasttext predict-prob MODEL -
 * -1` prints: labels and their probabilities, of which the wanted label's is the score.
 * Owns: nothing.
 * Threads: pure functions. */
#pragma once

#include "parse/visible/visible.h"
#include "rules/config.h"

typedef enum QuestionForm { QUESTION_NONE, QUESTION_JSON, QUESTION_FASTTEXT } QuestionForm;

/* What score.scorer asks for. */
QuestionForm page_question_wanted(const Config *config);

/* Appends the question, its line end included. The text is the main text of the page, or all of it
 * when there is no main text, cut at text_bytes. Errors as buffer_append. */
Result page_question(Buffer *out, QuestionForm form, const char *url, const VisiblePage *page,
                     size_t text_bytes);
/* The score in an answer (length bytes, without the line end). label: of QUESTION_FASTTEXT; one
 * that is not named has 0. False: it is none. */
bool page_question_answer(QuestionForm form, const char *label, const char *line, size_t length,
                          float *score);
