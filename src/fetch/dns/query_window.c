#include "fetch/dns/query_window.h"

#define WINDOW_FIRST 64u
#define WINDOW_LEAST 10u

void query_window_init(QueryWindow *window, size_t most)
{
    *window = (QueryWindow){.most = most, .size = most < WINDOW_FIRST ? most : WINDOW_FIRST};
}

void query_window_bound(QueryWindow *window, size_t most)
{
    size_t first = most < WINDOW_FIRST ? most : WINDOW_FIRST;
    window->most = most;
    window->size = window->size < first ? first : window->size > most ? most : window->size;
}

void query_window_asked(QueryWindow *window)
{
    window->n_in_flight++;
}

void query_window_answered(QueryWindow *window, int timeouts, MonoTime asked)
{
    window->n_in_flight--;
    if (timeouts == 0) {
        if (++window->n_since_growth >= window->size) {
            window->n_since_growth = 0;
            window->size += window->size < window->most;
        }
    } else if (mono_before(window->shrunk, asked)) {
        window->size = window->size / 2 > WINDOW_LEAST ? window->size / 2 : WINDOW_LEAST;
        window->shrunk = mono_now();
    }
}
