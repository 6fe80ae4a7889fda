/* Words of an option, as one list: its enum, its row and its texts come from it.
 *
 *     #define SCORER_WORDS(WORD) WORD(SCORER_NONE, "none") WORD(SCORER_CONTENT, "content")
 *     typedef enum ScorerWord { WORDS_ENUM(SCORER_WORDS) } ScorerWord;
 *     ROW(score, scorer, WORD, int, "none", 0, 0, WORDS_TEXT(SCORER_WORDS), ...)
 *
 * What: macros alone. An enum that others need stands with its list in their header; a word that
 * is appended to the list is a constant that every switch has to know.
 * Invariants: the place of a word in the row's text is the value of its constant. */
#ifndef BASE_CORE_WORDS_H
#define BASE_CORE_WORDS_H

#define WORDS_CONSTANT(constant, word) constant,
#define WORDS_PART(constant, word)     "|" word
#define WORDS_NAME(constant, word)     [constant] = (word),
/* Inside the braces of an enum. */
#define WORDS_ENUM(LIST) LIST(WORDS_CONSTANT)
/* "a|b|c", a constant. */
#define WORDS_TEXT(LIST) (&("" LIST(WORDS_PART))[1])
/* Inside the braces of an array of const char *. */
#define WORDS_NAMES(LIST) LIST(WORDS_NAME)

#endif
