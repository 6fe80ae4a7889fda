#include "cluster/message/node_note.h"

#include <stdlib.h>

void node_note_release(NodeNote *note)
{
    free(note->text);
    errand_answer_delete(note->answer);
    if (note->table != NULL) {
        cluster_table_destroy(note->table);
        free(note->table);
    }
    if (note->edicts != NULL) {
        edicts_destroy(note->edicts);
        free(note->edicts);
    }
}
