#include "frontier/visit/errand_answer.h"

#include <stdlib.h>

ErrandAnswer *errand_answer_new(FetchClass class)
{
    ErrandAnswer *answer = calloc(1, sizeof *answer);
    if (answer != NULL) {
        answer->class = class;
        buffer_init(&answer->header, ERRAND_HEADER_MOST);
        buffer_init(&answer->body, ERRAND_BODY_MOST);
    }
    return answer;
}

void errand_answer_delete(ErrandAnswer *answer)
{
    if (answer != NULL) {
        buffer_destroy(&answer->header);
        buffer_destroy(&answer->body);
        free(answer);
    }
}

size_t errand_answer_bytes(const ErrandAnswer *answer)
{
    return answer == NULL ? 0 : sizeof *answer + answer->header.length + answer->body.length;
}
